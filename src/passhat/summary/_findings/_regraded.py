"""Rules about reports by other grades than the run's own."""

from __future__ import annotations

from collections.abc import Iterator

from passhat.facts import count, named
from passhat.summary._findings._evidence import Evidence
from passhat.summary._report import Finding


def regraded(evidence: Evidence) -> Iterator[Finding]:
    """The number isn't the one that the run was recorded with."""
    if evidence.report.regrade is None:
        return
    yield Finding(
        "regraded",
        "note",
        f"These are the grades of the regrade {evidence.report.regrade}, not the run's own: say so beside the number",
    )


def not_regraded(evidence: Evidence) -> Iterator[Finding]:
    """Trials that the changed graders couldn't judge."""
    number = evidence.tally.not_regraded
    if number:
        yield Finding(
            "not-regraded",
            "warning",
            f"{count(number, 'trial')} could not be judged again (passhat regrade says why of each): they have no "
            "verdict, or are failures without a score where they would be failures in any case",
        )


def by_changed_code(evidence: Evidence) -> Iterator[Finding]:
    """An agent could have written what judged it."""
    found = evidence.tally.changed_code
    if found:
        files, number = list(found), max(found.values())
        yield Finding(
            "regraded-by-changed-code",
            "warning",
            f"Code that changed since the run began, by you or by an agent, judged {count(number, 'trial')}: "
            f"{named(files)}; look at it before you believe these grades",
        )


RULES = (regraded, by_changed_code, not_regraded)
