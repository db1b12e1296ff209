"""What people found in the transcripts: how much was read, whose fault failures were, how far raters agree."""

from __future__ import annotations

import math

from passhat.facts import count
from passhat.reporting._blocks import DIM, Page
from passhat.reporting._text import clean, rate, span
from passhat.summary import NOT_THE_AGENTS, Agreement, Reading, Report

TITLE = "Transcripts read"
_NAMES, _PAIRS = 5, 3


def reading(page: Page, report: Report) -> None:
    """The block of the report; nothing when nobody read anything."""
    rows = reading_rows(report)
    if rows:
        page.heading(TITLE, "by people; labels are beside the grades and never instead of them")
    for label, text in rows:
        page.bullet(f"{label:<9}", DIM, text)


def reading_rows(report: Report) -> list[tuple[str, str]]:
    """A label and a sentence each, in plain text that still has to be escaped for its page."""
    found = report.reading
    if found is None or not found.raters:
        return []
    rows = [("read", _read(found))]
    if found.faults:
        blamed = ", ".join(f"{fault} {number}" for fault, number in found.faults.items())
        rows.append(("fault", f"of the failures read: {blamed}"))
    if contradicted := _contradicted(found):
        rows.append(("verdict", contradicted))
    if found.without is not None:
        rows.append(("pass@1", _without(found, report)))
    rows += [("agree", agreement_words(pair)) for pair in found.agreement[:_PAIRS]]
    if (more := len(found.agreement) - _PAIRS) > 0:
        rows.append(("", f"… {count(more, 'more pair')} of raters; passhat review --agreement shows all"))
    return rows


def _read(found: Reading) -> str:
    names = [clean(name, 40) for name in found.raters[:_NAMES]]
    names += [f"{len(found.raters) - _NAMES} more"] * (len(found.raters) > _NAMES)
    who = f"{count(len(found.raters), 'person', 'people')} ({', '.join(names)})"
    parts = [f"{found.failed_read} of {count(found.failed, 'failure')}"] * bool(found.failed)
    parts.append(f"{found.passed_read} of {count(found.passed, 'pass', 'passes')}")
    parts += [f"{found.missing_read} without a verdict"] * bool(found.missing_read)
    return f"{', '.join(parts)}, by {who}"


def _contradicted(found: Reading) -> str:
    parts = []
    if found.failed_cleared:
        parts.append(f"{count(found.failed_cleared, 'failure')} that people call a pass")
    if found.passed_failed:
        parts.append(f"{count(found.passed_failed, 'pass', 'passes')} that people call a failure")
    return "; ".join(parts)


def _without(found: Reading, report: Report) -> str:
    row = found.without
    assert row is not None
    blamed = " or ".join(fault for fault in found.faults if fault in NOT_THE_AGENTS)
    text = f"{rate(row.estimate)} ({row.c} of {row.n}) without the {count(row.taken_out, 'failure')} blamed on {blamed}"
    text += f", these tasks {span(row.these_tasks)}"
    if row.tasks_like_these is not None:
        text += f", tasks like these {span(row.tasks_like_these)}"
    text += f"; with all trials it is {rate(report.pass_at_1)}"
    if found.failed_read < found.failed:
        text += f" ({found.failed - found.failed_read} failures aren't read)"
    return text


def agreement_words(pair: Agreement) -> str:
    """Two raters in a line.

    >>> agreement_words(Agreement(("ann", "ben"), 20, 18, 0.9, 0.78, (0.5, 1.0)))
    'ann and ben: 18 of 20 alike (90 %), kappa 0.78 (0.50 to 1.00)'
    """
    names = " and ".join(clean(name, 40) for name in pair.raters)
    share = "" if pair.observed is None else f" ({pair.observed * 100:.0f} %)"
    return f"{names}: {pair.agreed} of {pair.n} alike{share}, {kappa_words(pair)}"


def kappa_words(pair: Agreement) -> str:
    """Kappa with its interval, rounded outwards, or why there is none."""
    if pair.kappa is None or pair.interval is None:
        return "kappa undefined: both gave one verdict only" if pair.n else "kappa unknown"
    low, high = math.floor(pair.interval[0] * 100 + 1e-9) / 100, math.ceil(pair.interval[1] * 100 - 1e-9) / 100
    return f"kappa {pair.kappa:.2f} ({low:.2f} to {high:.2f})"
