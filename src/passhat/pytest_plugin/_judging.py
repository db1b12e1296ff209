"""Judges of a marker: graders that look at a trial when its test has run."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from passhat.facts import Grade, Role, Task, decide
from passhat.pytest_plugin._environment import as_host
from passhat.pytest_plugin._keys import CASE, EVIDENCE, MARK

if TYPE_CHECKING:
    from passhat.pytest_plugin._doubles import PytestTrial
    from passhat.trial import FinishedTrial

Judge = Callable[..., Any]


class Judged(msgspec.Struct, frozen=True):
    """What the judges of one trial said. ``passed`` is True, False, or None when that can't be told."""

    grades: tuple[Grade, ...]
    passed: bool | None
    message: str = ""


def judge_trial(item: pytest.Item) -> Judged | None:
    """Ask the marker's judges; None without any. With ``threshold=None`` they record, and decide nothing."""
    mark = item.stash[MARK]
    if not mark.judges:
        return None
    evidence = item.stash[EVIDENCE]
    with as_host(item.config):
        grades = tuple(_graded(mark.judges, mark.threshold, evidence, item.stash.get(CASE, item.nodeid)))
    passed = decide(grades).passed
    return Judged(grades, passed, "" if passed else _why(grades, mark.threshold))


def _graded(judges: Sequence[Judge], threshold: float | None, trial: PytestTrial, case: str) -> Iterator[Grade]:
    from passhat.graders import grader_names, run_grader

    for judge, name in zip(judges, grader_names(judges), strict=True):
        with contextlib.ExitStack() as closing:
            grade = run_grader(judge, _finished(trial, case, closing), name=name)
        if threshold is None:
            yield msgspec.structs.replace(grade, role=Role.ADVISORY)
        elif grade.score_value is None:
            yield msgspec.structs.replace(grade, role=Role.REQUIRED)
        else:
            yield msgspec.structs.replace(grade, role=Role.REQUIRED, passed=grade.score_value >= threshold)


def _finished(trial: PytestTrial, case: str, closing: contextlib.ExitStack) -> FinishedTrial:
    """The trial as a judge sees it; its workspace is a copy, made when it is looked at."""
    from passhat.trial import FinishedTrial, copy_tree

    def copied() -> Path:
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="passhat-")))
        copy_tree(trial.workspace, folder, everything=True)
        return folder

    asked, output, expected = trial.submitted
    task = Task(case, input=asked, expected=expected)
    return FinishedTrial(task, output, trial.transcript, number=trial.number, seed=trial.seed, workspace=copied)


def _why(grades: Sequence[Grade], threshold: float | None) -> str:
    for passed in (False, None):
        for grade in grades:
            if grade.passed is passed and grade.role is not Role.ADVISORY:
                score = "" if grade.score_value is None else f" scored {grade.score_value:.2f}, needs {threshold:g}"
                said = grade.error or grade.reason
                return f"judge {grade.name}{score}{': ' if said else ''}{said}"
    return ""
