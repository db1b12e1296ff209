"""Rules about the models that judge: whether they were real, the same throughout, and what they left to people."""

from __future__ import annotations

from collections.abc import Iterator

from passhat.facts import count, named
from passhat.summary._findings._evidence import Evidence
from passhat.summary._report import Finding
from passhat.summary._tables import JudgeRow


def simulated_judge(evidence: Evidence) -> Iterator[Finding]:
    """A real agent isn't measured by a judge that is made up."""
    judging = evidence.report.judging
    names = [row.name for row in _deciding(evidence)]
    if judging is not None and judging.source == "simulated" and evidence.real and names:
        yield Finding(
            "judge-simulated",
            "error",
            f"A simulated judge decided ({named(names)}): it describes no model, so neither do rates that rest on it. "
            "Run with --judge-model PROVIDER/NAME",
        )


def unresolved(evidence: Evidence) -> Iterator[Finding]:
    """Trials that wait for people."""
    for row in _deciding(evidence):
        if row.unresolved:
            yield Finding(
                "judge-unresolved",
                "warning",
                f"The judge {row.name!r} came to no verdict in {row.unresolved} of {count(row.judged, 'trial')}: "
                "people decide those (passhat review); until then they are missing unless another grader failed them",
            )


def changing_judge(evidence: Evidence) -> Iterator[Finding]:
    """Several models answered to the names that were asked."""
    judging = evidence.report.judging
    if judging is not None and len(judging.reported) > max(1, len(judging.models)):
        yield Finding(
            "judge-changed",
            "warning",
            f"{len(judging.reported)} models answered where {count(len(judging.models), 'judge')} was asked "
            f"({named(judging.reported)}): trials were not all judged alike. Name a dated version",
        )


def uncalibrated(evidence: Evidence) -> Iterator[Finding]:
    """What rests on a judge alone."""
    names = [row.name for row in _deciding(evidence)]
    reading = evidence.report.reading
    if names and evidence.real and (reading is None or not reading.raters):
        yield Finding(
            "judge-uncalibrated",
            "note",
            f"Pass and fail rest in part on a model's opinion ({named(names)}), and no person has read a trial: have "
            "some read (passhat review --blind), then passhat calibrate says how far the judge can be trusted",
        )


def _deciding(evidence: Evidence) -> list[JudgeRow]:
    judging = evidence.report.judging
    return [] if judging is None else [row for row in judging.judges if row.role != "advisory"]


RULES = (simulated_judge, unresolved, changing_judge, uncalibrated)
