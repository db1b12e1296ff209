"""One trial of a suite at a time, without a run: for tests and audits."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import passhat
from passhat import Status, Suite, Task, Trial
from passhat.facts import Grade
from passhat.gateway import Gateway
from passhat.running import Entrance, Run, SingleTrials
from passhat.scripting import say

Open = Callable[..., SingleTrials]


@pytest.fixture
def opened(gateway: Gateway) -> Iterator[Open]:
    made: list[SingleTrials] = []

    def go(suite: Suite, **options: Any) -> SingleTrials:
        made.append(SingleTrials(suite, Entrance(gateway, dict(os.environ)), **options))
        return made[-1]

    yield go
    for trials in made:
        trials.close()


def wrote(trial: Any) -> bool:
    return bool((trial.workspace / "a.txt").exists())


def agent(trial: Trial) -> int:
    (trial.workspace / "a.txt").write_text("x")
    return trial.seed


def test_a_single_trial_is_the_one_that_a_run_would_record(opened: Open, run_here: Callable[..., Run]) -> None:
    suite = Suite("s", tasks=[Task("t", tags=("x",), family="f")], agent=agent, graders=[wrote], trials=3)
    (record,) = (each for each in run_here(suite, seed=7).trials() if each.trial == 2)
    tried = opened(suite, seed=7).run(Task("t", tags=("x",), family="f"), 2)
    assert tried.record.passed
    for name in (
        "task",
        "trial",
        "arm",
        "status",
        "passed",
        "score",
        "output",
        "seed",
        "tags",
        "family",
        "fingerprint",
    ):
        assert getattr(tried.record, name) == getattr(record, name), name


def test_an_agent_that_stands_in_leaves_the_suites_own_alone(opened: Open) -> None:
    suite = Suite("s", tasks=[Task("t")], agent="no_such_module:agent", graders=[wrote])
    trials = opened(suite)
    left: list[Path | None] = []
    tried = trials.run(Task("t"), agent=agent, look=left.append, grade_twice=True)
    assert (tried.record.passed, [grade.passed for grade in tried.again]) == (True, [True])
    assert left[0] is not None
    assert not left[0].exists()
    assert trials.run(Task("t"), agent=lambda trial: None, look=left.append).record.passed is False
    assert left[1] is None
    with pytest.raises(passhat.facts.PasshatError, match="no_such_module"):
        trials.run(Task("t"))


def test_nobody_answers_when_nobody_is_to(opened: Open, ask: Callable[..., str]) -> None:
    suite = Suite("s", tasks=[Task("t")], agent=lambda trial: ask(trial), script=lambda request: say("hello"))
    assert opened(suite).run(Task("t")).record.output == "hello"
    silent = opened(suite, answers="nobody")
    assert silent.source == "scripted"
    tried = silent.run(Task("t"))
    assert tried.record.status is Status.AGENT_ERROR
    assert tried.record.error is not None
    assert "400" in tried.record.error.message


def test_a_trial_that_graders_do_not_look_at_is_not_graded_twice(opened: Open) -> None:
    def broken(trial: Any) -> None:
        raise OSError("no disk")

    seen: list[Any] = []

    def grader(trial: Any) -> Grade:
        seen.append(trial)
        return Grade(True)

    suite = Suite("s", tasks=[Task("t")], agent=agent, prepare=broken, graders=[grader])
    tried = opened(suite).run(Task("t"), grade_twice=True)
    assert (tried.record.status, tried.again, seen) == (Status.ENVIRONMENT_ERROR, (), [])
