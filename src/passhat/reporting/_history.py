"""A suite's history as an engineer reads it: a line a run, the interval drawn, then what changed."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from passhat.facts import count, named
from passhat.history import Changes, History, JudgePoint, Point, Reruns
from passhat.reporting._bar import bar, scale
from passhat.reporting._blocks import BAD, DIM, GOOD, STRONG, WARN, Cell, Column, Page
from passhat.reporting._console import Look
from passhat.reporting._findings import findings
from passhat.reporting._text import clean, rate, span

_BAR = 15
_LISTED = 12
_WITH_INTERVALS = 67  # columns that a table of judges takes with its intervals
_STYLE = {"met": GOOD, "not met": BAD, "undecided": WARN, "incomplete": WARN}


def render_history(
    history: History, *, width: int = 80, color: bool = False, unicode: bool = True, runs: int = 20
) -> str:
    """The history as text for a terminal ``width`` columns wide; the newest ``runs`` runs are listed."""
    page = Page(Look(width, color, unicode))
    page.line((f"History of {clean(history.suite, 80)}", STRONG), (f"  {_size(history.runs)}", DIM))
    shown = history.runs[-runs:][::-1]
    if len(history.runs) > len(shown):
        page.line((f"the newest {_size(shown)}", DIM), indent=2)
    page.gap()
    _runs(page, history, shown)
    if history.since_last is not None:
        _changes(page, history.since_last, "Since the run before")
    if history.since is not None:
        _changes(page, history.since, f"Since {clean(history.since.before, 60)}")
    for group in history.reruns:
        _reruns(page, group)
    _judges(page, history.judges[-runs:][::-1])
    findings(page, history.findings)
    return page.text()


def _size(points: Sequence[Point]) -> str:
    """How many runs, and how many lines where each arm of a run has its own."""
    runs = count(len({(point.host, point.run) for point in points}), "run")
    return f"{runs}, a line an arm" if any(point.arm for point in points) else runs


def _runs(page: Page, history: History, shown: tuple[Point, ...]) -> None:
    arms = any(point.arm for point in shown)
    models = len({_model(point) for point in history.runs}) > 1
    hosts = len({point.host for point in history.runs}) > 1
    commits = any(point.commit for point in shown)
    columns = [Column("when (UTC)")] + [Column("arm", shrinks=True, most=14, least=14)] * arms
    columns += [Column("commit", drops=2)] * commits
    columns += [Column("model", shrinks=True, most=24, least=10, drops=1)] * models
    columns += [Column("host", shrinks=True, most=14, least=6, drops=6)] * hosts
    columns += [
        Column("pass@1", "right"),
        Column("these tasks", "right"),
        Column(scale(_BAR), drops=4),
    ]
    columns += [Column("size", drops=5), Column("", shrinks=True, wraps=True, most=40, least=19)]
    page.columns(columns, [_row(point, arms=arms, commits=commits, models=models, hosts=hosts) for point in shown])


def _row(point: Point, *, arms: bool, commits: bool, models: bool, hosts: bool) -> list[Cell]:
    cells: list[Cell] = [_when(point)]
    cells += [clean(point.arm, 60)] * arms
    commit = "" if point.commit is None else point.commit[:7] + point.commit[-1:] * point.commit.endswith(("+", "?"))
    cells += [commit] * commits
    cells += [clean(_model(point), 60)] * models
    cells += [clean(point.host, 60)] * hosts
    cells += [
        Text(rate(point.pass_at_1), STRONG),
        span(point.these_tasks, 2),
        Text(bar(point.pass_at_1, point.these_tasks, _BAR), DIM),
    ]
    size = f"{point.tasks}×{round(point.trials / point.tasks)}" if point.tasks else ""
    said = ["stopped early"] * bool(point.left_out)
    said += [point.state] * (point.state != "finished")
    said += [f"{point.missing} missing"] * bool(point.missing)
    said += [point.stale] if point.stale else []
    return [*cells, size, Text(", ".join(said), WARN)]


def _model(point: Point) -> str:
    if point.model:
        return point.model
    names = {name.partition("@")[0] for name in point.models_reported}
    source = "unseen" if point.model_source == "live" else point.model_source  # live only until the run has finished
    return ", ".join(sorted(names)) or source


def _changes(page: Page, changes: Changes, title: str) -> None:
    page.heading(title, f"{count(changes.shared, 'task')} in both")
    if changes.tasks:
        rows: list[list[Cell]] = [
            [
                clean(each.task, 200),
                f"{each.before[0]}/{each.before[1]}",
                f"{each.after[0]}/{each.after[1]}",
                Text(each.change, GOOD if each.change == "better" else BAD),
            ]
            for each in changes.tasks[:_LISTED]
        ]
        columns = [
            Column("task", shrinks=True, most=40),
            Column("before", "right"),
            Column("after", "right"),
            Column(""),
        ]
        page.columns(columns, rows)
        if len(changes.tasks) > _LISTED:
            page.line((f"… {len(changes.tasks) - _LISTED} more", DIM), indent=2)
    elif changes.shared and not changes.note:
        page.line(("no task can be named as changed", DIM), indent=2)
    if changes.note:
        page.line((changes.note, WARN), indent=2)
    for label, names in (
        ("redefined", changes.redefined),
        ("new", changes.added),
        ("gone", changes.removed),
        ("not tried in one of them", changes.unmeasured),
    ):
        if names:
            page.bullet(f"{label + ':':<10}", DIM, named(clean(name, 40) for name in names))


def _reruns(page: Page, group: Reruns) -> None:
    page.heading(f"Run again: commit {group.commit[:7]}", f"{len(group.runs)} runs, {count(group.trials, 'trial')}")
    page.line(group.message, indent=2)
    page.line(("pass@1 over all of them ", DIM), rate(group.pass_at_1), f"  {span(group.these_tasks)}", indent=2)
    for row in group.gates:
        page.bullet(f"{row.verdict:<9}", _STYLE[row.verdict], f"{row.label}: {row.message}")


def _judges(page: Page, points: Sequence[JudgePoint]) -> None:
    if not points:
        return
    page.heading("Judges beside people", "runs with labels, newest first")
    graders = list(dict.fromkeys(point.agreement.grader for point in points))
    for grader in graders:
        if len(graders) > 1:
            page.line(clean(grader, 200), indent=2)
        _judge(page, [point for point in points if point.agreement.grader == grader])


def _judge(page: Page, points: Sequence[JudgePoint]) -> None:
    """One grader over its runs; what else is to be known of a run stands below, in full."""
    intervals = page.width >= _WITH_INTERVALS
    rows: list[list[Cell]] = [
        [
            _when(point),
            str(point.agreement.labels),
            _share(point.agreement.sensitivity, point.agreement.sensitivity_interval if intervals else None),
            _share(point.agreement.specificity, point.agreement.specificity_interval if intervals else None),
            "–" if point.agreement.kappa is None else f"{point.agreement.kappa:.2f}",
        ]
        for point in points
    ]
    columns = [Column("when (UTC)"), Column("labels", "right"), Column("sensitivity"), Column("specificity")]
    page.columns([*columns, Column("kappa", "right")], rows)
    for point in points:
        if aside := _aside(point):
            page.line((f"{_when(point)}  ", DIM), (aside, WARN), indent=2, hang=4)


def _share(value: float | None, interval: tuple[float, float] | None) -> Text:
    shown = Text(rate(value, 2), STRONG)
    return shown if interval is None else shown.append(f"  {span(interval, 2)}", DIM)


def _when(point: Point | JudgePoint) -> str:
    return point.started[:16].replace("T", " ") or clean(point.run, 16)


def _aside(point: JudgePoint) -> str:
    picked = point.agreement.labels - point.agreement.drawn
    said = [f"{count(picked, 'label')} picked, not drawn"] * bool(picked)
    return "; ".join([*said, *[f"{named(clean(each, 100) for each in point.changed)} changed"] * bool(point.changed)])
