"""Runs trials and verdict items in the process that executes tests."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.runner import runtestprotocol

from passhat.pytest_plugin._definitions import definitions_of
from passhat.pytest_plugin._items import Case, ItemTrial, trial_of
from passhat.pytest_plugin._judging import judge_trial
from passhat.pytest_plugin._keys import CASE, EVIDENCE
from passhat.pytest_plugin._parts import FAILURES, Kind, Part, classify, storable
from passhat.pytest_plugin._seeding import reseed, sets_up
from passhat.pytest_plugin._short import short_name

if TYPE_CHECKING:
    from passhat.pytest_plugin._doubles import PytestTrial

_WRAPPED = ("setup", "runtest")


class Running:
    """Trials run by pytest's own protocol, so that no re-run plugin takes them; a failed one isn't a failed test."""

    def __init__(self, config: pytest.Config) -> None:
        self._seed: int = config.getoption("passhat_seed") or 0
        self._travels = hasattr(config, "workerinput")  # to another process, as JSON types
        self._now: tuple[pytest.Item | None, ItemTrial | None] = None, None  # what runs, unless it was asked for alone

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        trial = trial_of(item)
        if trial is None:
            if CASE not in item.stash:
                return None
            self._end_fixtures(item, item, nextitem)
            return True
        if trial.alone:
            self._wrap(item, trial)
            return None
        hook, nodeid, location = item.ihook, item.nodeid, item.location
        hook.pytest_runtest_logstart(nodeid=nodeid, location=location)
        if trial.case.broken:
            self._leave_out(item, trial)
        else:
            self._run(item, trial)
            self._end_fixtures(item, trial.case.verdict, nextitem)
        hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        current, trial = self._now
        if item is not current or trial is None:
            return report
        if report.when == "call":
            if not trial.due:
                return _subtest(trial, item, call, report)
            trial.due = False
        elif call.excinfo is None:
            set_up = trial.due = report.when == "setup"
            if trial.ended is None and (set_up or trial.subtest is None) and EVIDENCE not in item.stash:
                report.__dict__.pop("wasxfail", None)
                return report  # nothing to say of the phases around the body
        part = self._part(item, trial, call, report)
        if part.kind == "broken":
            trial.case.broken = part.message
        self._soften(item, report, part)
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_exception_interact(
        self, node: pytest.Item | pytest.Collector, call: pytest.CallInfo[Any], report: Any
    ) -> Generator[None, object, object]:
        """A debugger shows where the trial failed, and not our line about it."""
        softened = report.longrepr
        if isinstance(node, pytest.Item) and call.excinfo is not None and trial_of(node) is not None:
            report.longrepr = node.repr_failure(call.excinfo)
        try:
            return (yield)
        finally:
            report.longrepr = softened

    def _run(self, item: pytest.Item, trial: ItemTrial) -> None:
        """One trial; nothing that was seen of it stays on its item, of which a session may have very many."""
        before = {name: vars(item)[name] for name in _WRAPPED if name in vars(item)}
        self._wrap(item, trial)
        self._now = item, trial
        try:
            runtestprotocol(item, nextitem=trial.case.verdict)  # its own end first, apart from that of wider fixtures
        finally:
            self._now = None, None
            trial.ended = trial.judged = None
            for name in _WRAPPED:
                vars(item).pop(name, None)
            vars(item).update(before)

    def _wrap(self, item: pytest.Item, trial: ItemTrial) -> None:
        """Give the trial's set-up and body their own random numbers, after any plugin that sets the same for all."""
        seed = trial.seed(self._seed)
        setup, body = item.setup, item.runtest

        def set_up() -> None:
            __tracebackhide__ = True
            reseed(seed)
            setup()

        def run() -> None:
            __tracebackhide__ = True
            reseed(seed + 1)
            trial.due = False
            try:
                body()
                _nothing_left(item)
            except AssertionError:
                trial.judged = judge_trial(item, trial.case)
                raise
            finally:
                trial.due = True
            judged = trial.judged = judge_trial(item, trial.case)
            if judged is not None and not judged.passed and trial.alone:
                pytest.fail(judged.message, pytrace=False)

        if sets_up(trial.case, item):
            item.setup = set_up  # type: ignore[method-assign]
        item.runtest = run  # type: ignore[method-assign]

    def _part(self, item: pytest.Item, trial: ItemTrial, call: pytest.CallInfo[Any], report: pytest.TestReport) -> Part:
        when = report.when or "call"
        kind, message, name = classify(call, when)
        text = "" if kind in ("passed", "skipped") else storable(report.longreprtext)
        if trial.subtest is not None and when != "setup":
            if kind == "passed":
                kind, (message, text) = "failed", trial.subtest
            trial.subtest = None
        own = kind == "passed"
        more: dict[str, Any] = {}
        if when == "call":
            kind, message, more = _evidence_of(item, trial, kind, message)
        else:
            kind, message = _within_limits(item, kind, message)
        if when == "teardown":
            more = _closing_of(item, trial)
        case = trial.case
        return Part(
            case.name,
            trial.number,
            when,
            kind,
            message,
            name,
            text,
            call.duration,
            trial.seed(self._seed),
            case.rule,
            case.gate,
            case.mark.undecided,
            None if (reason := report.__dict__.pop("wasxfail", None)) is None else storable(reason),
            call.excinfo is None and report.failed,
            task=case.task,
            arm=case.arm,
            arms=case.arms,
            own=own,
            shared=_shared_fixtures(case, item),
            **more,
        )

    def _end_fixtures(self, item: pytest.Item, verdict: pytest.Item, nextitem: pytest.Item | None) -> None:
        """End wider fixtures after ``item``, a trial or its verdict, where nothing of the same parent follows.

        A fault in that is an error of the verdict and of none of its trials.
        """
        if nextitem is not None and nextitem.parent is verdict.parent:
            return  # nothing ends here

        def nothing() -> None:
            return None

        for name in ("setup", "runtest", "teardown"):
            setattr(verdict, name, nothing)
        for report in runtestprotocol(verdict, log=False, nextitem=nextitem):
            if report.failed and report.when != "call":
                if item is not verdict:
                    report.nodeid = item.nodeid  # xdist takes reports of the running test only
                    report.__dict__["passhat_verdict"] = verdict.nodeid
                item.ihook.pytest_runtest_logreport(report=report)

    def _leave_out(self, item: pytest.Item, trial: ItemTrial) -> None:
        case = trial.case
        why = f"not run: an earlier trial showed that the test itself is broken ({case.broken})"
        path, line, _ = item.location
        report = pytest.TestReport(item.nodeid, item.location, {}, "skipped", (path, (line or 0) + 1, why), "setup")
        place: dict[str, Any] = {"task": case.task, "arm": case.arm, "arms": case.arms}
        part = Part(case.name, trial.number, "setup", "not_needed", why, rule=case.rule, **place)
        self._attach(report, part)
        item.ihook.pytest_runtest_logreport(report=report)

    def _soften(self, item: pytest.Item, report: pytest.TestReport, part: Part) -> None:
        """Report a trial that didn't pass as skipped with its reason: the verdict speaks for the case."""
        self._attach(report, part)
        if part.kind == "passed":
            report.outcome, report.longrepr = "passed", None
        elif part.kind == "skipped":
            if isinstance(report.longrepr, tuple):
                path, number, why = report.longrepr
                report.longrepr = path, number, storable(why)
        else:
            path, line, _ = item.location
            word = "trial failed" if part.kind in FAILURES else "trial without a verdict"
            report.outcome = "skipped"
            report.longrepr = (path, (line or 0) + 1, f"{word}: {part.message}")

    def _attach(self, report: pytest.TestReport, part: Part) -> None:
        report.__dict__["passhat"] = part.packed() if self._travels else part


def _nothing_left(item: pytest.Item) -> None:
    """Fail a trial that leaves its script unused, or asked for more, as part of its body: it is no fault of set-ups."""
    seen_by = item.stash.get(EVIDENCE, None)
    complaint = "" if seen_by is None else seen_by.complaint()
    if complaint:
        pytest.fail(complaint, pytrace=False)


def _evidence_of(item: pytest.Item, trial: ItemTrial, kind: Kind, message: str) -> tuple[Kind, str, dict[str, Any]]:
    """What the gateway saw, what the judges said, and a suite's own record, beat what the test raised."""
    seen_by = item.stash.get(EVIDENCE, None)
    if trial.ended is not None and not _swallowed(trial.ended.kind, seen_by):
        return trial.ended.kind, trial.ended.message, {"record": trial.ended.record}
    if seen_by is None:
        return kind, message, {}
    more: dict[str, Any] = {}
    if seen_by.nobody:
        return "broken", seen_by.nobody, more
    kind, message = _within_limits(item, kind, message)
    if kind == "agent_error" and seen_by.failure is not None:
        kind, message = "provider_error", f"{seen_by.failure}; {message}"
    judged = trial.judged
    if judged is not None:
        more = {"grades": judged.grades, "output": seen_by.submitted[1]}
        if kind == "passed" and not judged.passed:
            unknown: Kind = "grader_error" if any(grade.error for grade in judged.grades) else "unresolved"
            kind, message = "failed" if judged.passed is False else unknown, judged.message
    return kind, message, more


def _swallowed(kind: Kind, seen_by: PytestTrial | None) -> bool:
    """Whether a suite's trial came to an end that doesn't say that a request of it, or of a grader, was refused."""
    return seen_by is not None and bool(seen_by.astray or (kind in ("passed", "failed") and seen_by.nobody))


def _within_limits(item: pytest.Item, kind: Kind, message: str) -> tuple[Kind, str]:
    """A trial that met its limit has failed, whatever the test made of it: in a set-up, a body or a tear-down."""
    seen_by = item.stash.get(EVIDENCE, None)
    limit = "" if seen_by is None or kind == "broken" else seen_by.limit
    if not limit:
        return kind, message
    return "limit", f"{limit}; {message}" if message and message != limit else limit


def _closing_of(item: pytest.Item, trial: ItemTrial) -> dict[str, Any]:
    """The transcript, on the last phase."""
    found = trial.ended or item.stash.get(EVIDENCE, None)
    return {} if found is None else {"transcript": found.packed(), "source": found.source}


def _subtest(
    trial: ItemTrial, item: pytest.Item, call: pytest.CallInfo[Any], report: pytest.TestReport
) -> pytest.TestReport:
    """A subtest that fails makes its trial fail, and nothing else: like the trial it is progress and no result."""
    kind, message, _ = classify(call, "call")
    report.__dict__["passhat_kind"] = "subtest"
    if kind not in ("passed", "skipped") and not hasattr(report, "wasxfail"):
        report.__dict__["passhat_kind"] = "failed subtest"
        trial.subtest = trial.subtest or (f"subtest: {message}", storable(report.longreprtext))
        path, line, _ = item.location
        report.outcome = "skipped"
        report.longrepr = (path, (line or 0) + 1, f"subtest of a trial failed: {message}")
    return report


def _shared_fixtures(case: Case, item: pytest.Item) -> tuple[str, ...]:
    """Fixtures of a wider scope than one test: all trials of the case use one instance of them."""
    if case.shared is None:
        found = definitions_of(item)
        wide = {name for name, defs in found.items() if defs and defs[-1].scope != "function"}
        ours = {name for name in wide if "pytest" not in short_name(found[name][-1].func)}
        case.shared = tuple(sorted(ours))
    return case.shared
