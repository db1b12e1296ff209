"""Runs trials and verdict items in the process that executes tests."""

from __future__ import annotations

import random
import sys
from collections.abc import Generator
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from passhat.facts import as_json, derive_seed
from passhat.pytest_plugin._cases import PARAMETER
from passhat.pytest_plugin._judging import judge_trial
from passhat.pytest_plugin._keys import (
    ALONE,
    ARM,
    CASE,
    EVIDENCE,
    JUDGED,
    MARK,
    MEMBERS,
    NUMBER,
    RECORD,
    RUNNING,
    SEED,
    SUBTEST,
    TASK,
)
from passhat.pytest_plugin._parts import FAILURES, Kind, Part, classify
from passhat.pytest_plugin._short import short_name


class Running:
    """Trials run by pytest's own protocol, so that no re-run plugin takes them; a failed one isn't a failed test."""

    def __init__(self, config: pytest.Config) -> None:
        self._seed: int = config.getoption("passhat_seed") or 0
        self._broken: dict[str, str] = {}
        self._shared_by_case: dict[str, tuple[str, ...]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        if MEMBERS in item.stash:
            self._verdict(item, nextitem)
            return True
        if not is_trial(item):
            if CASE in item.stash:
                seeded(item, self.seed_of(item))
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        if item.stash[CASE] in self._broken:
            self._leave_out(item)
        else:
            seeded(item, self.seed_of(item))
            runtestprotocol(item, nextitem=nextitem)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if not is_trial(item):
            return report
        if report.when == "call" and item.stash.get(RUNNING, False):
            return _subtest(item, call, report)
        if call.excinfo is None and report.when != "call" and not _keeps_evidence(item):
            report.__dict__.pop("wasxfail", None)
            return report
        part = self._part(item, call, report)
        if part.kind == "broken":
            self._broken[part.case] = part.message
        _soften(item, report, part)
        return report

    def seed_of(self, item: pytest.Item) -> int:
        """The trial's own seed: no scheduling changes it, and no two trials share it."""
        if SEED not in item.stash:
            item.stash[SEED] = derive_seed(self._seed, item.stash.get(TASK, item.stash[CASE]), item.stash[NUMBER] - 1)
        return item.stash[SEED]

    def _part(self, item: pytest.Item, call: pytest.CallInfo[Any], report: pytest.TestReport) -> Part:
        kind, message, name = classify(call, report.when or "call")
        if kind == "passed" and report.when == "call" and SUBTEST in item.stash:
            kind, message = "failed", item.stash[SUBTEST]
        own = kind == "passed"
        more: dict[str, Any] = {}
        if report.when == "call":
            kind, message, more = _evidence_of(item, kind, message)
        mark = item.stash[MARK]
        return Part(
            case=item.stash[CASE],
            task=item.stash.get(TASK, ""),
            arm=item.stash.get(ARM, ""),
            number=item.stash[NUMBER],
            when=report.when or "call",
            kind=kind,
            own=own,
            message=message,
            type=name,
            text="" if kind in ("passed", "skipped") else report.longreprtext,
            seconds=call.duration,
            seed=self.seed_of(item),
            rule=mark.rule,
            gate=None if mark.gate is None else str(mark.gate),
            simulated=mark.simulated,
            undecided=mark.undecided,
            xfail=report.__dict__.pop("wasxfail", None),
            strict=call.excinfo is None and report.failed,
            shared=self._shared(item),
            **more,
            **(_closing_of(item) if report.when == "teardown" else {}),
        )

    def _shared(self, item: pytest.Item) -> tuple[str, ...]:
        case = item.stash[CASE]
        if case not in self._shared_by_case:
            self._shared_by_case[case] = _shared_fixtures(item)
        return self._shared_by_case[case]

    def _leave_out(self, item: pytest.Item) -> None:
        why = f"not run: an earlier trial showed that the test itself is broken ({self._broken[item.stash[CASE]]})"
        path, line, _ = item.location
        report = pytest.TestReport(item.nodeid, item.location, {}, "skipped", (path, (line or 0) + 1, why), "setup")
        case, task, arm = item.stash[CASE], item.stash.get(TASK, ""), item.stash.get(ARM, "")
        rule = item.stash[MARK].rule
        part = Part(case, item.stash[NUMBER], "setup", "not_needed", why, rule=rule, task=task, arm=arm)
        report.__dict__["passhat"] = part.packed() if hasattr(item.config, "workerinput") else part
        item.ihook.pytest_runtest_logreport(report=report)

    def _verdict(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Run nothing, so that fixtures of wider scopes end here; only a fault in that is reported."""
        if nextitem is not None and nextitem.parent is item.parent:
            return  # nothing ends here

        def nothing() -> None:
            return None

        for name in ("setup", "runtest", "teardown"):
            setattr(item, name, nothing)
        for report in runtestprotocol(item, log=False, nextitem=nextitem):
            if report.failed and report.when != "call":
                item.ihook.pytest_runtest_logreport(report=report)


def is_trial(item: pytest.Item) -> bool:
    """Whether an item is a trial of a case (and not a trial that was asked for by its own name)."""
    return CASE in item.stash and not item.stash.get(ALONE, False)


def seeded(item: pytest.Item, seed: int) -> None:
    """Give the trial's set-up and body their own random numbers, after any plugin that sets the same for all."""
    setup, body = item.setup, item.runtest

    def set_up() -> None:
        _reseed(seed)
        setup()

    def run() -> None:
        _reseed(seed + 1)
        item.stash[RUNNING] = True
        try:
            body()
        except AssertionError:
            item.stash[JUDGED] = judge_trial(item)
            raise
        finally:
            item.stash[RUNNING] = False
        judged = item.stash[JUDGED] = judge_trial(item)
        if judged is not None and not judged.passed and item.stash.get(ALONE, False):
            pytest.fail(judged.message, pytrace=False)

    fixtures = getattr(item, "fixturenames", ("unknown",))
    if any(name not in ("request", PARAMETER) for name in fixtures):
        item.setup = set_up  # type: ignore[method-assign]
    item.runtest = run  # type: ignore[method-assign]


def _evidence_of(item: pytest.Item, kind: Kind, message: str) -> tuple[Kind, str, dict[str, Any]]:
    """What the gateway saw, what the judges said, and a suite's own record, beat what the test raised."""
    if RECORD in item.stash:
        ended = item.stash[RECORD]
        return ended.kind, ended.message, {"record": ended.record}
    trial, judged = item.stash.get(EVIDENCE, None), item.stash.get(JUDGED, None)
    more: dict[str, Any] = {}
    if trial is not None and kind in ("failed", "agent_error"):
        seen = trial.failure
        if seen is not None and (kind == "agent_error" or seen[0] == "limit"):
            kind, message = seen[0], f"{seen[1]}; {message}"
    if trial is not None and judged is not None:
        more = {"grades": judged.grades, "output": as_json(trial.submitted[1], name="submit(…)")}
        if kind == "passed" and not judged.passed:
            unknown: Kind = "grader_error" if any(grade.error for grade in judged.grades) else "unresolved"
            kind, message = "failed" if judged.passed is False else unknown, judged.message
    return kind, message, more


def _keeps_evidence(item: pytest.Item) -> bool:
    """Whether the phases around the body have something to say even when nothing went wrong in them."""
    return EVIDENCE in item.stash or RECORD in item.stash


def _closing_of(item: pytest.Item) -> dict[str, Any]:
    """The transcript, on the last phase."""
    trial = item.stash.get(RECORD, None) or item.stash.get(EVIDENCE, None)
    return {} if trial is None else {"transcript": trial.packed(), "source": trial.source}


def _reseed(seed: int) -> None:
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


def _subtest(item: pytest.Item, call: pytest.CallInfo[Any], report: pytest.TestReport) -> pytest.TestReport:
    """A subtest that fails makes its trial fail, and nothing else."""
    kind, message, _ = classify(call, "call")
    if kind not in ("passed", "skipped"):
        item.stash.setdefault(SUBTEST, f"subtest: {message}")
        path, line, _ = item.location
        report.outcome = "skipped"
        report.longrepr = (path, (line or 0) + 1, f"subtest of a trial failed: {message}")
    return report


def _soften(item: pytest.Item, report: pytest.TestReport, part: Part) -> None:
    """Report a trial that didn't pass as skipped with its reason: the verdict speaks for the case."""
    report.__dict__["passhat"] = part.packed() if hasattr(item.config, "workerinput") else part
    if part.kind == "passed":
        report.outcome, report.longrepr = "passed", None
    elif part.kind != "skipped":
        path, line, _ = item.location
        word = "trial failed" if part.kind in FAILURES else "trial without a verdict"
        report.outcome = "skipped"
        report.longrepr = (path, (line or 0) + 1, f"{word}: {part.message}")


def _shared_fixtures(item: pytest.Item) -> tuple[str, ...]:
    """Fixtures of a wider scope than one test: all trials of the case use one instance of them."""
    info = getattr(item, "_fixtureinfo", None)
    found = {} if info is None else info.name2fixturedefs
    wide = {name for name, defs in found.items() if defs and defs[-1].scope != "function"}
    ours = {name for name in wide if "pytest" not in short_name(found[name][-1].func)}
    return tuple(sorted(ours))
