"""A regrade as an engineer reads it: which verdicts flipped and why, what couldn't be judged, and how to report it."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import TYPE_CHECKING

from rich.text import Text

from passhat.facts import count
from passhat.reporting._blocks import BAD, DIM, GOOD, STRONG, WARN, Cell, Column, Page
from passhat.reporting._console import Look
from passhat.reporting._text import clean, dollars, rate, span

if TYPE_CHECKING:
    from passhat.running import Flip, GradeChange, Regraded

_WORDS = {True: "pass", False: "fail", None: "no verdict"}
_SIGNS = {True: ("✓", GOOD), False: ("✗", BAD), None: ("?", WARN)}
_MOST = 20
_REASONS = 6


def render_regraded(
    regraded: Regraded,
    *,
    run: str | None = None,
    width: int = 80,
    color: bool = False,
    unicode: bool = True,
    most: int = _MOST,
) -> str:
    """The regrade as text for a terminal ``width`` columns wide; ``run`` is what commands call the run.

    At most ``most`` flips are shown with their reasons. Text from tasks and graders can't touch the terminal.
    """
    page = Page(Look(width, color, unicode))
    _head(page, regraded)
    _flips(page, regraded, most)
    _not_judged(page, regraded)
    _rates(page, regraded)
    _next(page, regraded, run or regraded.run)
    return page.text()


def _head(page: Page, regraded: Regraded) -> None:
    page.line((clean(regraded.suite, 100), STRONG), "  graded again; no agent ran and the run stays as it is")
    page.line((f"run {clean(regraded.run, 200)} · isolation {clean(regraded.isolation, 30)}", DIM))
    page.gap()
    parts = [f"{count(regraded.judged, 'trial')} judged again"]
    parts += [f"{len(regraded.not_judged):,} can't be judged again"] * bool(regraded.not_judged)
    parts += [f"{regraded.unreached:,} not reached"] * bool(regraded.unreached)
    parts += [f"{regraded.without:,} that no grader looks at"] * bool(regraded.without)
    page.line(", ".join(parts))
    for word, style in (("changed", WARN), ("new", WARN), ("gone", WARN), ("same", DIM), ("kept", DIM)):
        names = [clean(name, 100) for name, said in regraded.graders.items() if said == word]
        if names:
            about = " (grades of the run)" if word == "kept" else ""
            page.line((f"{word}{about}: ", style), ", ".join(names), indent=2, hang=4)
    dated = tuple(f"{name} {regraded.changed_at.get(name, '')}".rstrip() for name in regraded.files_changed)
    for words, found, then in (
        (
            "changed since the run began, by you or by an agent: ",
            dated,
            "; look at what you didn't change yourself before you believe these grades",
        ),
        ("another expected answer: ", regraded.other_answers, ""),
    ):
        if found:
            more = len(found) - _REASONS
            rest = f" and {more} more" if more > 0 else ""
            shown = ", ".join(clean(each, 100) for each in found[:_REASONS])
            page.line((words, WARN), f"{shown}{rest}{then}", indent=2, hang=4)
    if regraded.judge_models != regraded.judge_models_then:
        before, now = (
            ", ".join(map(clean, names)) or "none" for names in (regraded.judge_models_then, regraded.judge_models)
        )
        page.line(("other judges: ", WARN), f"then {before}, now {now}", indent=2, hang=4)
    if regraded.judge_calls:
        spent = f" for {dollars(regraded.dollars)}" if regraded.dollars is not None else ""
        page.line((f"judges were asked {count(regraded.judge_calls, 'time')}{spent}", DIM), indent=2)


def _flips(page: Page, regraded: Regraded, most: int) -> None:
    now = Counter(flip.after for flip in regraded.flips)
    page.heading("Flips", f"+{now[True]:,} / −{now[False]:,}" + (f" / ?{now[None]:,}" if now[None] else ""))
    if not regraded.flips:
        score = f"; {count(regraded.scores_changed, 'score')} changed" if regraded.scores_changed else ""
        page.line(f"none: every verdict is what it was{score}", indent=2)
        return
    columns = [Column("task", shrinks=True, most=40), Column("pass now", "right"), Column("fail now", "right")]
    rows: list[list[Cell]] = [
        [clean(row.task, 200), Text(f"+{row.pass_now}", GOOD), Text(f"−{row.fail_now}", BAD)]
        for row in regraded.by_task[:most]
    ]
    if now[None]:
        columns.append(Column("no verdict now", "right"))
        rows = [[*row, Text(f"?{each.without_now}", WARN)] for row, each in zip(rows, regraded.by_task, strict=False)]
    page.columns(columns, rows)
    if len(regraded.by_task) > most:
        page.line((f"… {len(regraded.by_task) - most} more tasks", DIM), indent=2)
    page.gap()
    for flip in regraded.flips[:most]:
        _flip(page, flip)
    if len(regraded.flips) > most:
        page.line((f"… {count(len(regraded.flips) - most, 'more flip')}; see --json", DIM), indent=2)


def _flip(page: Page, flip: Flip) -> None:
    sign, style = _SIGNS[flip.after]
    arm = f"{clean(flip.arm, 40)}: " if flip.arm else ""
    words = f"{_WORDS[flip.before]} → {_WORDS[flip.after]}"
    page.bullet(sign, style, f"{arm}{clean(flip.task, 100)} #{flip.trial}  ", (words, style))
    for grade in flip.grades:
        page.line((clean(grade.grader, 100), STRONG), indent=4)
        for when, passed, why in _both(grade):
            text = f"{when}: {_WORDS[passed]}" + (f", {clean(why, 300)}" if why else "")
            page.line((text, DIM if when == "then" else ""), indent=6, hang=11)


def _both(grade: GradeChange) -> list[tuple[str, bool | None, str]]:
    return [("then", grade.before, grade.why_before), ("now", grade.after, grade.why_after)]


def _not_judged(page: Page, regraded: Regraded) -> None:
    if not regraded.not_judged:
        return
    page.heading("Can't be judged again", "no verdict, or a failure without a score if it timed out")
    reasons = Counter(each.why for each in regraded.not_judged)
    for why, number in reasons.most_common(_REASONS):
        trials = [f"{clean(each.task, 60)} #{each.trial}" for each in regraded.not_judged if each.why == why]
        more = f" and {len(trials) - 3} more" if len(trials) > 3 else ""
        page.bullet("·", WARN, f"{number} × {clean(why, 300)}", (f"  {', '.join(trials[:3])}{more}", DIM))
    if len(reasons) > _REASONS:
        page.line((f"… {len(reasons) - _REASONS} more reasons; see --json", DIM), indent=2)


def _rates(page: Page, regraded: Regraded) -> None:
    page.heading("pass@1", "by the run's own grades, and by these")
    columns = [Column("", most=40, shrinks=True), Column("rate", "right"), Column("these tasks", "right")]
    columns += [Column("trials", "right", drops=1), Column("missing", "right")]
    rows: list[list[Cell]] = []
    for row in regraded.rates:
        sides = (
            ("then", row.before, row.counted_before, row.missing_before),
            ("now", row.after, row.counted_after, row.missing_after),
        )
        for when, found, counted, missing in sides:
            name = f"{clean(row.arm, 40)}, {when}" if row.arm else when
            shown = Text(rate(found.estimate if found else None), STRONG if when == "now" else "")
            known = Text(span(found.these_tasks if found else None), DIM)
            left = Text(str(missing), BAD) if missing else Text("–", DIM)
            rows.append([name, shown, known, str(counted), left])
    page.columns(columns, rows)


def _next(page: Page, regraded: Regraded, run: str) -> None:
    page.gap()
    if regraded.interrupted:
        page.line(("Interrupted: ", WARN), "these grades are complete for the trials that they have.")
    page.line("Report the run by these grades, and say beside the number that they are a regrade's:")
    page.whole(f"passhat report {shlex.quote(clean(run))} --grades {shlex.quote(clean(regraded.id))}", indent=2)
