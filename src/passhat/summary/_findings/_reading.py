"""Rules about what people found in the transcripts, or didn't look for."""

from __future__ import annotations

from collections.abc import Iterator

from passhat.facts import count, named
from passhat.summary._findings._evidence import Evidence
from passhat.summary._reading import NOT_THE_AGENTS
from passhat.summary._report import Finding

_LARGE = 0.1  # from this share on, what people found changes what the rate means


def nobody_read(evidence: Evidence) -> Iterator[Finding]:
    """A score is believed after its failures were read."""
    reading = evidence.report.reading
    if reading is None or not (evidence.evaluates and evidence.real):
        return
    if reading.failed and not reading.failed_read:
        which = "the failed transcript" if reading.failed == 1 else f"any of the {reading.failed} failed transcripts"
        yield Finding(
            "no-failure-read",
            "note",
            f"Nobody has read {which}: some failures may be the task's, the grader's or the environment's fault and "
            "not the agent's; passhat review shows them one by one",
        )


def not_the_agents(evidence: Evidence) -> Iterator[Finding]:
    """Failures that are somebody else's fault are to be mended before the rate is the agent's."""
    reading = evidence.report.reading
    if reading is None or not reading.failed_read:
        return
    faults = {fault: reading.faults[fault] for fault in NOT_THE_AGENTS if fault in reading.faults}
    total = sum(faults.values())
    if total < _LARGE * reading.failed_read:
        return
    parts = named(f"the {fault}" + f" ({number})" * (len(faults) > 1) for fault, number in faults.items())
    yield Finding(
        "failures-not-the-agents",
        "warning",
        f"Of {count(reading.failed_read, 'failure')} that people read, {count(total, 'is', 'are')} blamed "
        f"on {parts} and not on the agent: mend what is wrong there and run again",
    )


def wrong_passes(evidence: Evidence) -> Iterator[Finding]:
    """A grader that lets wrong results through makes every rate too high."""
    reading = evidence.report.reading
    if reading is None or not reading.passed_failed or reading.passed_failed < _LARGE * reading.passed_read:
        return
    yield Finding(
        "passes-people-fail",
        "warning",
        f"Of {count(reading.passed_read, 'passed trial')} that people read, they call {reading.passed_failed} a "
        "failure: a grader lets wrong results through, and the rates are too high",
    )


RULES = (nobody_read, not_the_agents, wrong_passes)
