"""One trial, for reading: what came of it, and everything that happened, in order."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from passhat.facts import RULES, Grading, Task, Transcript, TrialRecord, count
from passhat.reporting._blocks import BAD, DIM, GOOD, STRONG, WARN, Page
from passhat.reporting._console import Look
from passhat.reporting._events import Events
from passhat.reporting._folding import TEXT, Cuts, Fold
from passhat.reporting._judging import samples_of_judge
from passhat.reporting._runs import verdict_text
from passhat.reporting._text import clean, clean_block, dollars, seconds, tokens
from passhat.reporting._traceback import from_their_code

if TYPE_CHECKING:
    from passhat.records import WorkspaceContent


_CHANGES = {"added": ("+", GOOD), "changed": ("~", WARN), "removed": ("-", BAD)}


@dataclass(frozen=True)
class TrialPage:
    """A trial as styled lines that fit a screen; ``folds`` with the line (from 0) on which each says that it is one."""

    lines: list[str]
    folds: list[tuple[int, Fold]]


def trial_page(
    record: TrialRecord,
    transcript: Transcript | None = None,
    *,
    look: Look,
    task: Task | None = None,
    left: WorkspaceContent | None = None,
    opened: Collection[int] = (),
    blind: bool = False,
) -> TrialPage:
    """A trial for reading on a screen: long texts are folded, those in ``opened`` at length.

    ``blind`` leaves out all that graders said, and what follows from it. ``left`` is the workspace that it left.
    """
    page, cuts = Page(look), Cuts(opened=opened)
    _trial(page, cuts, record, transcript, task=task, blind=blind)
    if left is not None:
        _left(page, cuts, left)
    raw = page.raw()
    ends = [place for place, character in enumerate(raw) if character == "\n"]
    return TrialPage(page.text().rstrip("\n").split("\n"), [(bisect_right(ends, f.mark - 1), f) for f in cuts.folds])


def _left(page: Page, cuts: Cuts, left: WorkspaceContent) -> None:
    """What the trial changed in its workspace, or all of it where that isn't known."""
    shown = [file for file in left.files if file.change != ""]
    same = len(left.files) - len(shown)
    if left.compared:
        page.heading("What it changed", "in its workspace")
    else:
        page.heading("What it left", "in its workspace; what it found there isn't known")
    for file in shown:
        sign, style = _CHANGES.get(file.change or "", ("·", DIM))
        size = "" if file.change == "removed" else f"  {count(file.size, 'byte')}"
        page.bullet(sign, style, clean(file.name, 200), (f"  {file.change}" if file.change else "", style), (size, DIM))
        if file.text:
            cuts.block(page, file.text, style=DIM, indent=4)
    if not shown:
        page.line(("nothing" if left.compared else "an empty workspace", DIM), indent=2)
    rest = [f"{count(same, 'file')} as before"] * bool(same) + [f"{count(left.others, 'more file')}"] * bool(
        left.others
    )
    rest += ["the rest is too large to look at"] * (not left.complete)
    if rest:
        page.line((f"… {', '.join(rest)}", DIM), indent=2)


def render_trial(
    record: TrialRecord,
    transcript: Transcript | None = None,
    *,
    task: Task | None = None,
    width: int = 80,
    color: bool = False,
    unicode: bool = True,
    full: bool = False,
) -> str:
    """A trial's verdict, grades, output and transcript as text.

    Long texts and long transcripts are cut, and say so, unless ``full``. ``task`` adds what was asked and expected.
    """
    page = Page(Look(width, color, unicode))
    _trial(page, Cuts(full=full), record, transcript, task=task)
    return page.text()


def _trial(
    page: Page,
    cuts: Cuts,
    record: TrialRecord,
    transcript: Transcript | None,
    *,
    task: Task | None = None,
    blind: bool = False,
) -> None:
    _head(page, record, blind=blind, full=cuts.full)
    if not blind:
        _grades(page, record)
    for note in record.notes:
        page.bullet("·", DIM, (clean(note, 300), DIM))
    if task is not None:
        _value(page, cuts, "Asked", task.input)
        _value(page, cuts, "Expected", task.expected)
    if transcript is not None:
        page.heading("What happened", f"{count(len(transcript.events), 'event')}, seconds since the agent started")
        Events(page, cuts).show(transcript)
    elif record.transcript is None:
        page.gap()
        page.line(("No transcript was recorded for this trial.", DIM))
    _value(page, cuts, "Output", record.output)


def _head(page: Page, record: TrialRecord, *, blind: bool, full: bool) -> None:
    """The trial, its verdict, and what it took; when ``blind`` only what graders had no part in."""
    verdict = verdict_text(record)
    arm = f" ({clean(record.arm, 40)})" if record.arm else ""
    name = (f"{clean(record.task, 200)} #{record.trial}{arm}", STRONG)
    if blind:
        page.line(name, ("  grades hidden", DIM))
        by_grades = RULES[record.status].grading in (Grading.YES, Grading.ALREADY)
        facts = ["completed" if by_grades else record.status.words]
    else:
        page.line(name, "  ", (verdict.plain, f"{STRONG} {verdict.style}"))
        facts = [record.status.words] + ([] if record.score is None else [f"score {record.score:.3g}"])
    facts += [seconds(record.seconds or None)] * bool(record.seconds)
    usage = record.usage
    facts += [count(usage.model_calls, "model call")] * bool(usage.model_calls)
    facts += [f"{tokens(usage.tokens)} tokens"] * (usage.tokens is not None)
    facts += [dollars(usage.dollars)] * (usage.dollars is not None) + [clean(record.model or "", 60)] * bool(
        record.model
    )
    facts.append(f"seed {record.seed}")
    page.line((" · ".join(facts), DIM))
    for attempt in record.attempts:
        reason = clean(attempt.error.message, 200) if attempt.error else ""
        page.bullet("↻", WARN, f"an earlier attempt ended in {attempt.status.words}", (f"  {reason}", DIM), indent=0)
    if record.error is not None:
        error = record.error
        page.gap()
        page.line((clean(error.type or error.kind, 80), f"{STRONG} {BAD}"), f": {clean(error.message, TEXT)}")
        trace = error.traceback if full else from_their_code(error.traceback)
        for line in clean_block(trace, 4 * TEXT).split("\n") if trace else ():
            page.line((line, DIM), indent=2)


def _grades(page: Page, record: TrialRecord) -> None:
    if record.grades:
        page.heading("Grades")
    for grade in record.grades:
        sign, style = ("!", WARN) if grade.passed is None else ("✓", GOOD) if grade.passed else ("✗", BAD)
        if grade.passed is None and grade.judged is not None and grade.judged.verdict is not None:
            sign, style = "·", DIM  # recorded, as it was meant
        said = clean_block(grade.error or grade.reason, TEXT)
        role = "" if grade.role.value == "required" else f" ({grade.role.value})"
        first, *rest = said.split("\n")
        page.bullet(sign, style, (clean(grade.name or "grader", 80), STRONG), (role, DIM), f"  {first}")
        for line in rest:
            page.line(line, indent=6)
        if grade.judged is not None:
            samples_of_judge(page, grade.judged)


def _value(page: Page, cuts: Cuts, title: str, value: Any) -> None:
    if value is None:
        return
    page.heading(title)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if not isinstance(value, str) and not page.fits(text, 2):
        text = json.dumps(value, ensure_ascii=False, indent=1)
    cuts.block(page, text)
