"""`grader`: the two ways to say how a function grades."""

from __future__ import annotations

import pytest

from passhat.facts import Role
from passhat.graders import GraderSetup, grader
from passhat.trial import FinishedTrial


def test_options_count_with_and_without_the_decorator_s_form() -> None:
    def first(trial: FinishedTrial) -> float:
        return 0.5

    def second(trial: FinishedTrial) -> float:
        return 0.5

    called = grader(first, name="half", role="critical", weight=2, threshold=0.5, version="3")
    decorated = grader(name="half", role="critical", weight=2, threshold=0.5, version="3")(second)
    assert called is first
    for one in (called, decorated):
        said = vars(one)
        assert said == {"name": "half", "role": Role.CRITICAL, "weight": 2.0, "threshold": 0.5, "version": "3"}


def test_options_of_a_given_function_are_checked_too() -> None:
    with pytest.raises(GraderSetup, match="weight=-1"):
        grader(lambda trial: True, weight=-1)
