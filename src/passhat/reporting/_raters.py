"""How far raters agree, and on which trials they don't; and a plan of who reads what."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rich.text import Text

from passhat.facts import Label, count
from passhat.reporting._blocks import DIM, STRONG, WARN, Cell, Column, Page
from passhat.reporting._console import Look
from passhat.reporting._reading import agreement_words, kappa_words
from passhat.reporting._text import clean
from passhat.reviewing import RaterPair, ReadingPlan
from passhat.summary import Agreement

_ROWS = 30


def render_raters(
    pairs: Sequence[RaterPair],
    *,
    run: str = "",
    grader: str = "",
    width: int = 80,
    color: bool = False,
    unicode: bool = True,
) -> str:
    """Every two raters: agreement and kappa, by tag, and the trials on which they differ with what each said."""
    page = Page(Look(width, color, unicode))
    about = f"on {clean(grader, 80)}" if grader else "on whole trials"
    if not pairs:
        page.line(f"No trial was judged by two people {about}: there is no agreement to measure.")
        return page.text()
    page.line(("Agreement of raters ", STRONG), (about, DIM))
    for pair in pairs:
        _pair(page, pair)
    page.gap()
    page.line(("kappa: agreement beyond chance, 1 is full and 0 is chance; 95 % intervals", DIM))
    if run and (first := next((pair.differences[0] for pair in pairs if pair.differences), None)) is not None:
        page.gap()
        page.whole(f"passhat show {shlex.quote(clean(run))} {shlex.quote(clean(first.task))} {first.trial}")
        page.line(("read one on which they differ", DIM), indent=2)
    return page.text()


def _pair(page: Page, pair: RaterPair) -> None:
    page.gap()
    page.line((agreement_words(pair.agreement), STRONG), hang=2)
    if pair.both_blamed:
        text = f"the same fault in {pair.same_fault} of {count(pair.both_blamed, 'trial')} for which both named one"
        page.line(text, indent=2)
    if pair.by_tag:
        rows: list[list[Cell]] = [
            [clean(row.tag, 60), f"{row.agreement.agreed}/{row.agreement.n}", Text(_short(row.agreement), DIM)]
            for row in pair.by_tag
        ]
        page.columns([Column("tag", shrinks=True, most=34), Column("alike", "right"), Column("kappa")], rows)
    if pair.tasks:
        named = [f"{clean(task, 60)} ({number})" for task, number in list(pair.tasks.items())[:8]]
        rest = f" and {len(pair.tasks) - 8} more" if len(pair.tasks) > 8 else ""
        page.line(f"their verdicts differ on {', '.join(named)}{rest}", indent=2, hang=4)
    rows = [
        [f"{clean(each.task, 60)} #{each.trial}", *(Text(_said(label), WARN) for label in each.labels)]
        for each in pair.differences[:_ROWS]
    ]
    if rows:
        names = [clean(name, 24) for name in pair.agreement.raters]
        columns = [Column("they differ on", shrinks=True, most=40, least=10)]
        page.columns([*columns, *(Column(name, shrinks=True, most=40, least=8) for name in names)], rows)
    if len(pair.differences) > _ROWS:
        page.line((f"… {len(pair.differences) - _ROWS} more", DIM), indent=2)


def _short(pair: Agreement) -> str:
    return kappa_words(pair).removeprefix("kappa ")


def _said(label: Label) -> str:
    text = label.verdict + (f" ({label.fault})" if label.fault else "")
    return text + (f": {clean(label.note, 80)}" if label.note else "")


def render_reading_plan(
    plan: ReadingPlan,
    *,
    run: str = "",
    file: str = "",
    width: int = 80,
    color: bool = False,
    unicode: bool = True,
) -> str:
    """How a sample was drawn, from which strata, and how many each reader reads."""
    page = Page(Look(width, color, unicode))
    page.line(
        (f"{count(len(plan.items), 'trial')} of {plan.eligible:,}", STRONG),
        f", at random within {' × '.join(plan.by) or 'the whole run'}",
    )
    if plan.allocation == "proportional":
        page.line(("each with the same probability: plain shares of the sample estimate the run's", DIM))
    else:
        page.line(
            (
                "the same number a stratum: plain shares mislead, passhat calibrate weighs by probability",
                DIM,
            )
        )
    rows: list[list[Cell]] = [
        [clean(name, 80) or "all", str(drawn), str(size), f"{drawn / size * 100:.0f} %"]
        for name, (drawn, size) in sorted(plan.strata.items(), key=lambda item: -item[1][1])[:_ROWS]
    ]
    page.gap()
    columns = [Column("stratum", shrinks=True, most=50), Column("drawn", "right"), Column("of", "right")]
    page.columns([*columns, Column("share", "right", drops=1)], rows)
    if len(plan.strata) > _ROWS:
        page.line((f"… {len(plan.strata) - _ROWS} more strata", DIM), indent=2)
    none = sum(drawn == 0 for drawn, _ in plan.strata.values())
    if none:
        page.bullet("!", WARN, f"{count(none, 'stratum', 'strata')} of {len(plan.strata)} gave no trial: draw more, or")
        page.line("name fewer things to stratify by", indent=4)
    _readers(page, plan, run, file)
    return page.text()


def _readers(page: Page, plan: ReadingPlan, run: str, file: str) -> None:
    if plan.readers:
        page.heading("Who reads what", f"{count(plan.overlap, 'trial')} by two, to measure agreement")
    for reader in plan.readers:
        number = sum(reader in item.readers for item in plan.items)
        page.line(f"{number:>4}  {clean(reader, 60)}", indent=2)
    if file:
        rater = shlex.quote(clean(plan.readers[0])) if plan.readers else "NAME"
        page.heading("Next")
        page.whole(
            f"passhat review {shlex.quote(clean(run))} --plan {shlex.quote(clean(file))} --rater {rater}", indent=2
        )
