"""Decides cases, in the process that reports: the only one, or xdist's controller."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import pytest
from _pytest._code.code import ReprFileLocation, TerminalRepr
from _pytest._io import TerminalWriter

from passhat.facts import ModelSource, TaskGate
from passhat.pytest_plugin._cases import case_of, without_group
from passhat.pytest_plugin._looks import Looks, describe_session
from passhat.pytest_plugin._outline import Outline, places_of
from passhat.pytest_plugin._parts import FAILURES, Part
from passhat.pytest_plugin._recording import Recording
from passhat.pytest_plugin._trial_parts import TrialParts
from passhat.pytest_plugin._verdict import CaseVerdict, decide_case, load_ahead

_LISTED = 50  # from here on only cases that did not pass are listed


class _Case:
    """What has arrived of one case."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.expected: dict[str, int] = {}  # the numbers of its trials, by node id
        self.finished: set[int] = set()
        self.trials: dict[int, TrialParts] = {}
        self.location: tuple[str, int | None, str] = (name.partition("::")[0], None, name)

    def take(self, part: Part) -> None:
        trial = self.trials.get(part.number)
        if trial is None:
            trial = self.trials[part.number] = TrialParts(self.name, part.number)
        trial.take(part)

    @property
    def over(self) -> bool:
        return len(self.finished) == len(self.expected)


class VerdictText(TerminalRepr):
    """A failed verdict as the terminal and JUnit show it."""

    def __init__(self, headline: str, text: str, path: str, line: int) -> None:
        self.reprcrash = ReprFileLocation(path, line, headline)
        self._text = text

    def toterminal(self, tw: TerminalWriter) -> None:
        headline, _, rest = self._text.partition("\n")
        tw.line(headline, red=True, bold=True)
        tw.line(rest)
        tw.line(f"\n{self.reprcrash.path}:{self.reprcrash.lineno}")

    def __str__(self) -> str:
        return self._text


class Deciding:
    """Collects what trials say and reports a verdict under the case's own id when its last trial has finished."""

    def __init__(self, config: pytest.Config, session: pytest.Session, ids: Iterable[str]) -> None:
        self._config = config
        self._session = session
        self.cases: dict[str, _Case] = {}
        self._verdicts: dict[str, CaseVerdict] = {}
        manifest = describe_session(config)
        self._looks = Looks(config, manifest)
        known = {without_group(name) for name in ids}
        self._trials: dict[str, _Case] = {}  # by node id
        for name in ids:
            found = case_of(name)
            if found is not None and found[0] in known:
                case = self.cases.get(found[0])
                if case is None:
                    case = self.cases[found[0]] = _Case(found[0])
                case.expected[name] = found[1]
                self._trials[name] = case
        sizes = {name: len(case.expected) for name, case in self.cases.items()}
        self._recording = Recording(config, manifest, Outline(sizes, places_of(getattr(session, "items", ()))))
        if self.cases:
            load_ahead()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        verdict = report.__dict__.pop("passhat_verdict", None)
        if verdict is not None:  # a fixture that trials share failed at its end
            report.nodeid, report.location = verdict, _case_location(report.location, verdict)
            return
        data = report.__dict__.pop("passhat", None)
        if data is not None:
            part = data if isinstance(data, Part) else Part.unpacked(data)
            report.__dict__["passhat_kind"] = part.kind
            case = self.cases.get(part.case)
            if case is not None and not case.over:
                if not case.trials:
                    case.location = _case_location(report.location, part.case)
                case.take(part)
        elif str(report.when) == "???":
            self._lost(report)

    def _lost(self, report: pytest.TestReport) -> None:
        """A worker died in a trial: the trial is missing."""
        case = self._trials.get(report.nodeid)
        if case is None:
            return
        number = case.expected[report.nodeid]
        message = "the process that ran it died"
        case.take(Part(case.name, number, "???", "interrupted", message, text=report.longreprtext))
        report.__dict__["passhat_kind"] = "interrupted"
        report.outcome = "skipped"
        report.longrepr = (case.name.partition("::")[0], 1, f"trial without a verdict: {message}")
        self._finished(case, number)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        case = self._trials.get(nodeid)
        if case is not None:
            self._finished(case, case.expected[nodeid])

    def _finished(self, case: _Case, number: int) -> None:
        if number in case.finished or number not in case.trials:
            return
        case.finished.add(number)
        self._recording.add(case.trials[number])
        if case.over:
            self._report(case, self._decided(case))
            case.trials.clear()  # a session may have very many

    def _decided(self, case: _Case) -> CaseVerdict:
        trials = [case.trials[number] for number in sorted(case.trials)]
        sources = {part.source for trial in trials for part in trial.parts} - {"unseen"}
        source = "mixed" if len(sources) > 1 else next(iter(sources), "unseen")
        first = trials[0].parts[0]
        looks = self._looks.at(first.gate, first.task or case.name, first.arm)
        policy = self._config.getoption("passhat_undecided")
        who = msgspec.convert(source, ModelSource)
        self._recording.decided(first.arms, _task_gate(case.name, trials, policy, who))
        return decide_case(case.name, trials, policy, who, looks)

    def _report(self, case: _Case, verdict: CaseVerdict) -> None:
        self._verdicts[case.name] = verdict
        hook = self._config.hook
        hook.pytest_runtest_logstart(nodeid=case.name, location=case.location)
        seconds = sum(part.seconds for trial in case.trials.values() for part in trial.parts if part.when == "call")
        for when in ("setup", "call", "teardown"):
            report = self._phase(case, verdict, when, seconds)
            if report is not None:
                hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=case.name, location=case.location)
        if hasattr(self._config, "workerinput") or not self._config.pluginmanager.has_plugin("dsession"):
            return
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)

    def _phase(self, case: _Case, verdict: CaseVerdict, when: str, seconds: float) -> pytest.TestReport | None:
        path, line, _ = case.location
        outcome: Any = "passed"
        text: Any = None
        decisive = when == ("setup" if verdict.outcome in ("error", "skipped") and not verdict.xfail else "call")
        if verdict.outcome in ("error", "skipped") and when == "call" and not verdict.xfail:
            return None
        if decisive and verdict.outcome in ("error", "failed"):
            outcome, text = "failed", VerdictText(verdict.headline, verdict.text, path, (line or 0) + 1)
        elif decisive and verdict.outcome == "skipped":
            outcome, text = "skipped", (path, (line or 0) + 1, f"Skipped: {verdict.headline}")
        properties = list(verdict.properties) if when == "teardown" else []
        report = pytest.TestReport(
            case.name,
            case.location,
            {},
            outcome,
            text,
            when,  # type: ignore[arg-type]
            duration=seconds if when == "call" else 0.0,
            user_properties=properties,
        )
        if decisive and verdict.xfail is not None:
            report.wasxfail = verdict.xfail
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """Trials are progress, not results: they are in no count of the last line."""
        kind = getattr(report, "passhat_kind", None)
        if kind is None:
            return None
        if report.when not in ("call", "???") and kind == "passed":
            return "", "", ""
        if kind in FAILURES:
            return "", "f", "trial failed"
        letter, word = {
            "passed": (".", "trial passed"),
            "skipped": ("s", "trial skipped"),
            "not_needed": ("s", "trial not needed"),
        }.get(kind, ("?", "trial without a verdict"))
        return "", letter, word

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        lines = [(name, verdict.headline) for name, verdict in self._verdicts.items() if verdict.report is not None]
        if not lines:
            return
        terminalreporter.section("trials, with two-sided 95 % intervals", sep="-", blue=True)
        if len(lines) > _LISTED:
            quiet = {name for name, verdict in self._verdicts.items() if verdict.outcome == "passed"}
            lines = [(name, headline) for name, headline in lines if name not in quiet]
            terminalreporter.line(f"{len(quiet)} cases passed; they are in the report")
        for name, headline in lines:
            terminalreporter.line(f"{name}  {headline}")
            for line in wrapped(self._verdicts[name].aside, terminalreporter._tw.fullwidth):
                terminalreporter.line(line)
        for line in self._recording.closing_lines():
            terminalreporter.line(line)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        whole = all(case.over for case in self.cases.values())
        self._recording.close(whole=whole, files=self._looks.manifest().files)


def wrapped(text: str, width: int) -> list[str]:
    """Lines below a verdict, indented."""
    return textwrap.wrap(text, max(40, width), initial_indent="    ", subsequent_indent="    ", break_long_words=False)


def _task_gate(case: str, trials: Sequence[TrialParts], policy: str | None, source: ModelSource) -> TaskGate:
    """The rule of a case, as its record keeps it."""
    parts = [part for trial in trials for part in trial.parts]
    first = parts[0]
    broken = next((part.message for part in parts if part.kind == "broken"), "")
    xfail: Any = "must fail" if any(part.strict for part in parts) else ""
    if not xfail and any(part.xfail is not None for part in parts):
        xfail = "may fail"
    undecided: Any = policy or first.undecided or "fail"
    return TaskGate(first.task or case, first.rule, first.arm, undecided, source, xfail, broken)


def _case_location(location: tuple[str, int | None, str], case: str) -> tuple[str, int | None, str]:
    """The trial's location, with the domain of its case."""
    path, line, domain = location
    found = case_of(domain)
    return path, line, domain if found is None else found[0]
