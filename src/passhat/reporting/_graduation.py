"""What graduates, what goes back, and what is still open."""

from __future__ import annotations

from collections.abc import Sequence

from passhat.facts import count, named
from passhat.history import Graduation, LeftOut, TaskRecord
from passhat.reporting._blocks import DIM, STRONG, WARN, Cell, Column, Page
from passhat.reporting._console import Look
from passhat.reporting._text import clean, rate

_LISTED = 30


def render_graduation(
    found: Graduation, *, moved: bool = False, width: int = 80, color: bool = False, unicode: bool = True
) -> str:
    """The proposal as text for a terminal ``width`` columns wide."""
    page = Page(Look(width, color, unicode))
    level = f"one-sided {found.level * 100:g} %"
    page.line(("Graduation", STRONG), (f"  a task is proved when at least {found.bar:g} is sure ({level})", DIM))
    page.line((f"from {count(len(found.runs), 'run')}{': ' * bool(found.runs)}{', '.join(found.runs)}", DIM), indent=2)
    for reason, runs in _by_reason(found.left_out).items():
        page.line((f"left out, {reason}: {named(runs)}", WARN), indent=2)
    verb = "moved" if moved else "to move"
    _table(page, f"Proved, {verb} to the regression suite", found.proved, "at least")
    _table(page, f"Fell, {verb} back to the capability suite", found.fell, "at most")
    if not found.proved and not found.fell:
        page.gap()
        page.line(f"Nothing to move: {found.needed} trials, all passing, prove a task.")
    if found.open and found.proved:
        stay = "stays" if len(found.open) == 1 else "stay"
        page.gap()
        page.line((f"{count(len(found.open), 'task')} {stay}: not proved, or not tried often enough", DIM))
    if found.saturated:
        page.gap()
        page.line(("Every task of the capability suite is proved: it has nothing left to show. Add harder ones.", WARN))
    return page.text()


def _by_reason(left_out: Sequence[LeftOut]) -> dict[str, list[str]]:
    runs: dict[str, list[str]] = {}
    for each in left_out:
        runs.setdefault(each.reason, []).append(clean(each.run, 200))
    return runs


def _table(page: Page, title: str, rows: Sequence[TaskRecord], bound: str) -> None:
    if not rows:
        return
    page.heading(title, count(len(rows), "task"))
    cells: list[list[Cell]] = [
        [clean(row.task, 200), f"{row.c}/{row.n}", f"{bound} {rate(row.bound)}"] for row in rows[:_LISTED]
    ]
    page.columns([Column("task", shrinks=True, most=50), Column("passed", "right"), Column("proved", "right")], cells)
    if len(rows) > _LISTED:
        page.line((f"… {len(rows) - _LISTED} more", DIM), indent=2)
