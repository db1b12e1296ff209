"""The tables of a report: tasks, tags, failures, graders."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from passhat.facts import Status, count
from passhat.reporting._blocks import BAD, DIM, GOOD, STRONG, WARN, Cell, Column, Page
from passhat.reporting._text import clean, dollars, in_a_line, rate, seconds, span, tokens
from passhat.summary import GraderRate, GroupRow, Report, TaskRow

VERDICT_STYLE = {"solid": GOOD, "flaky": WARN, "never": BAD, "too few": DIM, "untested": BAD}
_DOTS = {"+": ("●", GOOD), "-": ("○", BAD), "?": ("?", WARN)}
_MOST_DOTS = 20
_NAME = 34
_TAGS = 8
_EXAMPLES = 5


def worst_first(rows: Sequence[TaskRow]) -> list[TaskRow]:
    """Tasks without a verdict, then by their rate, the lowest first, then those that weren't tried.

    Equals stay in the suite's order.
    """
    return sorted(rows, key=lambda row: (_left_out(row), row.estimate is not None, row.estimate or 0.0, -row.n))


def _left_out(row: TaskRow) -> bool:
    """Whether no trial of it was run, needed or not: that is nothing to look into."""
    return not row.ran


def listed(report: Report, most: int) -> tuple[list[TaskRow], list[TaskRow]]:
    """The tasks to show, and those that are left out.

    Where not all fit, solid ones go first, and those never solved take half the room at most: flaky ones are news too.
    """
    rows = worst_first(report.by_task)
    if len(rows) <= most:
        return rows, []
    flaky = [row for row in rows if row.verdict == "flaky"]
    others = [row for row in rows if row.verdict not in ("flaky", "solid")]
    room = max(most - len(flaky), most - most // 2)
    shown = [*others[:room], *flaky[: most - min(room, len(others))]] or rows[: min(3, most)]
    return shown, [row for row in rows if row not in shown]


def tasks(page: Page, report: Report, most: int) -> None:
    """The tasks, worst first."""
    shown, rest = listed(report, most)
    if not shown:
        return
    page.heading("Tasks", "worst first" if len(report.by_task) > 1 else "")
    columns, rows = _task_table(report, shown, wide=page.width >= 90)
    page.columns(columns, rows)
    if rest:
        words = ", ".join(
            f"{sum(row.verdict == verdict for row in rest)} {verdict}"
            for verdict in VERDICT_STYLE
            if any(row.verdict == verdict for row in rest)
        )
        page.line((f"… {len(rest)} more: {words}", DIM), indent=2)


def _task_table(report: Report, shown: list[TaskRow], *, wide: bool) -> tuple[list[Column], list[list[Cell]]]:
    """Columns that hold something, and their cells."""
    scores = report.score is not None and report.score.partial_credit
    tuned = any(row.split == "tune" for row in shown) and any(row.split != "tune" for row in report.by_task)
    timed = any(row.seconds is not None for row in shown)
    counted = wide and any(row.tokens is not None for row in shown)
    priced = wide and any(row.dollars is not None for row in shown)
    columns = [Column("task", shrinks=True, most=_NAME, least=26), Column("trials"), Column("passed", "right")]
    columns += [Column("rate", "right", drops=3), Column("interval", "right", drops=4), Column("verdict")]
    columns += [Column("score", "right", drops=5)] * scores + [Column("a trial", "right", drops=6)] * timed
    columns += [Column("tokens", "right", drops=8)] * counted + [Column("cost", "right", drops=7)] * priced
    rows: list[list[Cell]] = []
    for row in shown:
        name = clean(row.task, 200) + (" (tune)" if tuned and row.split == "tune" else "")
        cells: list[Cell] = [Text(name), dots(row.outcomes), f"{row.c}/{row.n}", rate(row.estimate, 2)]
        cells += [Text(span(row.interval, 2), DIM), Text(row.verdict, VERDICT_STYLE[row.verdict])]
        cells += [rate(row.score, 2)] * scores
        cells += [seconds(each_trial(row.seconds, row.ran))] * timed
        cells += [tokens(each_trial(row.tokens, row.ran))] * counted
        cells += [dollars(each_trial(row.dollars, row.ran))] * priced
        rows.append(cells)
    return columns, rows


def each_trial(total: float | None, trials: int) -> float | None:
    """The mean of a trial."""
    return None if total is None or not trials else total / trials


def dots(outcomes: str) -> Text:
    """One sign a trial: passed, failed, missing."""
    text = Text()
    for outcome in outcomes[:_MOST_DOTS]:
        text.append(*_DOTS[outcome])
    if len(outcomes) > _MOST_DOTS:
        text.append("…", DIM)
    return text


def worst_tags(report: Report) -> list[GroupRow]:
    """Tags by pass@1, the lowest first; those without a verdict before them."""
    return sorted(report.by_tag, key=lambda row: (row.estimate is not None, row.estimate or 0.0))


def tags(page: Page, report: Report) -> None:
    """pass@1 by tag, and by split when there are two."""
    rows = [*report.by_tag, *(report.by_split if len(report.by_split) > 1 else ())]
    if not rows:
        return
    page.heading("By tag" if report.by_tag else "By split")
    columns = [Column("", shrinks=True, most=_NAME), Column("tasks", "right"), Column("passed", "right")]
    columns += [Column("pass@1", "right"), Column("these tasks", "right", drops=1)]
    worst = worst_tags(report)
    splits = list(report.by_split) if len(report.by_split) > 1 else []
    shown = [(clean(row.name, 100), row) for row in worst[:_TAGS]] + [(f"split {row.name}", row) for row in splits]
    page.columns(
        columns,
        [
            [name, str(row.tasks), f"{row.c}/{row.n}", rate(row.estimate), Text(span(row.these_tasks), DIM)]
            for name, row in shown
        ],
    )
    if len(worst) > _TAGS:
        page.line((f"… {len(worst) - _TAGS} more tags", DIM), indent=2)


def ended(status: str) -> str:
    """How a trial without a pass ended: one that its agent completed was failed by its grades.

    >>> ended("completed"), ended("agent_error")
    ('failed by its grades', 'agent error')
    """
    return "failed by its grades" if status == Status.COMPLETED else Status(status).words


def failures_title(report: Report) -> tuple[str, str]:
    """A heading, and of how many trials it speaks."""
    failed, trials = sum(report.failures.values()), report.trials
    if not failed:
        return "Missing", f"{trials.missing} of {count(trials.planned, 'trial')}"
    judged = " with a verdict" if trials.missing and trials.policy != "fail" else ""
    return "Failures", f"{failed} of {count(trials.counted, 'trial')}{judged}"


def failures(page: Page, report: Report) -> None:
    """How trials failed or went missing, and one error of each kind."""
    if not report.failures and not report.missing:
        return
    page.heading(*failures_title(report))
    rows: list[list[Cell]] = [[str(number), Text(ended(status))] for status, number in report.failures.items()]
    rows += [[str(number), Text(f"missing: {ended(status)}", WARN)] for status, number in report.missing.items()]
    for number, what in rows:
        page.line(f"{number:>5}  ", (what.plain, str(what.style)) if isinstance(what, Text) else what, indent=2)
    for error in report.errors[:5]:
        kind = clean(error.type or error.kind, 60)
        where = f"{clean(error.example.task, 60)} #{error.example.trial}"
        page.bullet(
            "·",
            DIM,
            f"{error.count} × ",
            (kind, STRONG),
            f": {in_a_line(error.example.reason, 300)}",
            (f"  {where}", DIM),
        )
    if len(report.errors) > 5:
        page.line((f"… {len(report.errors) - 5} more kinds of error", DIM), indent=2)


def grader_words(row: GraderRate) -> tuple[str, str, str]:
    """What a grader passed, its rate and the interval; of one that only scores, its mean score."""
    if row.only_scores:
        return f"of {row.scored}", f"score {rate(row.score)}", "–"
    return f"{row.passed}/{row.n}", rate(row.estimate), span(row.these_tasks)


def graders(page: Page, report: Report) -> None:
    """How often each grader was satisfied: invariants, measured."""
    if not report.graders:
        return
    page.heading("Graders", "each over the trials it judged")
    columns = [Column("", shrinks=True, most=_NAME), Column("passed", "right"), Column("rate", "right")]
    columns += [Column("these tasks", "right", drops=1), Column("")]
    rows: list[list[Cell]] = []
    for row in report.graders:
        passed, estimate, these = grader_words(row)
        asides = [row.role] * (row.role != "required")
        asides += [count(row.errors, "error")] * bool(row.errors) + [f"{row.unknown} unknown"] * bool(row.unknown)
        cells: list[Cell] = [clean(row.name, 100), passed, Text(estimate, STRONG)]
        rows.append([*cells, Text(these, DIM), Text(", ".join(asides), WARN if row.errors else DIM)])
    page.columns(columns, rows)
    shown = [(row, row.example) for row in report.graders if row.example is not None and row.example.reason]
    shown.sort(key=lambda pair: (pair[0].role == "advisory", 1.0 if pair[0].estimate is None else pair[0].estimate))
    for row, example in shown[:_EXAMPLES]:
        where = f"{clean(example.task, 60)} #{example.trial}"
        page.bullet("·", DIM, (clean(row.name, 60), STRONG), f": {in_a_line(example.reason, 160)}", (f"  {where}", DIM))
