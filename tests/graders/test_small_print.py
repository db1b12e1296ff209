"""Texts that look alike, numbers of other countries, and makers that aren't functions."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from passhat.facts import Task
from passhat.graders import answers, exact, outcome
from passhat.graders import grade as run_grade
from passhat.trial import FinishedTrial


@pytest.mark.parametrize(
    ("expected", "found", "told"),
    [
        ("caf\u00e9", "cafe\u0301", "they look alike: expected U+00E9, found U+0065 U+0301"),
        ("a b", "a\u00a0b", "expected U+0020 U+0062, found U+00A0 U+0062"),
        ("ok", "ok\u200b", "expected the end, found U+200B"),
        ({"a": ["\u00e9"]}, {"a": ["e\u0301"]}, "a[0]: expected 'é', found 'e\u0301'; they look alike"),
    ],
)
def test_texts_that_look_alike_are_told_apart_by_their_code_points(expected: Any, found: Any, told: str) -> None:
    grade = run_grade(exact(), found, expected=expected)
    assert grade.passed is False
    assert told in grade.reason


def test_texts_that_do_not_look_alike_are_just_shown() -> None:
    assert "look alike" not in run_grade(exact(), "e", expected="é").reason


def test_cells_that_look_alike_too(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "s.db") as database:
        database.execute("create table t(a, b)")
        database.execute("insert into t values (1, ?)", ["e\u0301"])
    database.close()
    grade = run_grade(outcome.rows("s.db", "select a, b from t", [[1, "\u00e9"]]), workspace=tmp_path)
    assert "(they look alike: expected U+00E9, found U+0065 U+0301)" in grade.reason


@pytest.mark.parametrize("text", ["1 234,5", "1 234.5", "1\u00a0234,5", "1\u202f234,50", "1234,5"])
def test_blanks_between_thousands_go_with_either_decimal_mark(text: str) -> None:
    assert run_grade(answers.numeric(separators=" "), text, expected=1234.5).passed is True


def test_a_blank_does_not_make_two_decimal_marks_one_number() -> None:
    assert run_grade(answers.numeric(separators=" "), "1,234.5", expected=1234.5).passed is False


def test_a_unit_that_is_written_otherwise_is_named() -> None:
    reason = run_grade(answers.numeric(unit=["USD"]), "5 usd", expected=5).reason
    assert "a unit is read as it is written: 'USD'" in reason
    assert run_grade(answers.numeric(unit=["USD", "usd"]), "5 usd", expected=5).passed is True


@pytest.mark.parametrize("name", ["workspace", "environment", "diff", "services"])
def test_a_finished_trial_is_given_functions_and_says_so(name: str, tmp_path: Path) -> None:
    wrong: dict[str, Any] = {name: tmp_path}
    with pytest.raises(TypeError, match=rf"FinishedTrial\({name}=.*must be a function"):
        FinishedTrial(Task("t"), **wrong)
