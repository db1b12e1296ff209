"""Tasks that ask the same thing in another spelling, and those that only look alike."""

from __future__ import annotations

from typing import Any

import pytest

from passhat import Task
from passhat.auditing._duplicates import duplicate_findings

LONG = "Hello, I don't want the blue scarf any more, please send me a new one to the same address."


def rules(*inputs: Any, **changes: Any) -> list[str]:
    tasks = [Task(f"t{n}", input=text, **changes) for n, text in enumerate(inputs)]
    return [each.rule for each in duplicate_findings(tasks)]


@pytest.mark.parametrize(
    "other",
    [
        LONG.upper(),
        LONG.replace("don't", "do not"),
        LONG.replace("don't", "don\u2019t").replace(",", " -").replace(".", "!!"),
        f"  {LONG}  ".replace(" ", "  "),
        LONG.replace("scarf", "sc\u00e4rf"),
    ],
)
def test_the_same_in_another_spelling_is_a_duplicate(other: str) -> None:
    assert rules(LONG, other) == ["duplicate-input"]


@pytest.mark.parametrize(
    ("one", "other"),
    [("It's broken.", "It is broken"), ("I can't and won't", "I cannot and will not"), ("We're here", "we are here")],
)
def test_contractions_are_no_difference(one: str, other: str) -> None:
    assert rules(one, other) == ["duplicate-input"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Add 2 and 3.", "Add 2 and 4."),
        ("What is 2+3?", "What is 2*3?"),
        ("What is 2 + 3?", "What is 2 + -3?"),
        ("What is C?", "What is C++?"),
        ("Is 2.5 much?", "Is 25 much?"),
        (LONG, LONG.replace("don't want", "want")[:40]),
        ("東京の天気は?", "大阪の天気は?"),
        ("+", "-"),
        ({"a": 1}, {"a": 2}),
        ("Where are we? We were there.", "Where are we? We're there."),
    ],
)
def test_what_differs_in_what_it_says_is_none(one: Any, other: Any) -> None:
    assert rules(one, other) == []


def test_nearly_the_same_is_a_note_where_the_same_is_expected() -> None:
    other = LONG.replace("Hello", "Hi")
    (one,) = duplicate_findings([Task("a", input=LONG, expected=1), Task("b", input=other, expected=1)])
    assert (one.rule, one.severity, one.tasks) == ("nearly-duplicate", "note", ("a", "b"))
    assert not list(duplicate_findings([Task("a", input=LONG, expected=1), Task("b", input=other, expected=2)]))


def test_a_template_with_other_numbers_is_no_duplicate() -> None:
    template = "Hello, please send order {} once more to the address that you have of me, it never came."
    assert rules(*(template.format(number) for number in ("A1001", "A1002", "77", "78"))) == []


def test_different_data_make_different_tasks() -> None:
    tasks = [Task("a", input=LONG, data={"x": 1}), Task("b", input=LONG, data={"x": 2})]
    assert not list(duplicate_findings(tasks))
