"""A plan as an engineer reads it: what the numbers rest on, what can be found, and for how much."""

from __future__ import annotations

from passhat.planning import Pilot, Plan, Size, Ways
from passhat.reporting._blocks import DIM, STRONG, Cell, Column, Page
from passhat.reporting._console import Look
from passhat.reporting._text import clean, count, dollars, rate


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
    whole = pilot.within + pilot.between
    if whole:
        share = pilot.between / whole * 100
        flips = "" if pilot.flip_rate is None else f" · {pilot.flip_rate * 100:.0f} % of tasks flip"
        text = f"variance of a trial: {share:.0f} % between tasks, {100 - share:.0f} % within{flips}"
        page.line(text, indent=2)


def _answer(page: Page, plan: Plan) -> None:
    page.gap()
    odds = f"{plan.power * 100:.0f} %"
    now = plan.now
    text = f"{count(now.tasks, 'task')} × {count(now.trials, 'trial')} a side find, {odds} of the time, a difference of"
    page.line(text)
    page.line((_points(now.these_tasks), STRONG), " on these tasks, ", indent=2)
    page.line((_points(now.tasks_like_these), STRONG), " on tasks like these", indent=2)
    if plan.difference is None or plan.these_tasks is None or plan.tasks_like_these is None:
        return
    page.gap()
    page.line(f"To find {plan.difference * 100:g} points {odds} of the time")
    for label, ways in (("these tasks", plan.these_tasks), ("tasks like these", plan.tasks_like_these)):
        page.bullet(f"{label:<16}", DIM, _ways(ways, now))


def _ways(ways: Ways, now: Size) -> str:
    tasks = f"{count(ways.tasks, 'task')} × {count(now.trials, 'trial')}" if ways.tasks else ""
    if ways.trials is None:
        return f"{tasks}; more trials of {count(now.tasks, 'task')} would not"
    return f"{tasks}, or {count(now.tasks, 'task')} × {count(ways.trials, 'trial')}"


def _points(difference: float) -> str:
    return "none, however large" if difference >= 1 else f"{difference * 100:.1f} points"


def _sizes(page: Page, plan: Plan) -> None:
    page.heading("Smallest difference found, and the price of both sides")
    rows = sorted((plan.now, *plan.sizes), key=lambda size: (size.tasks, size.trials))
    columns = [Column("tasks", "right"), Column("trials", "right"), Column("these tasks", "right")]
    columns += [Column("tasks like these", "right"), Column("trials in all", "right", drops=1)]
    priced, timed = plan.now.dollars is not None, plan.now.minutes is not None
    columns += [Column("cost", "right")] * priced + [Column("minutes", "right")] * timed
    more = "≥ " if "dollars" in plan.pilot.partial else ""
    cells: list[list[Cell]] = []
    for row in rows:
        line: list[Cell] = [str(row.tasks), str(row.trials), _short(row.these_tasks), _short(row.tasks_like_these)]
        line += [f"{row.all_trials:,}"]
        line += [f"{more}{dollars(row.dollars)}"] * priced
        line += ["" if row.minutes is None else f"{row.minutes:,.1f}"] * timed
        cells.append(line)
    page.columns(columns, cells)


def _short(difference: float) -> str:
    return "none" if difference >= 1 else f"{difference * 100:.1f}"
