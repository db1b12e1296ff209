"""A check or a grade used as True or False says what to write instead."""

from typing import Any

import pytest

from passhat.facts import Grade, NoTruthValue, PasshatError
from passhat.graders import all_of, any_of, exact, grade, judge, not_, trace, value, weighted
from passhat.graders._check import Check


@pytest.mark.parametrize(
    "check",
    [trace.never("refund"), exact(), all_of(exact()), not_(exact()), judge.rubric("polite", "Is it polite?")],
    ids=lambda check: check.name,
)
def test_a_check_that_nobody_asked_is_neither_true_nor_false(check: Check) -> None:
    with pytest.raises(NoTruthValue, match=r"was asked of nothing: write check\.verify\(x\), such as \.verify\(faux\)"):
        assert check
    with pytest.raises(NoTruthValue):
        assert not check


@pytest.mark.parametrize("passed", [True, False, None])
def test_a_grade_is_neither_true_nor_false_whatever_it_says(passed: bool | None) -> None:
    with pytest.raises(NoTruthValue, match=rf"passed={passed}, 'why'\): say grade\.passed is True, or in a test check"):
        assert Grade(passed, "why")
    with pytest.raises(NoTruthValue):
        assert not Grade(passed)


def test_the_error_is_a_user_s_to_mend_and_a_type_error() -> None:
    assert issubclass(NoTruthValue, PasshatError)
    assert issubclass(NoTruthValue, TypeError)


def test_the_grade_of_a_check_in_an_assert_fails_closed_when_nothing_was_seen(talk: Any) -> None:
    with pytest.raises(NoTruthValue, match="no model call was seen"):
        assert not trace.called("refund")(talk.trial())


def test_a_grader_that_takes_a_grade_for_a_truth_value_is_in_error_and_never_passes() -> None:
    def careless(trial: Any) -> bool:
        return bool(exact(value("right"))(trial))

    found = grade(careless, "wrong")
    assert (found.passed, "grade.passed is True" in str(found.error)) == (None, True)


def test_parts_of_a_combination_that_are_open_leave_it_open() -> None:
    def unknown(trial: Any) -> Grade:
        return Grade(None, "no idea")

    for both in (
        all_of(unknown, exact(value("a"))),
        any_of(unknown, exact(value("b"))),
        weighted([unknown, exact(value("a"))], 0.6),
    ):
        assert grade(both, "a").passed is None
