"""Ids and words that look plain to a reader and are written otherwise."""

import re
import unicodedata
from typing import Any

import pytest

from passhat.graders import run_grader, trace
from passhat.graders.trace._shown import as_shown

ID = "123e4567-e89b-12d3-a456-426614174000"
BARE = ID.replace("-", "")


@pytest.mark.parametrize(
    "text",
    [
        "id 123e4567-e89b-12d3-a456\u200b-426614174000",
        "id 123e\u00ad4567-e89b-12d3-a4\u206056-426614174000\ufeff",
        ID.replace("-", "\u2011"),
        ID.replace("-", "\u2013"),
        ID.replace("-", "\uff0d"),
        ID.replace("a456-", "a456-\n"),
        "".join(chr(ord(char) + 0xFEE0) for char in ID),
        f"`{BARE}`",
        f"ref_{BARE.upper()}.",
        "\u200b".join(BARE),
    ],
    ids=ascii,
)
def test_an_id_is_found_as_it_looks(talk: Any, text: str) -> None:
    grade = run_grader(trace.text_never(trace.UUID), talk.model(text).trial())
    assert grade.passed is False
    assert grade.reason.startswith("turn 1: found '123")
    assert run_grader(trace.text_never(trace.UUID), type(talk)().model("ok").trial({"note": text})).passed is False
    assert run_grader(trace.text_never(ID), type(talk)().model(text).trial()).passed is True  # a pattern of one's own


@pytest.mark.parametrize(
    "text",
    [
        "9e107d9d372bb6826bd81d3542a419d6"[:12] + "0" + "72bb6826bd81d3542a419d6"[:19],  # no version
        BARE[:16] + "c" + BARE[17:],  # no variant
        BARE + "0",
        "a" + BARE,
        BARE * 2,
        "12345678-1234-1234-1234",
        "1234 5678 - 1234",
    ],
)
def test_other_digits_are_no_id(talk: Any, text: str) -> None:
    assert run_grader(trace.text_never(trace.UUID), talk.model(text).trial()).passed is True


def test_what_a_tool_tells_the_user_is_an_argument(talk: Any) -> None:
    talk.offer("reply").model("", ("reply", {"text": f"Your id is {ID}"})).results("ok").model("done")
    assert run_grader(trace.text_never(trace.UUID), talk.trial()).passed is True
    assert run_grader(trace.never("reply", arguments={"text": trace.UUID}), talk.trial()).passed is False
    assert run_grader(trace.never("reply", arguments={"text": re.compile("secret")}), talk.trial()).passed is True


@pytest.mark.parametrize(
    ("answer", "passed"),
    [
        ("\uff39\uff45\uff53", True),
        ("y\u200bes", True),
        ("yes\uff0c\u00a0but", None),
        ("n\u200bo", False),
        ("ok, don\u2019\u200bt", None),
        ("Are you sure\uff1f", False),
    ],
    ids=ascii,
)
def test_words_are_heard_as_they_look(talk: Any, answer: str, passed: bool | None) -> None:
    talk.offer("refund").user("hi").model("Shall I?").user(answer).model("", "refund").results("ok")
    assert run_grader(trace.confirmed("refund"), talk.model("done").trial()).passed is passed


def test_a_text_is_shown_letter_by_letter() -> None:
    assert as_shown("plain") == "plain"
    assert as_shown("\ufb01ne\u2026\u200b") == "fine..."
    marks = "a" + "\u0301\u0327" * 3
    assert as_shown(marks) == marks != unicodedata.normalize("NFKC", marks)
