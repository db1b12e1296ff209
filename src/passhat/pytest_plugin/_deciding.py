"""Decides cases, in the process that reports: the only one, or xdist's controller."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import pytest

from passhat.facts import ModelSource, TaskGate
from passhat.pytest_plugin._case_parts import CaseParts
from passhat.pytest_plugin._cases import case_of, without_group
from passhat.pytest_plugin._closing import write_closing
from passhat.pytest_plugin._environment import host_environment
from passhat.pytest_plugin._failed_trial import with_evidence
from passhat.pytest_plugin._items import Case
from passhat.pytest_plugin._kept_reports import KeptReports
from passhat.pytest_plugin._keys import CASE
from passhat.pytest_plugin._looks import Looks, describe_session
from passhat.pytest_plugin._outline import Outline, places_of
from passhat.pytest_plugin._parts import FAILURES, Part
from passhat.pytest_plugin._recording import Recording
from passhat.pytest_plugin._trial_parts import TrialParts
from passhat.pytest_plugin._verdict import CaseVerdict, cut_short, decide_case, load_ahead
from passhat.pytest_plugin._verdict_reports import verdict_reports
from passhat.running import secrets_of

_ENDED_BY_ITSELF = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
_GREEN = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)  # what some CI systems let through


class Deciding:
    """Collects what trials say and reports a verdict under the case's own id when its last trial has finished."""

    def __init__(self, config: pytest.Config, session: pytest.Session, ids: Iterable[str]) -> None:
        self._config = config
        self._session = session
        self.cases: dict[str, CaseParts] = {}
        self._without_verdict: dict[str, CaseParts] = {}  # trials asked for by name, or those of a case that was cut
        self._trials: dict[str, CaseParts] = {}  # by node id
        self._verdicts: dict[str, CaseVerdict] = {}
        self._deaths = 0  # of workers
        self._exit: str | None = None  # what pytest.exit said
        self._cut = False  # whether a case was called off at the session's end
        self._kept = KeptReports(config)
        manifest = describe_session(config)
        self._secrets = secrets_of(host_environment(config))
        self._looks = Looks(config, manifest)
        self._expect(ids)
        items = getattr(session, "items", ())
        self._declared: dict[str, Case] = {item.nodeid: item.stash[CASE] for item in items if CASE in item.stash}
        sizes = {case.name: case.n for case in (*self.cases.values(), *self._without_verdict.values())}
        self._recording = Recording(config, manifest, Outline(sizes, places_of(items)))
        if self.cases:
            load_ahead()

    def _expect(self, ids: Iterable[str]) -> None:
        """Learn the session's trials; a case has as many as their ids say, whichever of them the session has."""
        known = {without_group(name) for name in ids}
        for name in ids:
            found = case_of(name)
            if found is None:
                continue
            case_name, number, n = found
            among = self.cases if case_name in known else self._without_verdict
            case = among.get(case_name)
            if case is None:
                case = among[case_name] = CaseParts(case_name, n)
            if among is self.cases:
                if name in case.numbers:
                    raise pytest.UsageError(
                        f"{case_name} is collected more than once, and its trials would have the same names: name "
                        "each path once, without --keep-duplicates; for more trials say --trials N"
                    )
                self._trials[name] = case
            case.numbers[name] = number

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._kept.next(report, of_trial=report.nodeid in self._trials)
        verdict = report.__dict__.pop("passhat_verdict", None)
        if verdict is not None:  # a fixture that trials share failed at its end
            report.nodeid, report.location = verdict, _case_location(report.location, verdict)
            return
        data = report.__dict__.pop("passhat", None)
        if data is not None:
            part = data if isinstance(data, Part) else Part.unpacked(data)
            report.__dict__["passhat_kind"] = part.kind
            case = self.cases.get(part.case) or self._found_late(part.case)
            if case is not None and not case.over:
                if not case.trials:
                    case.location = _case_location(report.location, part.case)
                case.take(part)
        elif str(report.when) == "???":
            self._lost(report)

    def _found_late(self, name: str) -> CaseParts | None:
        """A case whose verdict a hook took out of the session, while its trials run."""
        case = self._without_verdict.pop(name, None)
        if case is not None:
            self.cases[name] = case
            self._trials.update(dict.fromkeys(case.numbers, case))
        return case

    def _lost(self, report: pytest.TestReport) -> None:
        """A worker died in a trial: the trial is missing."""
        case = self._trials.get(report.nodeid)
        if case is None:
            return
        number, message = case.numbers[report.nodeid], "the process that ran it died"
        case.lose(number, message, report.longreprtext)
        report.__dict__["passhat_kind"] = "interrupted"
        report.outcome = "skipped"
        report.longrepr = (case.name.partition("::")[0], 1, f"trial without a verdict: {message}")
        self._finished(case, number)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        case = self._trials.get(nodeid)
        if case is not None:
            self._finished(case, case.numbers[nodeid])

    def _finished(self, case: CaseParts, number: int) -> None:
        if number in case.finished or number not in case.trials:
            return
        case.finished.add(number)
        case.keep(case.trials[number])
        if number not in case.lost:
            self._recording.add(case.trials[number])
        if case.over:
            self._report(case, self._decided(case))
            self._stop_if_asked()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, error: object | None) -> None:
        self._deaths += error is not None

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        if isinstance(excinfo.value, pytest.exit.Exception):
            self._exit = str(excinfo.value.msg)

    @pytest.hookimpl(specname="pytest_sessionfinish", tryfirst=True)
    def pytest_sessionfinish_begins(self, session: pytest.Session, exitstatus: int) -> None:
        """A session that wasn't stopped on purpose owes each case a verdict, and isn't green while one is out."""
        if exitstatus in _GREEN and any(verdict.outcome in ("failed", "error") for verdict in self._verdicts.values()):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED  # pytest.exit(returncode=0) came after a verdict
        open_cases = [case for case in self.cases.values() if not case.over]
        if exitstatus not in _ENDED_BY_ITSELF or session.shouldfail or not open_cases:
            return
        self._cut = True
        for case in open_cases:
            why, declared = self._why_missing(case), self._declared.get(case.name)
            if case.known is None and declared is not None:
                case.known = _said_of(declared)
            missing = case.end(why)
            self._report(case, cut_short(self._decided(case, cut=True), missing, case.n, why))
            if session.shouldfail:
                break  # so many failures were to be told, as in a session that -x or --maxfail stopped
        if session.exitstatus in _GREEN:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _why_missing(self, case: CaseParts) -> str:
        if self._exit is not None:
            return f"pytest.exit ended the session: {self._exit}"
        if self._deaths:
            workers = "1 worker" if self._deaths == 1 else f"{self._deaths} workers"
            return f"{workers} died, and none was left to go on (see --max-worker-restart)"
        present = {item.nodeid for item in getattr(self._session, "items", ())}
        if len(case.numbers) < case.n or not (present.issuperset(case.numbers) or self._distributes):
            return "a hook took trials out of the session after they were collected"
        return "no report of them came, though the session ended by itself: look for a hook that chooses what runs"

    @property
    def _distributes(self) -> bool:
        return self._config.pluginmanager.has_plugin("dsession")

    def _decided(self, case: CaseParts, *, cut: bool = False) -> CaseVerdict:
        trials = case.whole()
        for number in sorted(case.lost):
            self._recording.add(case.trials[number])
        sources = {part.source for trial in trials for part in trial.parts} - {"unseen"}
        source = "mixed" if len(sources) > 1 else next(iter(sources), "unseen")
        first = trials[0].parts[0]
        looks = self._looks.at(first.gate, first.task or case.name, first.arm)
        policy = self._config.getoption("passhat_undecided")
        who = msgspec.convert(source, ModelSource)
        verdict = decide_case(trials, policy, who, looks)
        if verdict.outcome in ("failed", "error") and case.failed is not None:
            run = self._recording.run_of(first.arms)
            verdict = with_evidence(verdict, case.name, case.n, case.failed, run, self._secrets)
        green = verdict.outcome not in ("failed", "error")
        if first.rule and not (cut and green):  # without a rule, what is missing makes the report incomplete too
            self._recording.decided(first.arms, _task_gate(case.name, trials, policy, who, verdict))
        return verdict

    def _report(self, case: CaseParts, verdict: CaseVerdict) -> None:
        self._verdicts[case.name] = verdict
        hook = self._config.hook
        hook.pytest_runtest_logstart(nodeid=case.name, location=case.location)
        seconds = sum(part.seconds for trial in case.trials.values() for part in trial.parts if part.when == "call")
        for report in verdict_reports(case.name, case.location, verdict, seconds):
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=case.name, location=case.location)
        case.let_go()

    def _stop_if_asked(self) -> None:
        """Under xdist nothing else looks at what -x and --maxfail say of a verdict."""
        if self._distributes and self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """Trials are progress, not results: they are in no count of the last line."""
        kind = getattr(report, "passhat_kind", None)
        if kind is None:
            return None
        if kind == "subtest" or (report.when not in ("call", "???") and kind == "passed"):
            return "", "", ""
        if kind == "failed subtest":
            return "", "u", "subtest of a trial failed"
        if kind in FAILURES:
            return "", "f", "trial failed"
        letter, word = {
            "passed": (".", "trial passed"),
            "skipped": ("s", "trial skipped"),
            "not_needed": ("s", "trial not needed"),
        }.get(kind, ("?", "trial without a verdict"))
        return "", letter, word

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        write_closing(terminalreporter, self._verdicts, self._recording.closing_lines())

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        for case in self.cases.values():
            for number in () if case.over else sorted(case.lost):
                self._recording.add(case.trials[number])
        whole = not self._cut and all(case.over for case in self.cases.values())
        self._recording.close(whole=whole, files=self._looks.manifest().files)


def _said_of(case: Case) -> Part:
    """What each part of a case's trials says of it."""
    return Part(
        case.name,
        0,
        "collect",
        "passed",
        rule=case.rule,
        gate=case.gate,
        undecided=case.mark.undecided,
        task=case.task,
        arm=case.arm,
        arms=case.arms,
    )


def _task_gate(
    case: str, trials: Sequence[TrialParts], policy: str | None, source: ModelSource, verdict: CaseVerdict
) -> TaskGate:
    """The rule of a case, as its record keeps it."""
    parts = [part for trial in trials for part in trial.parts]
    broken = next((part.message for part in parts if part.kind == "broken"), "")
    first = parts[0]
    undecided: Any = policy or first.undecided or "fail"
    return TaskGate(first.task or case, first.rule, first.arm, undecided, source, verdict.expected, broken)


def _case_location(location: tuple[str, int | None, str], case: str) -> tuple[str, int | None, str]:
    """The trial's location, with the domain of its case."""
    path, line, domain = location
    found = case_of(domain)
    return path, line, domain if found is None else found[0]
