"""Judges in a report: which models judged, what they spent, and what they leave to people."""

from __future__ import annotations

from passhat.facts import Judged, count
from passhat.reporting._blocks import DIM, Page
from passhat.reporting._text import clean, dollars, tokens
from passhat.summary import JudgeRow, Judging, Report

TITLE = "Judged by a model"
_NAMES = 3
_LABEL = 24
_SAMPLES = 9


def judging(page: Page, report: Report) -> None:
    """The block of the report; nothing where no model judged."""
    rows = judging_rows(report)
    if rows:
        page.heading(TITLE, "opinions until calibrated against people: passhat calibrate")
    width = min(_LABEL, max((len(label) for label, _ in rows), default=0))
    for label, text in rows:
        page.bullet(f"{clean(label, _LABEL):<{width}}", DIM, text)


def judging_rows(report: Report) -> list[tuple[str, str]]:
    """A label and a sentence each, in plain text that still has to be escaped for its page."""
    found = report.judging
    if found is None:
        return []
    return [("judge", _who(found)), ("spent", _spent(found)), *((row.name, _said(row)) for row in found.judges)]


def _who(found: Judging) -> str:
    asked = ", ".join(clean(name, 60) for name in found.models[:_NAMES]) or "unknown"
    known = {name.partition("/")[2] for name in found.models}
    others = [name for name in found.reported if name not in known]
    said = f"; answered as {', '.join(clean(name, 60) for name in others[:_NAMES])}" if others else ""
    source = {"simulated": ", simulated: no real judge", "replayed": ", replayed from a cassette"}
    return f"{asked}{source.get(found.source or '', '')}{said}"


def _spent(found: Judging) -> str:
    def most(name: str) -> str:
        return "at least " if name in found.partial else ""

    amounts = f"{most('tokens')}{tokens(found.tokens)} tokens, {most('dollars')}{dollars(found.dollars)}"
    return f"{count(found.model_calls, 'call')}, {amounts}; not part of what the agent spent"


def _said(row: JudgeRow) -> str:
    if row.kind == "score":
        parts = [f"{row.verdicts[level]} at level {level}" for level in sorted(row.verdicts, key=int)]
    else:
        parts = [f"{number} {clean(word, 40)}" for word, number in row.verdicts.items()]
    parts += [f"{row.unasked} failed unasked (empty answer)"] * bool(row.unasked)
    parts += [f"{row.unresolved} unresolved, for people"] * bool(row.unresolved)
    parts += [_errors(row)] * bool(row.errors)
    text = f"{count(row.judged, 'trial')}: {', '.join(parts)}" + " (advisory)" * (row.role == "advisory")
    beside = [f"{row.disputed} with samples that differ"] * bool(row.disputed)
    beside += [f"{row.asked_again} asked again for an answer in another form"] * bool(row.asked_again)
    beside += [f"{row.altered} whose text was cut or had hidden characters"] * bool(row.altered)
    if row.example is not None:
        beside.append(f"read first: {clean(row.example.task, 60)} #{row.example.trial}")
    return f"{text}; {'; '.join(beside)}" if beside else text


def _errors(row: JudgeRow) -> str:
    text = f"{count(row.errors, 'error')} without a verdict"
    if not row.failed_anyway:
        return text
    which = "all" if row.failed_anyway == row.errors else f"{row.failed_anyway}"
    return f"{text} ({which} in trials that another grader failed: passhat resume doesn't ask again)"


def samples_of_judge(page: Page, judged: Judged) -> None:
    """What each answer of a judge said and quoted; nothing where one answer says what the grade says."""
    one = len(judged.samples) == 1 and not judged.samples[0].evidence
    for sample in () if one else judged.samples[:_SAMPLES]:
        quotes = " ".join(f"“{clean(quote, 100)}”" for quote in sample.evidence[:2])
        order = f" ({sample.order})" if sample.order else ""
        said = "  ".join(part for part in (clean(sample.reason, 200), quotes) if part)
        page.line((f"{clean(sample.verdict, 40)}{order}  ", ""), (said, DIM), indent=6, hang=8)
    if (more := len(judged.samples) - _SAMPLES) > 0:
        page.line((f"… {count(more, 'more sample')}; see the trial's record", DIM), indent=6)
    for note in judged.notes:
        page.line((clean(note, 200), DIM), indent=6)
