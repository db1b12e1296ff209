"""Checks of databases: SQLite files in the workspace, and any DB-API connection."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from passhat.facts import Grade, shortened
from passhat.graders._check import Check
from passhat.graders._compare import checked_tolerance
from passhat.graders._expected import WHOLE, checked, expected_of
from passhat.graders._names import GraderSetup
from passhat.graders._paths import Gone, inside, listing
from passhat.graders.outcome._rows import as_rows, compare_rows, has_order, tables_of

Parameters = Sequence[Any] | Mapping[str, Any] | Callable[[Any], Any]


class Rows(Check):
    """See `rows`."""

    def __init__(
        self, database: Any, sql: str, expect: Any, params: Parameters, ordered: bool | None, tolerance: float
    ) -> None:
        if not isinstance(sql, str) or not sql.strip():
            raise GraderSetup(f"outcome.rows: the query must be SQL text, got {sql!r}")
        if ordered not in (None, True, False):
            raise GraderSetup(f"ordered={ordered!r}: must be True, False, or None to follow ORDER BY")
        self.name = shortened(f"rows of {', '.join(tables_of(sql)) or 'a query'}", 60)
        self.database = database
        self.sql = sql
        self.expect = checked(expect, "outcome.rows")
        self.params = params
        self.ordered = has_order(sql) if ordered is None else ordered
        self.tolerance = checked_tolerance(tolerance)

    def __call__(self, trial: Any) -> Grade:
        """Run the query on the trial's copy and compare."""
        expected = expected_of(self.expect, trial.task)
        params = self.params(trial.task) if callable(self.params) else self.params
        try:
            with self._connection(trial) as connection, closing(connection.cursor()) as cursor:
                cursor.execute(self.sql, params) if params else cursor.execute(self.sql)
                if cursor.description is None:
                    raise GraderSetup(f"outcome.rows: the query returns no rows: {self.sql!r}")
                columns = [column[0] for column in cursor.description]
                found = [tuple(row) for row in cursor.fetchall()]
        except Gone as error:
            return Grade(False, str(error), evidence="state")
        wanted = as_rows(expected, columns)
        problem = compare_rows(wanted, found, columns, ordered=self.ordered, tolerance=self.tolerance)
        return Grade(not problem, problem, evidence="state")

    @contextmanager
    def _connection(self, trial: Any) -> Iterator[Any]:
        if callable(self.database):
            yield self.database(trial)
            return
        with sqlite(trial.workspace, self.database) as connection:
            yield connection


def rows(
    database: str | Path | Callable[[Any], Any],
    sql: str,
    expect: Any = WHOLE,
    *,
    params: Parameters = (),
    ordered: bool | None = None,
    tolerance: float = 0.0,
) -> Rows:
    """A query of the final state returns exactly the expected rows.

    ``database`` is an SQLite file, relative to the workspace, read on the trial's private copy together with its
    journals; or a function of the finished trial that returns any open DB-API connection
    (``lambda trial: trial.environment.connection``). ``expect`` is a list of rows (lists of cells, or objects by column
    name; for one column or one cell the bare values), a key of ``task.expected``, or a function of the task. ``params``
    are the query's parameters, or a function of the task.

    Numbers compare as numbers (25 is 25.0), within ``tolerance``; NULL is None. Rows may come in any order unless the
    query has ORDER BY, or ``ordered=True``. A failure shows what is missing, unexpected or changed. A database that
    isn't there or can't be opened is a failure; a query that can't be run is an error of the grader.

    >>> import sqlite3, tempfile
    >>> from passhat.graders import grade, outcome
    >>> folder = tempfile.TemporaryDirectory()
    >>> with sqlite3.connect(f"{folder.name}/shop.db") as shop:
    ...     _ = shop.execute("create table refunds (order_id, amount)")
    ...     _ = shop.execute("insert into refunds values ('A1', 20)")
    >>> shop.close()
    >>> right = outcome.rows("shop.db", "select order_id, amount from refunds", expect="refunds")
    >>> grade(right, workspace=folder.name, expected={"refunds": [["A1", 20.0]]}).passed
    True
    >>> folder.cleanup()
    """
    return Rows(database, sql, expect, params, ordered, tolerance)


@contextmanager
def sqlite(workspace: Path, name: str | Path) -> Iterator[sqlite3.Connection]:
    """An SQLite file of the workspace, opened so that no query can change it.

    It is opened for writing all the same: SQLite may have to roll back a journal that a killed process left.
    """
    path = inside(workspace, name)
    if not path.is_file():
        raise Gone(f"there is no database {str(name)!r} in the workspace{listing(workspace)}")
    connection = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=5, isolation_level=None)
    try:
        try:
            connection.execute("pragma query_only = on")
            connection.execute("select count(*) from sqlite_master").fetchone()
        except sqlite3.DatabaseError as error:
            raise Gone(f"{name} can't be read as a database: {error}") from None
        yield connection
    finally:
        connection.close()
