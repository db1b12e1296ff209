"""Any table of outcomes as a run: task, trial, passed or reward, and what else it tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from passhat.facts import Limits, Manifest, Status, TrialRecord, Usage, digest
from passhat.importing import _values
from passhat.importing._columns import find_columns, verdict_columns
from passhat.importing._errors import TableError
from passhat.importing._rows import Row, read_rows

T = TypeVar("T")
_NO_LIMITS = Limits(**dict.fromkeys(Limits.__struct_fields__))


class ImportedTable(NamedTuple):
    """A table as a run: its manifest, and one record a row in the table's order."""

    manifest: Manifest
    records: list[TrialRecord]


def read_table(path: Path | str) -> ImportedTable:
    """Read outcomes that others recorded, from CSV (also with semicolons or tabs) or JSONL, one row a trial.

    Needed are a column for the task (``task_id``, ``task``, ``id``, ``question``, ``problem``, …) and one for the
    verdict (``passed``, ``success``, ``correct``, ``resolved``, ``reward`` or ``score``): true or false, or a number in
    0..1. A trial succeeded when the number is within 1e-6 of 1; less is partial credit, kept as ``score``. An empty
    verdict is a missing trial. Optional: ``trial`` (else rows are numbered in their order), ``arm``, ``model``,
    ``seconds``, ``tokens`` or ``input_tokens`` and ``output_tokens``, ``model_calls``, ``dollars``, ``tags``,
    ``family``.

    ``manifest.trials`` is the smallest number of trials of any task: a table doesn't say what was planned. Raises
    `TableError` naming file, line, column and value; two rows for one trial are refused with both lines.
    """
    file = Path(path)
    table = read_rows(file)
    reader = _RowReader(file, find_columns(file, table.columns), verdict_columns(table.columns), table.decimal_comma)
    records = [reader.record(row, order) for order, row in enumerate(table.rows)]
    return ImportedTable(_manifest(file, records), records)


class _RowReader:
    """Makes records of rows, and remembers which trials there were."""

    def __init__(self, path: Path, columns: dict[str, str], verdicts: list[str], decimal_comma: bool) -> None:
        self._path = path
        self._columns = columns
        self._verdicts = verdicts
        self._comma = decimal_comma
        self._lines: dict[tuple[str, str, int], int] = {}
        self._next: Counter[tuple[str, str]] = Counter()

    def record(self, row: Row, order: int) -> TrialRecord:
        """The record of one row."""
        task = self._needed(row, "task", _values.name)
        arm = self._value(row, "arm", _values.name) or ""
        verdict = self._verdict(row)
        score = self._value(row, "score", self._score)
        passed = None if verdict is None else _values.succeeded(verdict)
        return TrialRecord(
            task=task,
            trial=self._trial(row, arm, task),
            arm=arm,
            status=Status.UNRESOLVED if passed is None else Status.COMPLETED,
            passed=passed,
            score=verdict if score is None else score,
            usage=self._usage(row),
            seconds=self._value(row, "seconds", self._amount) or 0.0,
            model=self._value(row, "model", _values.name),
            tags=self._value(row, "tags", _values.words) or (),
            family=self._value(row, "family", _values.name),
            notes=("the table has no verdict for it",) if passed is None else (),
            order=order,
        )

    def _verdict(self, row: Row) -> float | None:
        """What the first column with a value says; columns that say yes and no are refused."""
        said: dict[str, float] = {}
        for column in self._verdicts:
            value = self._read(row, column, self._score)
            if value is not None:
                said[column] = value
        clear = {name: value for name, value in said.items() if value in (0.0, 1.0) and name.lower() != "score"}
        if len(set(clear.values())) > 1:
            words = " and ".join(f"{column}={row.values[column]!r}" for column in clear)
            raise TableError(self._path, f"the row contradicts itself: {words}", line=row.line)
        return next(iter(said.values()), None)

    def _trial(self, row: Row, arm: str, task: str) -> int:
        if "trial" in self._columns:
            trial = self._needed(row, "trial", _values.whole)
        else:
            trial = self._next[arm, task]
            self._next[arm, task] += 1
        first = self._lines.setdefault((arm, task, trial), row.line)
        if first != row.line:
            advice = "" if arm else "; if the rows are of several agents, name them in a column 'arm'"
            problem = f"trial {trial} of task {task!r} is on line {first} already{advice}"
            raise TableError(self._path, problem, line=row.line, column=self._columns.get("trial"))
        return trial

    def _usage(self, row: Row) -> Usage:
        tokens = self._value(row, "tokens", _values.whole)
        spent_in = self._value(row, "input_tokens", _values.whole)
        spent_out = self._value(row, "output_tokens", _values.whole)
        if tokens is not None and spent_in is not None and spent_out is None and tokens >= spent_in:
            spent_out = tokens - spent_in
        elif tokens is not None and spent_out is not None and spent_in is None and tokens >= spent_out:
            spent_in = tokens - spent_out
        split = spent_in is not None or spent_out is not None
        return Usage(
            model_calls=self._value(row, "model_calls", _values.whole) or 0,
            input_tokens=spent_in,
            output_tokens=spent_out,
            unsplit_tokens=None if split else tokens,
            dollars=self._value(row, "dollars", self._amount),
        )

    def _score(self, value: Any) -> float:
        return _values.score(value, decimal_comma=self._comma)

    def _amount(self, value: Any) -> float:
        return _values.amount(value, decimal_comma=self._comma)

    def _needed(self, row: Row, meaning: str, read: Callable[[Any], T]) -> T:
        found = self._value(row, meaning, read)
        if found is None:
            column = self._columns[meaning]
            raise TableError(self._path, f"every row needs a {meaning}", line=row.line, column=column)
        return found

    def _value(self, row: Row, meaning: str, read: Callable[[Any], T]) -> T | None:
        column = self._columns.get(meaning)
        return None if column is None else self._read(row, column, read, text=meaning == "task")

    def _read(self, row: Row, column: str, read: Callable[[Any], T], *, text: bool = False) -> T | None:
        value = row.values.get(column)
        if _values.is_nothing(value) and not (text and isinstance(value, str) and value.strip()):
            return None
        try:
            return read(value)
        except ValueError as error:
            shown = f"{value!r}"
            shown = shown if len(shown) <= 60 else f"{shown[:57]}…"
            raise TableError(self._path, f"{shown} {error}", line=row.line, column=column) from None


def _manifest(path: Path, records: list[TrialRecord]) -> Manifest:
    tasks: dict[str, tuple[str, ...]] = {}
    for record in records:
        tasks[record.task] = tuple(dict.fromkeys((*tasks.get(record.task, ()), *record.tags)))
    models = {record.model for record in records}
    counts = Counter((record.arm, record.task) for record in records)
    return Manifest(
        run_id=path.name,
        suite=path.stem,
        source_file=str(path),
        state="finished",
        asked="evaluation",
        model_source="unseen",
        isolation="recorded elsewhere",
        model_requested=models.pop() if len(models) == 1 else None,
        trials=min(counts.values()),
        task_ids=tuple(tasks),
        task_tags={task: tags for task, tags in tasks.items() if tags},
        task_families={record.task: record.family for record in records if record.family},
        arms=tuple(dict.fromkeys(record.arm for record in records)),
        tasks_hash=digest(sorted(tasks)),
        order="task",
        limits=_NO_LIMITS,
        variance=("recorded elsewhere: how the trials were run is not known",),
    )
