"""An argument's name that the tool doesn't have is an error, since a check that waits for it would never meet it."""

from typing import Any

import pytest

from passhat.facts import Grade, Message, ModelCall, ToolCall, ToolOffer, Transcript
from passhat.graders import not_, run_grader, trace

ORDER = {"type": "object", "properties": {"id": {"type": "string"}, "year": {"type": "integer"}}}
CLOSED = {
    "type": "object",
    "properties": {
        "amount": {"type": "number"},
        "order": {"$ref": "#/$defs/Order"},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "to": {"anyOf": [{"$ref": "#/$defs/Order"}, {"type": "null"}]},
        "extra": {"type": "object"},
    },
    "additionalProperties": False,
    "$defs": {"Order": ORDER},
}
TYPO = {"amuont": 5}
CALLED = {"amount": 20, "order": {"id": "A1"}}


def talk(schema: Any = CLOSED, *arguments: Any) -> Transcript:
    """A model that is offered refund and look, and calls refund once with each of the arguments."""
    wishes = tuple(ToolCall(f"c{index}", "refund", each) for index, each in enumerate(arguments))
    results = tuple(Message("tool", "ok", call_id=wish.id) for wish in wishes)
    asked, reply = Message("user", "hi"), Message("assistant", "", wishes)
    offers = (ToolOffer("refund", parameters=schema), ToolOffer("look", parameters={"type": "object"}))
    return Transcript(
        (
            ModelCall(0, 0.5, "chat", "scripted", messages=(asked,), tools=offers, reply=reply),
            ModelCall(
                1, 0.5, "chat", "scripted", messages=(asked, reply, *results), tools=offers, reply=Message("assistant")
            ),
        )
    )


def ask(check: Any, transcript: Transcript) -> Grade:
    return run_grader(check, transcript)


VACUOUS = {
    "never": trace.never("refund", arguments=TYPO),
    "then": trace.before("look", "refund", then_arguments=TYPO),
    "first": trace.after("look", "refund", first_arguments=TYPO),
    "confirmed": trace.confirmed("refund", TYPO),
}
AWAITED = {
    "called": trace.called("refund", TYPO),
    "calls": trace.calls([("refund", TYPO)]),
    "an error": trace.returned_error("refund", TYPO),
    "not called": not_(trace.called("refund", TYPO)),
}
ERROR = "unknown argument 'amuont' of refund: no request offered it (offered: amount, extra, note, order, to); correct"


@pytest.mark.parametrize("check", [*VACUOUS.values(), *AWAITED.values()], ids=[*VACUOUS, *AWAITED])
@pytest.mark.parametrize("calls", [(), (CALLED,)], ids=["no call", "a call"])
def test_a_name_that_the_schema_lacks_is_an_error(check: Any, calls: tuple[Any, ...]) -> None:
    found = ask(check, talk(CLOSED, *calls))
    assert (found.passed, ERROR in str(found.error)) == (None, True), found


@pytest.mark.parametrize("check", VACUOUS.values(), ids=VACUOUS)
def test_the_error_names_the_way_out_where_there_is_one(check: Any) -> None:
    assert str(ask(check, talk()).error).endswith("correct the name, or say unoffered_ok=True")


def test_the_way_out_is_one() -> None:
    for check in (
        trace.never("refund", arguments=TYPO, unoffered_ok=True),
        trace.before("look", "refund", then_arguments=TYPO, unoffered_ok=True),
        trace.after("look", "refund", first_arguments=TYPO, unoffered_ok=True),
        trace.confirmed("refund", TYPO, unoffered_ok=True),
    ):
        assert ask(check, talk(CLOSED, CALLED)).passed is True


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        (trace.whole({"amuont": 1}), "'amuont'"),
        ({"order": {"idd": "A1"}}, "'order.idd' of refund: no request offered it (offered: id, year)"),
        ({"to": {"idd": "A1"}}, "'to.idd'"),
        ({"amuont": 1, "note": "x", "oder": 1}, "arguments 'amuont', 'oder'"),
    ],
)
def test_names_are_looked_up_as_deep_as_the_schema_tells(wanted: Any, name: str) -> None:
    assert name in str(ask(trace.never("refund", arguments=wanted), talk()).error)


@pytest.mark.parametrize(
    "wanted",
    [
        None,
        {"amount": 1, "order": {"id": "x", "year": 1}, "note": None, "to": {"id": 1}},
        {"extra": {"anything": 1}},
        {"note": {"deeper": 1}},
        trace.whole({"amount": 1}),
        lambda arguments: False,
    ],
    ids=["none", "right", "an open field", "a text that is no object", "whole", "a function"],
)
def test_names_that_the_schema_has_are_no_error(wanted: Any) -> None:
    assert ask(trace.never("refund", arguments=wanted), talk()).passed is True


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {"type": "object"},
        {**CLOSED, "additionalProperties": True},
        {**CLOSED, "additionalProperties": {"type": "string"}},
        {**CLOSED, "patternProperties": {"^x-": {}}},
        {"allOf": [CLOSED, {"$ref": "other.json"}]},
        {"$ref": "#/$defs/Me", "$defs": {"Me": {"$ref": "#/$defs/Me"}}},
        "no schema",
    ],
    ids=["none", "bare", "open", "of a kind", "by pattern", "elsewhere", "a circle", "text"],
)
def test_a_schema_that_does_not_tell_all_names_makes_no_error(schema: Any) -> None:
    assert ask(trace.never("refund", arguments=TYPO), talk(schema)).passed is True
    assert ask(trace.called("refund", TYPO), talk(schema, CALLED)).passed is False


def test_a_name_that_a_call_had_is_known_whatever_the_schema_says() -> None:
    sent = talk(CLOSED, {"amuont": 7})
    assert ask(trace.never("refund", arguments=TYPO), sent).passed is True
    assert ask(trace.never("refund", arguments={"amuont": 7}), sent).passed is False


def test_a_name_of_one_of_the_tools_will_do() -> None:
    assert ask(trace.never("refund", "look", arguments=TYPO), talk()).passed is True  # look's schema tells no names
    first = talk().events[0]
    assert isinstance(first, ModelCall)
    two = (ToolOffer("refund", parameters=CLOSED), ToolOffer("look", parameters={**ORDER}))
    both = Transcript((ModelCall(0, 0.5, "chat", "scripted", messages=first.messages, tools=two, reply=first.reply),))
    assert ask(trace.never("refund", "look", arguments={"year": 1}), both).passed is True
    assert "'amuont' of refund or look" in str(ask(trace.never("refund", "look", arguments=TYPO), both).error)


@pytest.mark.parametrize("check", VACUOUS.values(), ids=VACUOUS)
@pytest.mark.parametrize("schema", [None, {"type": "object"}, "no schema", {**CLOSED, "additionalProperties": True}])
def test_a_name_that_neither_a_schema_nor_a_call_has_is_unknown(check: Any, schema: Any) -> None:
    found = ask(check, talk(schema, CALLED, {"note": "x"}))
    assert (found.passed, found.error) == (None, None)
    assert found.reason == (
        "no call of refund had 'amuont' (they had: amount, note, order), and no request tells whether there is one of "
        "that name; correct it, or say unoffered_ok=True"
    )
    assert ask(not_(check), talk(schema, CALLED)).passed is None
    uncalled = ask(check, talk(schema))
    assert (uncalled.passed, uncalled.reason) == (True, "")  # whatever was meant, no call had it


def test_a_pass_for_want_of_an_argument_says_so_where_the_name_is_right() -> None:
    open_ = {**CLOSED, "additionalProperties": True}
    for found in (
        ask(trace.never("refund", arguments={"extra": 1}), talk(open_, CALLED)),
        ask(trace.never("refund", arguments={"extra": 1}, unoffered_ok=True), talk(None, CALLED)),
    ):
        assert (found.passed, found.reason) == (True, "no call of refund had 'extra' (they had: amount, order)")


@pytest.mark.parametrize("check", [*VACUOUS.values(), *AWAITED.values()], ids=[*VACUOUS, *AWAITED])
@pytest.mark.parametrize(
    "schema", [{"type": "object", "properties": {}}, {"type": "object", "additionalProperties": False}]
)
def test_a_tool_that_takes_no_arguments_has_none_of_any_name(check: Any, schema: Any) -> None:
    found = ask(check, talk(schema, {}))
    assert (found.passed, "no request offered it (offered: none)" in str(found.error)) == (None, True), found
