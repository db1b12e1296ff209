"""Graders as plain functions on data, outside suites and tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from passhat.facts import Grade, Task, Transcript
from passhat.graders._run import run_grader
from passhat.trial import FinishedTrial


def grade(
    grader: Callable[..., Any],
    output: Any = None,
    *,
    task: Task | None = None,
    expected: Any = None,
    transcript: Transcript | None = None,
    workspace: str | Path | None = None,
    environment: Any = None,
    diff: Mapping[str, str] | None = None,
) -> Grade:
    """Ask a grader about data at hand: production logs, a data set that is being cleaned, an answer before it is sent.

    ``expected`` stands for a task's expected answer when there is no ``task``. ``workspace`` is used as it is, not
    copied. Never raises for a fault of the grader: see `run_grader`.

    >>> from passhat.graders import answers
    >>> grade(answers.numeric(decimals=2), "96.12", expected=96.124991).passed
    True
    """
    if task is not None and expected is not None:
        raise ValueError("give the task, or expected alone: the task has an expected answer of its own")
    folder = None if workspace is None else Path(workspace)
    trial = FinishedTrial(
        task or Task("data", expected=expected),
        output,
        transcript,
        workspace=None if folder is None else lambda: folder,
        environment=None if environment is None else lambda trial: environment,
        diff=None if diff is None else lambda: diff,
    )
    return run_grader(grader, trial)
