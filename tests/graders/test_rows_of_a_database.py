import os
import sqlite3
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from passhat.facts import Task
from passhat.graders import GraderSetup, outcome, run_grader
from passhat.graders.outcome._rows import as_rows, compare_rows, has_order, tables_of
from passhat.trial import FinishedTrial

Shop = Callable[..., FinishedTrial]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A finished trial over a shop with the given refunds."""

    def make(*refunds: tuple[Any, ...], expected: Any = None) -> FinishedTrial:
        with sqlite3.connect(tmp_path / "shop.db") as connection:
            connection.execute("create table refunds (order_id, amount, note)")
            connection.executemany("insert into refunds values (?, ?, ?)", refunds)
        connection.close()
        task = Task("t", input="q", expected=expected, data={"order": "A1"})
        return FinishedTrial(task, workspace=lambda: tmp_path)

    return make


SQL = "select order_id, amount from refunds"


@pytest.mark.parametrize(
    ("sql", "expect", "passed"),
    [
        (SQL, [["A1", 20], ["B2", 25]], True),
        (SQL, [["B2", 25.0], ["A1", 20]], True),
        (SQL, [{"order_id": "B2", "amount": 25}, {"amount": 20.0, "order_id": "A1"}], True),
        (SQL, [["A1", 20]], False),
        (SQL, [], False),
        (SQL, [["A1", 20], ["B2", 25], ["B2", 25]], False),
        (f"{SQL} order by amount desc", [["A1", 20], ["B2", 25]], False),
        (f"{SQL} order by amount desc", [["B2", 25], ["A1", 20]], True),
        ("select amount from refunds", [25, 20], True),
        ("select count(*) from refunds", 2, True),
        ("select count(*) from refunds", 3, False),
        ("select note from refunds where order_id = 'A1'", [None], True),
        ("select order_id from refunds where amount > 100", [], True),
        ("with r as (select * from refunds) select order_id from r", ["A1", "B2"], True),
    ],
)
def test_the_rows_of_a_query_are_compared(shop: Shop, sql: str, expect: Any, passed: bool) -> None:
    grade = run_grader(outcome.rows("shop.db", sql, expect), shop(("A1", 20.0, None), ("B2", 25, "late")))
    assert (grade.passed, grade.error, grade.evidence) == (passed, None, "state")


def test_what_is_expected_comes_from_the_task_by_key_or_function(shop: Shop) -> None:
    trial = shop(("A1", 20, None), expected={"refunds": [["A1", 20]]})
    assert run_grader(outcome.rows("shop.db", SQL, "refunds"), trial).passed is True
    assert run_grader(outcome.rows("shop.db", SQL, expect=lambda task: task.expected["refunds"]), trial).passed is True
    one = "select amount from refunds where order_id = :order"
    assert run_grader(outcome.rows("shop.db", one, 20, params=lambda task: task.data), trial).passed is True
    assert run_grader(outcome.rows("shop.db", one, 20, params={"order": "A1"}), trial).passed is True
    assert run_grader(outcome.rows("shop.db", f"{SQL} where order_id = ?", [], params=["Z"]), trial).passed is True


def test_order_can_be_asked_for_or_waived(shop: Shop) -> None:
    trial = shop(("A1", 20, None), ("B2", 25, None))
    rows = [["B2", 25], ["A1", 20]]
    grade = run_grader(outcome.rows("shop.db", SQL, rows, ordered=True), trial)
    assert grade.passed is False
    assert "in another order: ('A1', 20)" in grade.reason
    assert run_grader(outcome.rows("shop.db", f"{SQL} order by 1", rows, ordered=False), trial).passed is True


def test_tolerance_is_stated_and_floats_forgive_their_own_noise(shop: Shop) -> None:
    trial = shop(("A1", 0.1 + 0.2, None), ("A1", 20.004, None))
    assert run_grader(outcome.rows("shop.db", SQL, [["A1", 0.3], ["A1", 20.004]]), trial).passed is True
    assert run_grader(outcome.rows("shop.db", SQL, [["A1", 0.3], ["A1", 20]]), trial).passed is False
    assert run_grader(outcome.rows("shop.db", SQL, [["A1", 20], ["A1", 0.3]], tolerance=0.005), trial).passed is True


def test_large_whole_amounts_are_compared_to_the_last_unit(shop: Shop) -> None:
    trial = shop(("A1", 1000000001.0, None))
    assert run_grader(outcome.rows("shop.db", SQL, [["A1", 1000000000]]), trial).passed is False
    assert run_grader(outcome.rows("shop.db", SQL, [["A1", 1000000000]], tolerance=0.5), trial).passed is False
    assert run_grader(outcome.rows("shop.db", SQL, [["A1", 1000000001]]), trial).passed is True


def test_text_is_not_a_number_and_a_number_is_a_truth_value_where_the_database_has_none(shop: Shop) -> None:
    trial = shop(("A1", "20", 1))
    assert run_grader(outcome.rows("shop.db", SQL, [["A1", 20]]), trial).passed is False
    assert run_grader(outcome.rows("shop.db", "select note from refunds", [True]), trial).passed is True


def test_a_failure_shows_the_difference_in_a_few_lines(shop: Shop) -> None:
    trial = shop(("A1", 2000, None), ("C3", 5, None))
    reason = run_grader(outcome.rows("shop.db", SQL, [["A1", 20], ["B2", 25]]), trial).reason
    assert reason.splitlines() == [
        "expected 2 rows, found 2",
        "  in ('A1', 2000): amount is 2000, expected 20",
        "  missing    ('B2', 25)",
        "  unexpected ('C3', 5)",
    ]
    many = run_grader(outcome.rows("shop.db", SQL, [["X", n] for n in range(100, 150)]), trial).reason
    assert many.startswith("expected 50 rows, found 2\n")
    assert "… and 46 more" in many
    assert "expected 1 row, found 2" in run_grader(outcome.rows("shop.db", SQL, [["A1", 2000]]), trial).reason


def test_a_database_that_isnt_there_or_isnt_one_is_a_failure(tmp_path: Path) -> None:
    trial = FinishedTrial(Task("t"), workspace=lambda: tmp_path)
    grade = run_grader(outcome.rows("shop.db", SQL, []), trial)
    assert (grade.passed, grade.reason) == (False, "there is no database 'shop.db' in the workspace; it is empty")
    for index in range(12):
        (tmp_path / f"file{index:02}").write_text("x")
    (tmp_path / "afolder").mkdir()
    reason = run_grader(outcome.rows("shop.db", SQL, []), trial).reason
    assert reason.endswith("it holds afolder/, file00, file01, file02, file03, file04, file05, file06, … (13 in all)")
    (tmp_path / "shop.db").write_text("this is no database at all" * 100)
    grade = run_grader(outcome.rows("shop.db", SQL, []), trial)
    assert grade.passed is False
    assert "can't be read as a database: file is not a database" in grade.reason
    gone = FinishedTrial(Task("t"), workspace=lambda: tmp_path / "none")
    assert "there is no workspace" in run_grader(outcome.rows("shop.db", SQL, []), gone).reason


def test_a_link_that_the_agent_made_to_somewhere_else_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "outside.db").write_bytes(b"")
    (tmp_path / "work").mkdir()
    os.symlink("../outside.db", tmp_path / "work" / "shop.db")
    grade = run_grader(outcome.rows("shop.db", SQL, []), FinishedTrial(Task("t"), workspace=lambda: tmp_path / "work"))
    assert (grade.passed, grade.reason) == (False, "shop.db is a link that leaves the workspace")


@pytest.mark.parametrize(
    ("sql", "expect", "message"),
    [
        ("select some from refunds", [], "OperationalError: no such column: some"),
        ("select * from refnds", [], "no such table: refnds"),
        ("selec", [], "syntax error"),
        ("delete from refunds", [], "attempt to write a readonly database"),
        ("savepoint s", [], "returns no rows"),
        (SQL, [["A1"]], "has 1 cells, the query has 2 columns: order_id, amount"),
        (SQL, [{"order_id": "A1"}], "the query's columns are order_id, amount"),
        (SQL, "refunds", "expect='refunds' names a key"),
    ],
)
def test_a_query_or_expectation_that_cant_be_used_is_an_error_of_the_grader(
    shop: Shop, sql: str, expect: Any, message: str
) -> None:
    grade = run_grader(outcome.rows("shop.db", sql, expect), shop(("A1", 20, None)))
    assert grade.passed is None
    assert message in str(grade.error)


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("select order_id from refunds", "rows of refunds"),
        ('SELECT 1 FROM orders o\n JOIN main."re funds" r ON 1 -- from nowhere', "rows of orders, main.re"),
        ("select 'taken from stock'", "rows of a query"),
        ("select 1 from " + "a" * 80, "rows of " + "a" * 51 + "…"),
    ],
)
def test_a_check_of_rows_is_called_after_its_tables(sql: str, name: str) -> None:
    assert outcome.rows("shop.db", sql).name == name


def test_wrong_settings_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(GraderSetup, match="the query must be SQL text, got ''"):
        outcome.rows("shop.db", "")
    with pytest.raises(GraderSetup, match="must be True, False, or None"):
        outcome.rows("shop.db", SQL, ordered="yes")  # type: ignore[arg-type]
    with pytest.raises(GraderSetup, match="tolerance=-1"):
        outcome.rows("shop.db", SQL, tolerance=-1)
    grade = run_grader(outcome.rows("../shop.db", SQL, []), FinishedTrial(Task("t"), workspace=lambda: tmp_path))
    assert "'../shop.db' leaves the workspace" in str(grade.error)
    grade = run_grader(outcome.rows("shop.db", SQL, []), FinishedTrial(Task("t")))
    assert "no workspace was kept" in str(grade.error)


def test_a_journal_that_a_killed_process_left_is_rolled_back(tmp_path: Path) -> None:
    """The state is the last committed one, also when the agent was killed in the middle of a transaction."""
    database = tmp_path / "live" / "shop.db"
    database.parent.mkdir()
    writer = sqlite3.connect(database, isolation_level=None)
    writer.execute("pragma synchronous = off")
    writer.execute("begin")
    writer.execute("create table refunds (order_id, amount, note)")
    writer.executemany("insert into refunds values (?, ?, ?)", [("A1", 20, "x" * 2000)] * 500)
    writer.execute("commit")
    writer.execute("pragma cache_size = 5")
    writer.execute("begin")
    writer.execute("update refunds set amount = 99, note = note || 'y'")  # spills to the file, with a hot journal
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in database.parent.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    writer.execute("rollback")
    writer.close()
    assert (copy / "shop.db-journal").exists()
    trial = FinishedTrial(Task("t"), workspace=lambda: copy)
    assert run_grader(outcome.rows("shop.db", "select distinct amount from refunds", [20]), trial).passed is True


def test_a_write_ahead_log_that_was_never_merged_is_read(tmp_path: Path) -> None:
    database = tmp_path / "live" / "shop.db"
    database.parent.mkdir()
    writer = sqlite3.connect(database, isolation_level=None)
    writer.execute("pragma journal_mode = wal")
    writer.execute("create table refunds (order_id, amount)")
    writer.execute("insert into refunds values ('A1', 20)")
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("shop.db", "shop.db-wal"):
        (copy / name).write_bytes((database.parent / name).read_bytes())
    writer.close()
    trial = FinishedTrial(Task("t"), workspace=lambda: copy)
    assert run_grader(outcome.rows("shop.db", SQL, [["A1", 20]]), trial).passed is True


def test_any_db_api_connection_will_do() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table refunds (order_id, amount)")
    connection.execute("insert into refunds values ('A1', 20)")
    trial = FinishedTrial(Task("t"), environment=lambda trial: connection)
    check = outcome.rows(lambda trial: trial.environment, SQL, [["A1", 20]])
    assert run_grader(check, trial).passed is True
    assert connection.execute("select 1").fetchone() == (1,)  # it stays open: it isn't ours
    connection.close()


def test_cells_of_other_databases_compare_by_value() -> None:
    rows = [(Decimal("20.00"), True, b"x"), (Decimal("0.1"), False, b"y")]
    assert compare_rows(as_rows([[20, 1, b"x"], [0.1, 0, b"y"]], "abc"), rows, "abc", ordered=True, tolerance=0) == ""
    assert compare_rows([("a", [1])], [("a", [1])], "ab", ordered=False, tolerance=0) == ""


@pytest.mark.parametrize(
    ("sql", "ordered"),
    [
        ("select a from t", False),
        ("select a from t ORDER  BY a", True),
        ("select a from t\norder\nby a limit 3", True),
        ("select 'order by' from t", False),
        ('select "order by" from t -- order by\n/* order by */', False),
        ("select a from (select a from (select 1) order by a)", False),
        ("select row_number() over (order by a) from t", False),
        ("select row_number() over (order by a) from t order by 1", True),
    ],
)
def test_an_order_is_seen_where_the_query_itself_states_it(sql: str, ordered: bool) -> None:
    assert has_order(sql) is ordered


def test_a_comment_that_is_not_closed_names_no_table() -> None:
    assert tables_of("select a from t /* from x") == ["t"]
