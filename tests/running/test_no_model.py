"""A suite that says model="none": its report doesn't ask which model answered, and a request is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import passhat
from passhat import Status, Suite, Task, Trial
from passhat.facts import TrialRecord
from passhat.running import Run
from passhat.suite import SuiteError
from passhat.summary import summarize


def search(trial: Trial) -> str:
    return "a"


def right(trial: Any) -> bool:
    return bool(trial.output == "a")


def test_its_report_says_that_there_is_no_model_and_misses_none(run_here: Callable[..., Run]) -> None:
    suite = Suite("search", tasks=[Task("t")], agent=search, graders=[right], trials=1)
    bare, none = (run_here(each) for each in (suite, suite.replace(model="none")))
    first, second = (summarize(each.manifest, each.trials()) for each in (bare, none))
    assert "which model answered was not seen" in first.title
    assert second.title == "Evaluation of search (no model: its agent asks none)"
    assert any("which model answered" in each.message for each in first.findings)
    assert not any("which model answered" in each.message for each in second.findings)
    assert (none.manifest.model_source, none.manifest.model_requested) == ("unseen", "none")


def test_a_model_that_is_asked_for_does_not_replace_it(run_here: Callable[..., Run]) -> None:
    suite = Suite("search", tasks=[Task("t")], agent=search, graders=[right], trials=1, model="none")
    assert run_here(suite, model="openai/gpt-5").manifest.model_requested == "none"


def test_a_request_is_refused_and_says_why(only_trial: Callable[..., TrialRecord], ask: Callable[..., str]) -> None:
    record = only_trial(lambda trial: ask(trial), graders=[right], model="none")
    assert record.status is not Status.COMPLETED
    assert record.passed is not True
    assert record.error is not None
    assert "the suite says model='none'" in record.error.message


@pytest.mark.parametrize("answers", [{"script": ["a"]}, {"simulation": lambda request, rng: passhat}])
def test_nobody_else_may_answer_then(answers: Any) -> None:
    with pytest.raises(SuiteError, match="says that no model answers"):
        Suite("s", tasks=[Task("t")], agent=search, graders=[right], model="none", **answers)
