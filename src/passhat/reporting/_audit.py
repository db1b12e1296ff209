"""An audit as an engineer reads it: what to mend, what was tried, and what was let pass with which reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from passhat.facts import count
from passhat.reporting._blocks import BAD, DIM, GOOD, STRONG, WARN, Cell, Column, Page
from passhat.reporting._console import Look
from passhat.reporting._findings import SIGNS
from passhat.reporting._text import clean, rate

if TYPE_CHECKING:
    from passhat.auditing import Audit, AuditFinding

_MOST = 8  # bullets of one rule
_NAMED = 5  # tasks of one bullet


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
    known = f"{count(audit.references, 'reference')} × {audit.times}" if audit.references else "no reference"
    parts = [count(audit.tasks, "task"), known]
    parts += [count(audit.alternatives, "alternative")] * bool(audit.alternatives)
    page.line(f"{', '.join(parts)}, {count(audit.plays, 'play')} in all, seed {audit.seed}")
    made = audit.mutants
    if not audit.references:
        page.line(
            ("no wrong solutions were tried: they are made of references. ", WARN),
            "Give tasks a reference=, and the suite a function reference= that plays it (docs/auditing.md)",
        )
        return
    page.line(
        f"{count(made.made, 'wrong solution')} made of the references: ",
        (f"{made.killed:,} fail", GOOD),
        ", ",
        (f"{made.survived:,} pass", BAD if made.survived else DIM),
        f", {made.equivalent:,} as good as the reference, {made.not_realised:,} can't be played or judged",
    )
    page.line("mutation score ", (rate(made.score), STRONG))


def _findings(page: Page, audit: Audit) -> None:
    groups = audit.grouped()
    page.heading("Findings", _counted(groups))
    if not groups:
        page.line(("none", GOOD), indent=2)
    shown: Counter[str] = Counter()
    hidden: Counter[str] = Counter()
    for group in groups:
        rule = group[0].rule
        shown[rule] += 1
        if shown[rule] > _MOST:
            hidden[rule] += 1
        else:
            _group(page, group)
    for rule, number in hidden.items():
        page.line((f"… {count(number, 'more finding')} by {rule}; see --json", DIM), indent=2)
    allowed = [each for each in audit.findings if each.allowed is not None]
    if allowed:
        page.heading("Allowed by the suite")
        for each in allowed:
            text = f": {clean(each.allowed or '', 300)} ({clean(each.message, 200)})"
            page.bullet("·", DIM, (each.rule, STRONG), text)


def _counted(groups: Sequence[Sequence[AuditFinding]]) -> str:
    """How many there are of each severity that occurs; those that are shown as one count as one."""
    numbers = Counter(group[0].severity for group in groups)
    return ", ".join(count(numbers[name], name) for name in SIGNS if numbers[name])


def _group(page: Page, group: Sequence[AuditFinding]) -> None:
    first = group[0]
    sign, style = SIGNS[first.severity]
    text = clean(first.message, 600)
    if len(group) > 1:
        tasks = list(dict.fromkeys(task for each in group for task in each.tasks))
        names = tasks or list(dict.fromkeys(name for each in group for name in each.graders))
        listed = clean(", ".join(names[:_NAMED]), 300)
        listed += f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        cause = clean(first.cause, 300)
        text = f"{cause}, in {count(len(tasks), 'task')}: {listed}" if tasks else f"{listed}: {cause}"
    page.bullet(sign, style, (f"{first.severity} ", style), (first.rule, STRONG), f": {text}")
    message = first.message.replace(f"; {first.cause}", "")
    if len(group) > 1 and first.tasks and not message.endswith(first.cause):
        page.bullet(" ", DIM, (f"for example {clean(message, 300)}", DIM))


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
        if each.kind == "flaky":
            numbers = [rate(None)] * len(numbers)
        rows.append([clean(each.grader, 100), each.role.value, Text(each.kind, BAD * (each.kind == "flaky")), *numbers])
    start = page.mark()
    page.columns(columns, rows)
    _legend(page, audit, alone="alone" in page.raw()[start:])


def _legend(page: Page, audit: Audit, *, alone: bool) -> None:
    """What the columns mean, as far as this table needs it."""
    flaky = [clean(each.grader, 100) for each in audit.graders if each.kind == "flaky"]
    steady = [each for each in audit.graders if each.kind != "flaky"]
    words = ["aimed: they differ in what this grader reacts to"]
    if alone:
        words.append("alone: no other deciding grader failed them")
    if any(each.score is None and each.aimed for each in steady):
        words.append(f"score {rate(None)}: only the grader itself can say which of them break its rule")
    if any(not each.aimed for each in steady):
        words.append("aimed 0: no wrong solution differs in what it judges; give it a test of its own")
    for each in words:
        page.line((each, DIM), indent=2, hang=4)
    if flaky:
        page.line((f"flaky: {', '.join(flaky)} had no say in anything else on this page", BAD), indent=2, hang=4)


def _equivalents(page: Page, audit: Audit) -> None:
    if not audit.equivalents:
        return
    page.heading("Left out of the score", "as good as the reference, or impossible to play or judge")
    for reason, number in Counter(each.reason for each in audit.equivalents).most_common(_MOST):
        page.bullet(f"{number:>5}", DIM, clean(reason, 300))
