"""The builders say what is wrong with a reply before it is ever asked for."""

from __future__ import annotations

import pytest

from passhat.gateway import Reply, Script
from passhat.scripting import call, fail, reply, say, structured, think


def test_parts_are_joined_in_order() -> None:
    joined = reply(think("hm"), say("a"), say("b"), call("x"), call("y"), stop="length")
    assert (joined.thinking, joined.text, [c.name for c in joined.tool_calls]) == ("hm", "ab", ["x", "y"])
    assert joined.why_stopped == "length"


def test_arguments_that_are_valid_json_text_are_read_and_others_kept() -> None:
    assert call("x", '{"a": 1}').tool_calls[0].arguments == {"a": 1}
    assert call("x", "").tool_calls[0].arguments == {}
    broken = call("x", '{"a": ').tool_calls[0]
    assert (broken.arguments, broken.malformed) == ('{"a": ', True)
    assert call("x", "A1").tool_calls[0].arguments == "A1"  # what a model writes in place of an object


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: say({"a": 1}), r"use structured\(\)"),  # type: ignore[arg-type]
        (lambda: call(""), "name of a tool"),
        (lambda: call("refund", ["A1"]), r"call\('refund', \['A1'\]\): arguments have names"),  # type: ignore[arg-type]
        (lambda: fail(200), "not a failure"),
        (lambda: fail(302), "from 400 to 599"),
        (lambda: reply(say("x"), stop="pending"), "'pending' is not one that a provider sends"),
        (lambda: reply(say("x"), fail(500)), "can't be joined"),
        (lambda: Script("hello"), "a script is a list"),
        (lambda: Script([3]), "a reply must be text"),
    ],
)
def test_a_reply_that_makes_no_sense_is_refused(make: object, problem: str) -> None:
    with pytest.raises((TypeError, ValueError), match=problem):
        make()  # type: ignore[operator]


def test_structured_data_may_be_null() -> None:
    assert structured(None).structured is None
    assert reply(structured(None)).structured is None
    assert isinstance(reply(), Reply)
