"""An audit as an engineer reads it: what to mend, what was tried, and what was let pass with which reason."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.text import Text

from passhat.reporting._blocks import BAD, DIM, GOOD, STRONG, WARN, Cell, Column, Page
from passhat.reporting._console import Look
from passhat.reporting._findings import SIGNS
from passhat.reporting._text import clean, count, rate

if TYPE_CHECKING:
    from passhat.auditing import Audit, AuditFinding

_MOST = 8


def render_audit(audit: Audit, *, width: int = 80, color: bool = False, unicode: bool = True) -> str:
    """The audit as text for a terminal ``width`` columns wide; text from tasks and graders can't touch the terminal."""
    page = Page(Look(width, color, unicode))
    _head(page, audit)
    _findings(page, audit)
    _graders(page, audit)
    _equivalents(page, audit)
    return page.text()


def _head(page: Page, audit: Audit) -> None:
    page.line((clean(audit.suite, 100), STRONG), "  audit: tests of the tests; no model was asked")
    parts = [count(audit.tasks, "task"), f"{count(audit.references, 'reference')} × {audit.times}"]
    parts += [count(audit.alternatives, "alternative")] * bool(audit.alternatives)
    page.line(f"{', '.join(parts)}, {count(audit.plays, 'play')} in all, seed {audit.seed}")
    made = audit.mutants
    page.line(
        f"{count(made.made, 'wrong solution')} made of the references: ",
        (f"{made.killed:,} fail", GOOD),
        ", ",
        (f"{made.survived:,} pass", BAD if made.survived else DIM),
        f", {made.equivalent:,} as good as the reference, {made.not_realised:,} can't be played",
    )
    page.line("mutation score ", (rate(made.score), STRONG))


def _findings(page: Page, audit: Audit) -> None:
    page.heading("Findings")
    open_ = [each for each in audit.findings if each.allowed is None]
    if not open_:
        page.line(("none", GOOD), indent=2)
    shown: Counter[str] = Counter()
    for each in open_:
        shown[each.rule] += 1
        if shown[each.rule] <= _MOST:
            _finding(page, each)
    for rule, number in shown.items():
        if number > _MOST:
            page.line((f"… {count(number - _MOST, 'more finding')} by {rule}; see --json", DIM), indent=2)
    allowed = [each for each in audit.findings if each.allowed is not None]
    if allowed:
        page.heading("Allowed by the suite")
        for each in allowed:
            text = f": {clean(each.allowed or '', 300)} ({clean(each.message, 200)})"
            page.bullet("·", DIM, (each.rule, STRONG), text)


def _finding(page: Page, each: AuditFinding) -> None:
    sign, style = SIGNS[each.severity]
    page.bullet(sign, style, (f"{each.severity} ", style), (each.rule, STRONG), f": {clean(each.message, 600)}")


def _graders(page: Page, audit: Audit) -> None:
    if not audit.graders:
        return
    page.heading("Graders", "wrong solutions each was to fail, and did")
    columns = [Column("grader", shrinks=True, most=40), Column("role", drops=2), Column("judges", drops=1)]
    columns += [Column("aimed", "right"), Column("failed", "right"), Column("score", "right")]
    columns.append(Column("alone", "right", drops=3))
    rows: list[list[Cell]] = []
    for each in audit.graders:
        low = each.score is not None and each.score < 0.9
        score = Text(rate(each.score, 2), WARN if low else "")
        numbers: list[Cell] = [str(each.aimed), str(each.killed), score, str(each.alone)]
        rows.append([clean(each.grader, 100), each.role.value, each.kind, *numbers])
    page.columns(columns, rows)


def _equivalents(page: Page, audit: Audit) -> None:
    if not audit.equivalents:
        return
    page.heading("Left out of the score", "as good as the reference, or impossible to play")
    for reason, number in Counter(each.reason for each in audit.equivalents).most_common(_MOST):
        page.bullet(f"{number:>5}", DIM, clean(reason, 300))
