"""What the suite's metrics say: figures with their intervals, and tables of counts such as a confusion matrix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.text import Text

from passhat.facts import MetricValue, count
from passhat.reporting._blocks import BAD, DIM, GOOD, STRONG, WARN, Cell, Column, Page
from passhat.reporting._text import clean, rate, span
from passhat.summary import Report

_NAME = 40
_LABEL = 20
_LABELS = 12  # of a table that is shown as one; of more only what is mixed up most often
_CONFUSIONS = 8
_LEAST = 6  # columns that a label is cut to at most
_PARTS = 24


class Figure(NamedTuple):
    """One line of the table of metrics; ``depth`` is 1 for a part of a metric."""

    value: MetricValue
    depth: int


class ClassTable(NamedTuple):
    """Parts that are the same figures of several classes: "recall of refund", "recall of exchange", …"""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[MetricValue, ...]], ...]

    @property
    def like(self) -> bool:
        """Whether any figure has an interval."""
        return any(part.tasks_like_these for _, parts in self.rows for part in parts)

    @property
    def caption(self) -> str:
        """What the figures are over."""
        return "over trials; intervals: tasks like these" if self.like else "over trials"


class CountTable(NamedTuple):
    """Counts by row and column: what should be, and what was."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: Mapping[str, Mapping[str, int]]

    def at(self, row: str, column: str) -> int:
        """The count of a cell."""
        return self.counts.get(row, {}).get(column, 0)

    @property
    def mixed_up(self) -> list[tuple[int, str, str]]:
        """(count, what it should be, what it was), the most frequent first."""
        cells = [(self.at(row, column), row, column) for row in self.rows for column in self.columns if row != column]
        return sorted((cell for cell in cells if cell[0]), key=lambda cell: -cell[0])


def figures(report: Report) -> list[Figure]:
    """Every metric, each followed by its parts, unless those make a table of classes."""
    return [
        figure
        for metric in report.metrics
        for figure in (Figure(metric, 0), *(Figure(part, 1) for part in _lone_parts(metric)[:_PARTS]))
    ]


def class_table(metric: MetricValue) -> ClassTable | None:
    """The parts of a metric as a table of classes; None where they aren't the same figures of each."""
    rows: dict[str, dict[str, MetricValue]] = {}
    for part in metric.parts:
        head, _, label = part.name.partition(" of ")
        rows.setdefault(label, {})[head] = part
    heads = tuple(next(iter(rows.values()), ()))
    if "" in rows or len(heads) < 2 or any(tuple(row) != heads for row in rows.values()):
        return None
    return ClassTable(
        f"{metric.name}: classes", heads, tuple((label, tuple(row.values())) for label, row in rows.items())
    )


def _lone_parts(metric: MetricValue) -> tuple[MetricValue, ...]:
    return metric.parts if class_table(metric) is None else ()


def count_tables(metric: MetricValue) -> Iterator[CountTable]:
    """The tables of counts in a metric's details, rows by what was expected."""
    labels = metric.details.get("labels")
    known = [label for label in labels if isinstance(label, str)] if isinstance(labels, list) else []
    for name, table in metric.details.items():
        if not _is_table(table):
            continue
        rows = [*(label for label in known if label in table), *(row for row in table if row not in known)]
        others = sorted({column for row in table.values() for column in row} - set(known))
        met = {column for row in table.values() for column, number in row.items() if number}
        shown = [label for label in known if label in table or label in met]
        others = [column for column in others if column in met]
        columns = [*shown, *others]
        yield CountTable(f"{metric.name}: {name}", tuple(rows), tuple(columns), table)


def _is_table(value: object) -> bool:
    return (
        isinstance(value, dict)
        and bool(value)
        and all(isinstance(row, dict) and all(type(cell) is int for cell in row.values()) for row in value.values())
    )


def levels_of(values: Sequence[MetricValue]) -> str:
    """The level, or levels, of the intervals.

    >>> levels_of([MetricValue("a", 0.5), MetricValue("b", 0.5, level=0.9)])
    '90 % and 95 % intervals'
    """
    found = sorted({value.level for value in values})
    return " and ".join(f"{level * 100:g} %" for level in found) + " intervals"


def left_out(metric: MetricValue) -> int:
    """How many parts of a metric aren't shown."""
    return max(0, len(_lone_parts(metric)) - _PARTS)


def metrics(page: Page, report: Report) -> None:
    """The block of a terminal's page."""
    if not report.metrics:
        return
    page.heading("Metrics", levels_of(report.metrics))
    rows = figures(report)
    like = any(figure.value.tasks_like_these for figure in rows)
    these = any(figure.value.these_tasks for figure in rows)
    longest = max(cell_len(clean(each.value.name, 100)) + 2 * each.depth for each in rows)
    columns = [Column("", shrinks=True, most=_NAME, least=min(_NAME, longest)), Column("value", "right")]
    columns += [Column("these tasks", "right", drops=2)] * these
    columns += [Column("tasks like these", "right", drops=1)] * like
    columns += [Column("tasks", "right", drops=3), Column("trials", "right", drops=4), Column("", drops=5)]
    page.columns(columns, [_cells(each, these=these, like=like) for each in rows])
    for metric in report.metrics:
        for text, style in _remarks(metric):
            page.bullet("·", DIM, (clean(metric.name, 60), STRONG), (f": {text}", style))
    for metric in report.metrics:
        if (classes := class_table(metric)) is not None:
            _classes(page, classes)
        for table in count_tables(metric):
            _matrix(page, table)


def _cells(figure: Figure, *, these: bool, like: bool) -> list[Cell]:
    value = figure.value
    shown = Text("error", BAD) if value.error else Text(rate(value.value), "" if figure.depth else STRONG)
    cells: list[Cell] = [Text("  " * figure.depth + clean(value.name, 100)), shown]
    cells += [Text(span(value.these_tasks), DIM)] * these + [Text(span(value.tasks_like_these), DIM)] * like
    missing = Text(f"{value.missing} missing" if value.missing else "", WARN)
    return [*cells, str(value.tasks), str(value.trials), missing]


def _remarks(metric: MetricValue) -> Iterator[tuple[str, str]]:
    """What is to be said of a metric beside its figures. An error is among the findings."""
    if metric.note:
        yield clean(metric.note, 300), DIM
    if left := left_out(metric):
        yield f"{count(left, 'more part')}; see --json", DIM
    for name, value in metric.details.items():
        if type(value) in (int, float):
            number = rate(value) if isinstance(value, float) and 0 <= value <= 1 else f"{value:,}"
            yield f"{clean(name.replace('_', ' '), 60)} {number}", DIM


def _classes(page: Page, table: ClassTable) -> None:
    """A row a class, each figure with its interval where there is room."""
    like = table.like
    page.heading(clean(table.title, 100), table.caption)
    columns = [Column("", shrinks=True, most=_NAME)]
    for head in table.heads:
        columns += [Column(clean(head, _LABEL), "right"), *([Column("", drops=1)] * like)]
    rows: list[list[Cell]] = []
    for label, parts in table.rows[:_PARTS]:
        cells: list[Cell] = [clean(label, 100)]
        for part in parts:
            cells += [Text(rate(part.value)), *([Text(span(part.tasks_like_these), DIM)] * like)]
        rows.append(cells)
    page.columns(columns, rows)
    if len(table.rows) > _PARTS:
        page.line((f"… {count(len(table.rows) - _PARTS, 'more class', 'more classes')}; see --json", DIM), indent=2)


def _matrix(page: Page, table: CountTable) -> None:
    """A table of counts where it fits, with numbers for its columns where their names don't; else the mix-ups."""
    if len(table.columns) <= _LABELS:
        rows = max(cell_len(clean(row, _LABEL)) for row in table.rows)
        heads = [clean(column, _LABEL) for column in table.columns]
        if rows + sum(max(cell_len(head), _LEAST) + 2 for head in heads) <= page.width - 2:
            page.heading(clean(table.title, 100), "rows: what should be; columns: what was; trials")
            _counts(page, table, heads, dict.fromkeys(table.rows, ""))
            return
        cell = max(len(str(table.at(row, column))) for row in table.rows for column in table.columns)
        if min(rows, 2 * _LEAST) + 3 + len(heads) * (max(cell, 2) + 2) <= page.width - 2:
            _numbered(page, table)
            return
    page.heading(clean(table.title, 100), "what is mixed up most often; trials")
    mixed = table.mixed_up
    for number, row, column in mixed[:_CONFUSIONS]:
        page.bullet(f"{number:>5}", DIM, f"{clean(row, 60)} → {clean(column, 60)}")
    if not mixed:
        page.line(("nothing", GOOD), indent=2)
    elif len(mixed) > _CONFUSIONS:
        page.line((f"… {len(mixed) - _CONFUSIONS} more; see --json", DIM), indent=2)


def _numbered(page: Page, table: CountTable) -> None:
    """Each label has a number, which stands before its row and over its column."""
    numbers = {label: str(at) for at, label in enumerate(dict.fromkeys((*table.rows, *table.columns)), 1)}
    page.heading(clean(table.title, 100), "rows: what should be; columns, by number: what was; trials")
    before = {row: f"{numbers[row]:>{len(str(len(numbers)))}} " for row in table.rows}
    _counts(page, table, [numbers[column] for column in table.columns], before)
    others = [f"{numbers[column]} {clean(column, 60)}" for column in table.columns if column not in table.rows]
    if others:
        page.line((f"columns only: {', '.join(others)}", DIM), indent=2)


def _counts(page: Page, table: CountTable, heads: Sequence[str], before: Mapping[str, str]) -> None:
    columns = [Column("", shrinks=True, most=_NAME, least=_LEAST), *(Column(head, "right") for head in heads)]
    rows: list[list[Cell]] = [
        [before[row] + clean(row, _LABEL), *(_count(table, row, column) for column in table.columns)]
        for row in table.rows
    ]
    page.columns(columns, rows)


def _count(table: CountTable, row: str, column: str) -> Cell:
    number = table.at(row, column)
    square = set(table.rows) & set(table.columns)
    style = GOOD if row == column else WARN if square and number else ""
    return Text(str(number) if number else "·", style if number else DIM)
