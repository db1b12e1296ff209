"""Suites as tests: one verdict a task."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest

from passhat.facts import EVERY_TRIAL, NO_MODEL, RULES, Counts, PasshatError, Status, Task, Transcript, TrialRecord
from passhat.pytest_plugin._asking import may_spend
from passhat.pytest_plugin._doubles import who_answered
from passhat.pytest_plugin._environment import gateway_of
from passhat.pytest_plugin._judging import host_of_judges, unjudged
from passhat.pytest_plugin._keys import SUITES, TRIAL
from passhat.pytest_plugin._parts import Kind, WrongTest
from passhat.pytest_plugin._refusing import UNASKED

if TYPE_CHECKING:
    from passhat.running import SingleTrials
    from passhat.suite import Suite

_BY_KIND = "by kind"


def suite_tests(suite: Suite | str | Path, *, trials: int | None = None, gate: Any = _BY_KIND) -> Callable[..., None]:
    """A test function that runs a suite, one verdict a task; give it a name that begins with ``test``.

    ``test_support = suite_tests("../evals/eval_support.py")`` in a test module makes the cases
    ``test_support[TASK]``. ``suite`` is a `Suite`, or ``PATH`` or ``PATH::NAME`` relative to the module. ``trials``
    replaces the suite's number. ``gate`` holds for each task; without it every trial of a task of a regression
    suite must pass, and a capability suite is only recorded. Gates of the suite as a whole are for ``passhat run``.
    Isolation is inline, and a trial that the provider or the environment spoiled isn't run again.
    """
    __tracebackhide__ = True
    caller = sys._getframe(1)
    try:
        return _made(suite, trials, gate, (caller.f_code.co_filename, caller.f_lineno))
    except PasshatError as error:
        raise error.with_traceback(None) from None  # the way to it is of no use to who calls this


def _made(suite: Suite | str | Path, trials: int | None, gate: Any, place: tuple[str, int]) -> Callable[..., None]:
    found = _found(suite, Path(place[0]).parent)
    if gate == _BY_KIND:
        gate = EVERY_TRIAL if found.kind == "regression" else None
    gate = _check_gate(gate, found)
    doubled = found.script is not None or found.simulation is not None
    simulated = found.model == NO_MODEL or (doubled and found.model is None)  # a model that it names comes first
    tasks = [pytest.param(task, id=task.id) for task in found.load_tasks()]

    @pytest.mark.trials(trials or found.trials, gate=gate, simulated=simulated)
    @pytest.mark.parametrize("task", tasks)
    def test_suite(task: Task, request: pytest.FixtureRequest) -> None:
        _run(found, task, request)

    test_suite.__doc__ = f"Suite {found.name!r}."
    cast(Any, test_suite).passhat_suite = True
    cast(Any, test_suite).place_as = _placed(*place)
    return test_suite


def _found(suite: Suite | str | Path, folder: Path) -> Suite:
    from passhat.suite import Suite, discover

    if isinstance(suite, Suite):
        return suite
    path, _, name = str(suite).partition("::")
    found = discover(folder / path, name or None)
    if len(found) != 1:
        names = ", ".join(each.name for each in found)
        raise PasshatError(f"suite_tests({str(suite)!r}): the file has {len(found)} suites: {names}; say PATH::NAME")
    return found[0].suite


def _check_gate(gate: Any, suite: Suite) -> Any:
    """The gate; refused where no trial of the suite could ever say anything about it."""
    from passhat.graders import grader_names
    from passhat.suite import Gate

    if gate is None or gate == EVERY_TRIAL:
        return gate
    asked = gate if isinstance(gate, Gate) else Gate.parse(gate)
    names = grader_names(suite.graders)
    if asked.rate == "grader" and asked.name not in names:
        raise PasshatError(
            f"suite_tests({suite.name!r}, gate={str(asked)!r}): no grader is called {asked.name!r}; "
            f"known: {', '.join(names) or 'none'}"
        )
    return asked


def _placed(filename: str, line: int) -> Callable[[], None]:
    """A function that stands where the suite's tests were asked for, so that reports name that line."""

    def place() -> None:
        return None

    place.__code__ = place.__code__.replace(co_filename=filename, co_firstlineno=line)
    return place


@dataclass(frozen=True)
class SuiteTrial:
    """How a trial of a suite ended, for the report of its test."""

    kind: Kind
    message: str
    record: str
    transcript: Transcript
    source: str

    def packed(self) -> str:
        """The transcript as JSON text."""
        return msgspec.json.encode(self.transcript).decode()


def _run(suite: Suite, task: Task, request: pytest.FixtureRequest) -> None:
    """One trial of one task; a trial that isn't a success ends its test with the reason."""
    trial = request.node.stash[TRIAL]
    try:
        trials = _opened(suite, request.config)
    except PasshatError as error:
        raise WrongTest(str(error)) from None
    done = trials.run(task, trial.number - 1)
    kind, message = _kind(done.record)
    record, source = msgspec.json.encode(done.record).decode(), who_answered(done.transcript)
    trial.ended = SuiteTrial(kind, message, record, done.transcript, source)
    if kind != "passed":
        pytest.fail(message, pytrace=False)


def _opened(suite: Suite, config: pytest.Config) -> SingleTrials:
    """The suite, open in this process until the session ends."""
    opened: dict[int, SingleTrials] = config.stash.setdefault(SUITES, {})
    if id(suite) not in opened:
        from passhat.running import Entrance, SingleTrials

        through = Entrance(gateway_of(config), host_of_judges(config))
        model, seed = config.getoption("passhat_model"), config.getoption("passhat_seed") or 0
        judge = config.getoption("passhat_judge_model")
        silent = "" if suite.judge_simulation is not None else unjudged(config, suite.graders, suite.judge_model)
        made = SingleTrials(suite, through, model=model, judge_model=judge, seed=seed, unjudged=silent)
        if made.source == "live" and not may_spend(config):  # the marker's skip comes first
            made.close()
            raise PasshatError(f"suite {suite.name!r} asks a real model: {UNASKED}")
        opened[id(suite)] = made
        config.add_cleanup(made.close)
    return opened[id(suite)]


def _kind(record: TrialRecord) -> tuple[Kind, str]:
    """The trial's end in the plugin's words, and why."""
    if record.passed:
        return "passed", ""
    bad = [grade for grade in record.grades if grade.passed is not True]
    why = "; ".join(f"{grade.name}: {grade.error or grade.reason or 'failed'}" for grade in bad)
    if record.error is not None:
        why = f"{record.error.type}: {record.error.message}".lstrip(": ")
    counted = RULES[record.status].counts is Counts.BY_GRADES
    kind = "failed" if counted or record.status is Status.COMPLETED else record.status.value
    return msgspec.convert(kind, Kind), " ".join(why.split()) or record.status.value
