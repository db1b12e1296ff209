"""A verdict as pytest's own reports, under the id of its case."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from _pytest._code.code import ReprFileLocation, TerminalRepr
from _pytest._io import TerminalWriter

from passhat.pytest_plugin._verdict import CaseVerdict

Location = tuple[str, int | None, str]


class VerdictText(TerminalRepr):
    """A failed verdict as the terminal and JUnit show it."""

    def __init__(self, headline: str, text: str, path: str, line: int) -> None:
        self.reprcrash = ReprFileLocation(path, line, headline)
        self._text = text

    def toterminal(self, tw: TerminalWriter) -> None:
        headline, _, rest = self._text.partition("\n")
        tw.line(headline, red=True, bold=True)
        tw.line(rest)
        tw.line(f"\n{self.reprcrash.path}:{self.reprcrash.lineno} is where the test begins")

    def __str__(self) -> str:
        return self._text


class _OfTrials(str):
    """A phase that stands for what happened in trials, in whichever of their phases; pytest's heading says so."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return format("the trials", spec)


def verdict_reports(name: str, location: Location, verdict: CaseVerdict, seconds: float) -> Iterator[pytest.TestReport]:
    """The reports of a test's phases; one that is skipped or an error has no body."""
    early = verdict.outcome in ("error", "skipped") and not verdict.xfail
    for when in ("setup", "teardown") if early else ("setup", "call", "teardown"):
        report = _phase(name, location, verdict, when, seconds, decisive=when == ("setup" if early else "call"))
        if report.failed:
            report.sections += verdict.sections
        yield report


def _phase(
    name: str, location: Location, verdict: CaseVerdict, when: str, seconds: float, *, decisive: bool
) -> pytest.TestReport:
    path, line, _ = location
    outcome: Any = "passed"
    text: Any = None
    if decisive and verdict.outcome in ("error", "failed"):
        outcome, text = "failed", VerdictText(verdict.headline, verdict.text, path, (line or 0) + 1)
    elif decisive and verdict.outcome == "skipped":
        outcome, text = "skipped", (path, (line or 0) + 1, f"Skipped: {verdict.headline}")
    phase: Any = _OfTrials(when) if outcome == "failed" and when == "setup" else when
    properties = list(verdict.properties) if when == "teardown" else []
    report = pytest.TestReport(
        name,
        location,
        {},
        outcome,
        text,
        phase,
        duration=seconds if when == "call" else 0.0,
        user_properties=properties,
    )
    if decisive and verdict.xfail is not None:
        report.wasxfail = verdict.xfail
    return report
