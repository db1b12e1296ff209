"""A plan as an engineer reads it: what the numbers rest on, what can be found, and for how much."""

from __future__ import annotations

import math

from passhat.facts import count
from passhat.planning import Pilot, Plan, Size, Ways
from passhat.reporting._blocks import DIM, STRONG, WARN, Cell, Column, Page
from passhat.reporting._console import Look
from passhat.reporting._text import clean, dollars, rate


def render_plan(plan: Plan, *, width: int = 80, color: bool = False, unicode: bool = True) -> str:
    """The plan as text for a terminal ``width`` columns wide."""
    page = Page(Look(width, color, unicode))
    pilot = plan.pilot
    where = f"from {clean(pilot.based_on, 80)}" if pilot.based_on else "from an assumed pass rate"
    page.line(("Plan of a comparison", STRONG), (f"  {where}", DIM))
    _basis(page, pilot)
    _answer(page, plan)
    _sizes(page, plan)
    page.heading("Tasks or trials?")
    for text in plan.advice:
        page.bullet("-", DIM, text)
    return page.text()


def _basis(page: Page, pilot: Pilot) -> None:
    page.line(f"pass@1 {rate(pilot.rate)} · {count(pilot.tasks, 'task')} × {count(pilot.trials, 'trial')}", indent=2)
    if pilot.stopped_early:
        text = "the pilot stopped early: its rates are no estimates, and neither is this plan; run one in full"
        page.line((text, WARN), indent=2)
    whole = pilot.within + pilot.between
    if whole and not pilot.quiet:
        share = pilot.between / whole * 100
        flips = "" if pilot.flip_rate is None else f" · {pilot.flip_rate * 100:.0f} % of tasks flip"
        text = f"variance of a trial: {share:.0f} % between tasks, {100 - share:.0f} % within{flips}"
        page.line(text, indent=2)


def _answer(page: Page, plan: Plan) -> None:
    odds, now = f"{plan.power * 100:.0f} %", plan.now
    page.gap()
    page.line(f"Found {odds} of the time by {count(now.tasks, 'task')} × {count(now.trials, 'trial')} a side")
    sides = {plan.direction: now.finds, "gain" if plan.direction == "loss" else "loss": plan.reverse}
    loss, gain = sides["loss"], sides["gain"]
    page.bullet(f"{'these tasks':<16}", DIM, _both(loss.these_tasks, gain.these_tasks))
    page.bullet(f"{'tasks like these':<16}", DIM, _both(loss.tasks_like_these, gain.tasks_like_these))
    if plan.difference is None or plan.these_tasks is None or plan.tasks_like_these is None:
        return
    page.gap()
    page.line(f"To find a {plan.direction} of {_points(plan.difference)} {odds} of the time")
    for label, ways in (("these tasks", plan.these_tasks), ("tasks like these", plan.tasks_like_these)):
        page.bullet(f"{label:<16}", DIM, _ways(ways, now))


def _both(loss: float | None, gain: float | None) -> str:
    if loss is None and gain is None:
        return "no loss and no gain, however large"
    if gain is None:
        return f"{_found('loss', loss)} points, no possible gain"
    return f"{_found('loss', loss)}, {_found('gain', gain)} points"


def _found(word: str, difference: float | None) -> str:
    return f"no possible {word}" if difference is None else f"a {word} of {_short(difference)}"


def _points(difference: float) -> str:
    shown = f"{difference * 100:.3g}"
    return f"{shown} point{'s' * (shown != '1')}"


def _ways(ways: Ways, now: Size) -> str:
    tasks = "no number of tasks"
    if ways.tasks is not None:
        tasks = f"{count(ways.tasks, 'task')} × {count(now.trials, 'trial')}"
    if ways.trials is None:
        return f"{tasks}; more trials of {count(now.tasks, 'task')} would not"
    return f"{tasks}, or {count(now.tasks, 'task')} × {ways.trials:,}"


def _sizes(page: Page, plan: Plan) -> None:
    page.heading(f"Smallest {plan.direction} found, in points, and the price of both sides")
    rows = sorted((plan.now, *plan.sizes), key=lambda size: (size.tasks, size.trials))
    columns = [Column("\ntasks × trials"), Column("these\ntasks", "right")]
    columns += [Column("tasks\nlike these", "right"), Column("trials\nin all", "right")]
    priced, timed = plan.now.dollars is not None, plan.now.minutes is not None
    columns += [Column("\ncost", "right")] * priced + [Column("\nminutes", "right", drops=1)] * timed
    more = "≥ " if "dollars" in plan.pilot.partial else ""
    cells: list[list[Cell]] = []
    for row in rows:
        found = row.finds
        line: list[Cell] = [f"{row.tasks:,} × {row.trials}"]
        line += [_short(found.these_tasks), _short(found.tasks_like_these), f"{row.all_trials:,}"]
        line += [f"{more}{dollars(row.dollars)}"] * priced
        line += ["" if row.minutes is None else f"{row.minutes:,.1f}"] * timed
        cells.append(line)
    page.columns(columns, cells)


def _short(difference: float | None) -> str:
    """In points, to a tenth; below one point to as many places as say something.

    >>> _short(0.0173), _short(0.00973), _short(0.00001234), _short(None)
    ('1.7', '0.97', '0.0012', 'none')
    """
    if difference is None:
        return "none"
    points = difference * 100
    places = 1 if points >= 1 else 1 - math.floor(math.log10(points))
    return f"{points:.{places}f}"
