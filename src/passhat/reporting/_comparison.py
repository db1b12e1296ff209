"""A comparison as an engineer reads it: the verdict, by how much, which tasks, and at what cost."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from passhat.comparing import ArmFacts, Candidate, Claim, Comparison, Delta, p_text, points
from passhat.facts import count, named
from passhat.reporting._blocks import BAD, DIM, GOOD, STRONG, WARN, Cell, Column, Page
from passhat.reporting._console import Look
from passhat.reporting._findings import findings
from passhat.reporting._headline import moment
from passhat.reporting._text import clean, dollars, rate, seconds, tokens
from passhat.summary import ChangedTask

_STYLE = {"better": GOOD, "worse": BAD, "no difference": STRONG, "can't tell": WARN}
_FORMAT = {"seconds": seconds, "tokens": tokens, "dollars": dollars}
_NAME = 34
_WIDE = 78  # narrower pages have the two intervals one below the other
_LISTED = 12


def render_comparison(
    comparison: Comparison, *, width: int = 80, color: bool = False, unicode: bool = True, task_rows: int = _LISTED
) -> str:
    """The comparison as text for a terminal ``width`` columns wide; at most ``task_rows`` of each kind of task."""
    page = Page(Look(width, color, unicode))
    _head(page, comparison)
    for candidate in comparison.candidates:
        _verdict(page, comparison, candidate)
        _lifts(page, comparison, candidate)
        _changed(page, candidate, task_rows)
        _tags(page, candidate)
        _telemetry(page, comparison, candidate)
        _blocked(page, candidate, task_rows)
        findings(page, candidate.findings)
    if comparison.exit_reason:
        page.gap()
        page.line((f"Exit code {comparison.exit_code}: {clean(comparison.exit_reason, 600)}.", BAD))
    return page.text()


def render_verdicts(comparison: Comparison, *, width: int = 80, color: bool = False, unicode: bool = True) -> str:
    """The verdict on each arm of a run beside its baseline; the whole comparison says by how much and which tasks."""
    page = Page(Look(width, color, unicode))
    page.line(("Arms", STRONG), (f"  beside {clean(comparison.baseline, 60)}", DIM))
    for candidate in comparison.candidates:
        _verdict(page, comparison, candidate)
    return page.text()


def _head(page: Page, comparison: Comparison) -> None:
    title, _, rest = clean(comparison.title, 200).partition(": ")
    page.line((title, STRONG), (f": {rest}" if rest else "", WARN))
    for place, arm in enumerate(comparison.arms):
        label = "baseline " if place == 0 else "candidate"
        page.bullet(label, DIM, (clean(arm.name, 60), STRONG), (f"  {_about(arm)}", DIM))


def _about(arm: ArmFacts) -> str:
    parts = [count(arm.tasks, "task"), count(arm.trials, "trial")]
    if arm.missing:
        parts.append(f"{arm.missing} missing")
    if arm.model:
        parts.append(clean(arm.model, 40))
    if arm.commit:
        parts.append(f"commit {arm.commit[:8]}{'+' * arm.commit.endswith('+')}")
    day = moment(arm.started)[:10]
    if day and not arm.name.startswith(day.replace("-", "")):  # most runs have it in their names
        parts.append(day)
    return " · ".join(parts)


def _verdict(page: Page, comparison: Comparison, candidate: Candidate) -> None:
    page.gap()
    names = f"{clean(candidate.name, 60)} against {clean(comparison.baseline, 60)}: "
    style = _STYLE[candidate.verdict]
    verdict: str = candidate.verdict
    text = candidate.message
    if verdict == "no difference":
        verdict, _, text = text.partition(": ")
    page.line((names, ""), (verdict, f"{STRONG} {style}"))
    page.line(text, indent=2)
    parts = [f"{candidate.wins} up", f"{candidate.losses} down", f"{candidate.ties} alike"]
    line = f"{count(candidate.pairs, 'task')} paired: {', '.join(parts)}"
    page.line((line, DIM), (", partial" if candidate.partial else "", WARN), indent=2)
    if candidate.if_missing is not None:
        low, high = (points(end) for end in candidate.if_missing)
        text = f"{count(candidate.missing, 'trial')} without a verdict: the difference lies between {low} and {high}"
        page.line((text, WARN), indent=2)


def _lifts(page: Page, comparison: Comparison, candidate: Candidate) -> None:
    if not candidate.lift:
        return
    page.gap()
    like = any(row.tasks_like_these for row in candidate.lift)
    key = [Column("\nrate"), Column("\nbase", "right"), Column("\ncand", "right"), Column("\npoints", "right")]
    rows: list[list[Cell]] = [
        [row.rate, rate(row.baseline), rate(row.candidate), Text(points(row.estimate), STRONG)]
        for row in candidate.lift
    ]
    these = [_claim(row.these_tasks, comparison.alpha) for row in candidate.lift]
    other = [_claim(row.tasks_like_these, comparison.alpha) for row in candidate.lift] if like else []
    first_columns, second_columns = _claim_columns("these tasks"), _claim_columns("tasks like these")
    if not like:
        page.columns([*key, *first_columns], [[*row, *one] for row, one in zip(rows, these, strict=True)])
    elif page.width >= _WIDE:
        whole = [[*row, *one, *two] for row, one, two in zip(rows, these, other, strict=True)]
        page.columns([*key, *first_columns, *second_columns], whole)
    else:
        page.columns([*key, *first_columns], [[*row, *one] for row, one in zip(rows, these, strict=True)])
        page.columns([*key, *second_columns], [[*row, *two] for row, two in zip(rows, other, strict=True)])
    first = candidate.lift[0]
    tests = f"p of pass@1: these tasks by {first.these_tasks.test}"
    if first.tasks_like_these is not None:
        tests += f"; tasks like these by {first.tasks_like_these.test}"
    page.line((tests, DIM), indent=2)
    if text := _unlike(candidate, comparison.alpha):
        page.line((text, DIM), indent=2)


def _unlike(candidate: Candidate, alpha: float) -> str:
    """Why p may be small where the interval holds 0: they ask different questions, each by a method of its own."""
    rows = []
    for lift in candidate.lift:
        claims = [claim for claim in (lift.these_tasks, lift.tasks_like_these) if claim is not None]
        if any(claim.p <= alpha and claim.interval[0] <= 0 <= claim.interval[1] for claim in claims):
            rows.append(lift.rate)
    if not rows:
        return ""
    return (
        f"{named(rows)}: p asks whether anything changed at all, the interval by how much this rate did, which takes "
        "more trials. Each has a method of its own; here a change is shown, and not its size"
    )


def _claim_columns(target: str) -> list[Column]:
    return [Column(f"{target}\ninterval", "right"), Column("\np", "right")]


def _claim(claim: Claim | None, alpha: float) -> list[Cell]:
    if claim is None:
        return [Text("–", DIM), Text("–", DIM)]
    low, high = claim.interval
    shown = p_text(claim.p).removeprefix("p ").removeprefix("= ")
    return [f"{points(low)} to {points(high)}", Text(shown, STRONG if claim.p <= alpha else DIM)]


def _changed(page: Page, candidate: Candidate, most: int) -> None:
    if not candidate.pairs:
        return
    error = "at most 1 name in 20 is false"
    page.heading("Tasks that changed", error if candidate.changed_tasks else "")
    if candidate.changed_tasks:
        page.columns(
            [
                Column("task", shrinks=True, most=_NAME, least=20),
                Column("before", "right"),
                Column("after", "right"),
                Column(""),
                Column("q", "right"),
            ],
            [_task(each) for each in candidate.changed_tasks[:most]],
        )
        if len(candidate.changed_tasks) > most:
            page.line((f"… {len(candidate.changed_tasks) - most} more", DIM), indent=2)
    elif not candidate.changed_note:
        able = count(candidate.tested_tasks, "task") if candidate.tested_tasks else "no task"
        text = f"none can be named; {able} had the counts to show a change"
        page.line((text, DIM), indent=2)
    if candidate.changed_note:
        page.line((candidate.changed_note, WARN), indent=2)
    _movers(page, candidate, most)


def _task(task: ChangedTask) -> list[Cell]:
    style = GOOD if task.change == "better" else BAD
    q = p_text(task.q).removeprefix("p ").removeprefix("= ")
    return [clean(task.task, 200), _of(task.before), _of(task.after), Text(task.change, style), q]


def _of(counts: tuple[int, int]) -> str:
    return f"{counts[0]}/{counts[1]}"


def _movers(page: Page, candidate: Candidate, most: int) -> None:
    """Where no task can be named, those that moved furthest: something to look at, not a finding."""
    if candidate.changed_tasks:
        return
    for word, sign in (("fell", -1), ("rose", 1)):
        rows = [row for row in candidate.by_task if sign * _move(row.before, row.after) > 0]
        rows.sort(key=lambda row: -abs(_move(row.before, row.after)))
        if rows:
            shown = [f"{clean(row.task, 40)} {_of(row.before)} → {_of(row.after)}" for row in rows[: min(5, most)]]
            page.line((f"{word} furthest, by chance or not: {', '.join(shown)}", DIM), indent=2)


def _move(before: tuple[int, int], after: tuple[int, int]) -> float:
    return after[0] / after[1] - before[0] / before[1]


def _tags(page: Page, candidate: Candidate) -> None:
    if not candidate.by_tag:
        return
    page.heading("By tag", "not adjusted for the number of tags")
    columns = [Column("", shrinks=True, most=_NAME), Column("tasks", "right"), Column("baseline", "right", drops=1)]
    columns += [Column("candidate", "right", drops=1), Column("points", "right"), Column("these tasks", "right")]
    rows: list[list[Cell]] = []
    for row in sorted(candidate.by_tag, key=lambda row: row.estimate)[:_LISTED]:
        low, high = (points(end) for end in row.these_tasks)
        cells: list[Cell] = [clean(row.tag, 100), str(row.pairs), rate(row.baseline), rate(row.candidate)]
        rows.append([*cells, points(row.estimate), Text(f"{low} to {high}", DIM)])
    page.columns(columns, rows)


def _telemetry(page: Page, comparison: Comparison, candidate: Candidate) -> None:
    known = [(name, delta) for name, delta in candidate.telemetry.items() if delta.pairs]
    if not known:
        return
    page.heading("Cost of a trial", "over tasks in which both sides know it")
    columns = [Column(""), Column("baseline", "right"), Column("candidate", "right"), Column("difference", "right")]
    columns += [Column("", "right", drops=2), Column("p", "right"), Column("tasks", "right", drops=1)]
    page.columns(columns, [_amount(name, delta, comparison.alpha) for name, delta in known])


def _amount(name: str, delta: Delta, alpha: float) -> Sequence[Cell]:
    if delta.baseline is None or delta.candidate is None or delta.delta is None or delta.p is None:
        return [name, "", "", "", "", "", ""]
    shown = _FORMAT[name]
    sign = "+" if delta.delta > 0 else "−" if delta.delta < 0 else ""
    style = DIM if not delta.delta or delta.p > alpha else BAD if delta.delta > 0 else GOOD
    whole = shown(delta.baseline) != shown(0)  # of what reads as nothing no share says anything
    share = f"{sign}{abs(delta.delta) / delta.baseline * 100:.0f} %" if whole else ""
    p = p_text(delta.p).removeprefix("p ").removeprefix("= ")
    difference = Text(f"{sign}{shown(abs(delta.delta))}", style)
    return [name, shown(delta.baseline), shown(delta.candidate), difference, Text(share, style), p, str(delta.pairs)]


def _blocked(page: Page, candidate: Candidate, most: int) -> None:
    if not candidate.blocked:
        return
    page.heading("Not compared", f"{len(candidate.blocked)} of {count(candidate.total, 'task')}")
    for each in candidate.blocked[:most]:
        page.line(clean(each.task, 60), (f"  {clean(each.reason, 200)}", DIM), indent=2)
    if len(candidate.blocked) > most:
        page.line((f"… {len(candidate.blocked) - most} more", DIM), indent=2)
