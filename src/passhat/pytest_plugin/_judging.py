"""Judges of a marker: graders that look at a trial when its test has run."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from passhat.facts import Grade, Limits, Role, Task, decide
from passhat.pytest_plugin._asking import may_judge, may_spend
from passhat.pytest_plugin._environment import gateway_of, host_environment
from passhat.pytest_plugin._keys import EVIDENCE
from passhat.pytest_plugin._marks import held_name
from passhat.pytest_plugin._routing import routing_of

if TYPE_CHECKING:
    from passhat.pytest_plugin._doubles import PytestTrial
    from passhat.pytest_plugin._items import Case
    from passhat.running import Bench
    from passhat.trial import FinishedTrial, JudgeModel

Judge = Callable[..., Any]

_OWN_THRESHOLD = re.compile(r"scored \S+, below the threshold \S+")
_EPSILON = 1e-9  # what a score may lack of its threshold: 0.1 + 0.7 reaches 0.8


class Judged(msgspec.Struct, frozen=True):
    """What the judges of one trial said. ``passed`` is True, False, or None when that can't be told."""

    grades: tuple[Grade, ...]
    passed: bool | None
    message: str = ""


def judge_trial(item: pytest.Item, case: Case) -> Judged | None:
    """Ask the marker's judges; None without any. With ``threshold=None`` they record, and decide nothing."""
    mark = case.mark
    if not mark.judges:
        return None
    evidence = item.stash[EVIDENCE]
    routing = routing_of(item.config)
    with _bench(item.config, mark.judges, evidence, case.name) as (bench, why), routing.judging():
        grades = tuple(_graded(mark.judges, mark.threshold, evidence, case.name, bench, why, routing.refused))
    passed = decide(grades).passed
    return Judged(grades, passed, "" if passed else _why(grades, mark.threshold))


@contextlib.contextmanager
def _bench(
    config: pytest.Config, judges: Sequence[Judge], trial: PytestTrial, case: str
) -> Iterator[tuple[Bench | None, str]]:
    """Where judges that ask a model reach it; or why they can't."""
    from passhat.running import PlannedTrial, RunError, bench, judges_for

    host, model = host_of_judges(config), config.getoption("passhat_model")
    if why := unjudged(config, judges):
        yield None, why
        return
    try:
        found = judges_for(judges, config.getoption("passhat_judge_model"), host, under_test=model)
    except RunError as error:
        yield None, str(error)
        return
    planned = PlannedTrial(Task(case), trial.number, "", trial.seed, 0)
    with bench(found, gateway_of(config), planned, Limits()) as opened:
        yield opened, ""


def host_of_judges(config: pytest.Config) -> dict[str, str]:
    """The host's environment, without a judge's model where nothing may be spent."""
    host = host_environment(config)
    return host if may_spend(config) else {name: host[name] for name in host if name != "PASSHAT_JUDGE_MODEL"}


def unjudged(config: pytest.Config, judges: Sequence[Judge], named: str | None = None) -> str:
    """Why judges that name a model themselves, or that something else names it for, aren't asked; empty if they are."""
    from passhat.graders.judge import judges_in

    models = [name for judge in judges_in(judges) for name in judge.models]
    if may_judge(config) or not (models or named):
        return ""
    return (
        f"the judge's model {named or models[0]} costs money and nobody asked for it: say --judge-model PROVIDER/NAME, "
        "--model PROVIDER/NAME or --trials N"
    )


def _graded(
    judges: Sequence[Judge],
    threshold: float | None,
    trial: PytestTrial,
    case: str,
    bench: Bench | None,
    why: str,
    refused: Callable[[], str],
) -> Iterator[Grade]:
    from passhat.graders import grader_names, run_grader
    from passhat.graders.judge import judges_in

    for judge, name in zip(judges, grader_names(judges), strict=True):
        if why and tuple(judges_in([judge])):
            grade = Grade(None, error=why, name=name)
        else:
            with contextlib.ExitStack() as closing:
                model = None if bench is None else bench.model
                grade = run_grader(judge, _finished(trial, case, closing, model), name=name)
            grade = grade if bench is None else bench.billed(grade)
            unanswered = refused()
            if unanswered and grade.error is None:  # it swallowed that, and its grade rests on no answer
                grade = msgspec.structs.replace(grade, passed=None, score=None, reason="", error=unanswered)
        yield _held(grade, judge, threshold)


def _held(grade: Grade, judge: Judge, threshold: float | None) -> Grade:
    """The grade held against the marker's threshold, which stands in its name: a judge may have several.

    What a judge that returns a bare number says of its own threshold is left out, since that decides nothing here.
    """
    reason = "" if _OWN_THRESHOLD.fullmatch(grade.reason) else grade.reason
    if threshold is None:
        return msgspec.structs.replace(grade, role=Role.ADVISORY, reason=reason)
    name, score = held_name(grade.name, threshold), grade.score_value
    passed = grade.passed if score is None else score >= threshold - _EPSILON
    return msgspec.structs.replace(grade, role=Role.REQUIRED, passed=passed, reason=reason, name=name)


def _finished(trial: PytestTrial, case: str, closing: contextlib.ExitStack, judge: JudgeModel | None) -> FinishedTrial:
    """The trial as a judge sees it; its workspace is a copy, made when it is looked at."""
    from passhat.trial import FinishedTrial, copy_tree

    def copied() -> Path:
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="passhat-")))
        copy_tree(trial.workspace, folder, everything=True)
        return folder

    asked, output, expected = trial.submitted
    task = Task(case, input=asked, expected=expected)
    return FinishedTrial(
        task, output, trial.transcript, number=trial.number, seed=trial.seed, workspace=copied, judge=judge
    )


def _why(grades: Sequence[Grade], threshold: float | None) -> str:
    for passed in (False, None):
        for grade in grades:
            if grade.passed is passed and grade.role is not Role.ADVISORY:
                name = grade.name.removesuffix(f" >= {threshold:g}")
                score = "" if grade.score_value is None else f" scored {grade.score_value:.2f}, needs {threshold:g}"
                said = grade.error or grade.reason
                return f"judge {name}{score}{': ' if said else ''}{said}"
    return ""
