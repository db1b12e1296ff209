"""What ran may have other arguments than what was asked for, and arguments that can't be read may be any."""

import re
from typing import Any

import pytest

from passhat.facts import Grade, Message, ModelCall, ToolCall, Transcript
from passhat.graders import not_, run_grader, trace

BIG = {"amount": lambda amount: amount > 100}
ASKED, RAN = {"order": "A1", "amount": 20}, {"order": "A1", "amount": 2000}
CUT, QUOTED = '{"order": "A1"', '{"order": "A1", "amount": 20}'


def ask(check: Any, talk: Any) -> Grade:
    grade = run_grader(check, talk if isinstance(talk, Transcript) else talk.trial())
    assert grade.error is None, grade.error
    return grade


def both(check: Any, talk: Any) -> tuple[bool | None, bool | None]:
    """The verdict, and that of its opposite."""
    return ask(check, talk).passed, ask(not_(check), talk).passed


@pytest.fixture
def desk(talk: Any) -> Any:
    """The model asks for a refund of 20, and the agent's code refunds 2000."""
    talk.offer("look", "refund").user("go").model("", ("refund", ASKED)).run("refund", RAN, call=1)
    return talk.results("ok").model("done")


def test_executed_means_the_arguments_that_ran(desk: Any) -> None:
    for recorded in (False, True):
        how: Any = {"evidence": "executed", "recorded": recorded}
        assert both(trace.never("refund", arguments=BIG, **how), desk) == (False, True)
        assert both(trace.called("refund", {"amount": 20}, times=1, **how), desk) == (False, True)
        assert both(trace.called("refund", {"amount": 2000}, times=1, **how), desk) == (True, False)
        assert both(trace.calls([("refund", {"amount": 20})], **how), desk) == (False, True)
        assert both(trace.calls([("refund", RAN)], extras=False, **how), desk) == (True, False)


def test_requested_means_the_arguments_that_were_asked_for(desk: Any) -> None:
    assert both(trace.called("refund", {"amount": 20}, times=1), desk) == (True, False)
    assert both(trace.called("refund", {"amount": 2000}), desk) == (False, True)
    assert both(trace.calls([("refund", ASKED)], extras=False), desk) == (True, False)


def test_what_surely_ran_counts_against_a_ban_at_every_level(desk: Any) -> None:
    for evidence in ("requested", "returned", "executed"):
        assert both(trace.never("refund", arguments=BIG, evidence=evidence), desk) == (False, True)
    assert both(trace.never("refund", arguments={"amount": 20}), desk) == (False, True)
    assert both(trace.never("refund", arguments={"amount": 20}, evidence="executed"), desk) == (True, False)


def test_a_difference_is_told(desk: Any) -> None:
    assert ask(trace.never("refund", arguments=BIG), desk).reason == (
        "forbidden with {amount: what the predicate accepts}: "
        "turn 1: refund(order='A1', amount=20), ran as refund(order='A1', amount=2000)"
    )
    same = type(desk)().offer("refund").model("", ("refund", ASKED)).run("refund", {**ASKED, "amount": 20.0}, call=1)
    assert "ran as" not in ask(trace.never("refund"), same).reason


def test_a_name_that_only_a_run_had_is_known(talk: Any) -> None:
    talk.offer("refund").model("", ("refund", ASKED)).run("refund", {**ASKED, "fee": 1}, call=1).model("done")
    found = ask(trace.never("refund", arguments={"fee": 5}, evidence="executed"), talk)
    assert (found.passed, found.reason) == (True, "")


def test_order_and_confirmation_go_by_what_ran_too(desk: Any) -> None:
    for evidence in ("requested", "returned", "executed"):
        assert both(trace.before("look", "refund", then_arguments=BIG, evidence=evidence), desk) == (False, True)
        assert both(trace.after("look", "refund", first_arguments=BIG, evidence=evidence, recorded=True), desk) == (
            False,
            True,
        )
    small = {"amount": 20}
    assert ask(trace.before("look", "refund", then_arguments=small, evidence="executed"), desk).passed is True
    assert ask(trace.after("look", "refund", first_arguments=small, evidence="executed"), desk).passed is True
    assert both(trace.confirmed("refund", BIG), desk) == (False, True)
    desk.model("", "look").run("look", call=2)
    assert ask(trace.before("refund", "look", first_arguments=BIG, evidence="executed"), desk).passed is True
    assert ask(trace.before("refund", "look", first_arguments=small, evidence="executed"), desk).passed is False
    again = type(desk)().offer("look", "refund").model("", "look").run("look", call=1).model("", ("refund", ASKED))
    again.run("refund", RAN, call=2)
    assert ask(trace.after("refund", "look", later_arguments=BIG, evidence="executed"), again).passed is True
    assert ask(trace.after("refund", "look", later_arguments=small, evidence="executed"), again).passed is False


def test_without_a_record_nothing_tells_with_what_it_ran(talk: Any) -> None:
    talk.offer("refund").model("", ("refund", ASKED)).results("ok").model("done")
    assert both(trace.never("refund", arguments=BIG, evidence="executed"), talk) == (None, None)
    assert both(trace.called("refund", RAN, evidence="executed"), talk) == (None, None)
    assert ask(trace.never("refund", arguments=BIG, evidence="executed", recorded=True), talk).passed is True
    bare = type(talk)().offer("refund").model("", ("refund", ASKED))
    bare.run("refund", "no object", call=1)
    assert both(trace.never("refund", arguments=BIG, evidence="executed"), bare) == (None, None)
    assert both(trace.never("refund", arguments=BIG), bare) == (None, None)


def malformed(arguments: Any, mark: bool = True) -> Transcript:
    """A look, then a refund with such arguments; both results came back."""
    look, refund = ToolCall("1", "look", {}), ToolCall("2", "refund", arguments, malformed=mark)
    asked = (Message("user", "go"), Message("assistant", "", (look,)), Message("tool", "ok", call_id="1"))
    then = (*asked, Message("assistant", "", (refund,)), Message("tool", "ok", call_id="2"))
    replies = (asked[1], then[3], Message("assistant", "done"))
    sent = (asked[:1], asked, then)
    return Transcript(
        tuple(
            ModelCall(at, 0.1, "chat", "scripted", messages=messages, reply=reply)
            for at, (messages, reply) in enumerate(zip(sent, replies, strict=True))
        )
    )


UNREAD: list[Any] = [CUT, QUOTED, '"A1"', [1], None, 3]
A1 = {"order": "A1"}


@pytest.mark.parametrize("arguments", UNREAD, ids=repr)
@pytest.mark.parametrize(
    "wanted",
    [A1, {"order": "B2"}, {}, trace.whole(A1), lambda a: a == A1],
    ids=["its part", "others", "none", "whole", "function"],
)
def test_arguments_that_are_no_object_may_be_any(arguments: Any, wanted: Any) -> None:
    talk = malformed(arguments, mark=arguments == CUT)
    for check in (
        trace.never("refund", arguments=wanted, unoffered_ok=True),
        trace.called("refund", wanted),
        trace.called("refund", wanted, times=1),
        trace.calls([("refund", wanted)]),
        trace.calls(["look", ("refund", wanted)], ordered=True, extras=False),
        trace.before("refund", "refund", then_arguments=wanted),
        trace.after("delete", "refund", first_arguments=wanted, unoffered_ok=True),
        trace.after("refund", "look", later_arguments=wanted),
        trace.returned_error("delete", unoffered_ok=True) if wanted == {} else trace.never("refund", arguments=wanted),
    ):
        assert both(check, talk) == ((False, True) if check.name.startswith("delete returned") else (None, None)), check


def test_a_first_call_that_cannot_be_read_may_be_the_one_that_had_to_come_first() -> None:
    talk = malformed(CUT)
    seen = trace.before("look", "refund", then_arguments=A1)
    assert ask(seen, talk).passed is True  # whichever refund it was, a look came first
    swapped = [event for event in malformed(CUT).events if isinstance(event, ModelCall)]
    more = Message("assistant", "", (ToolCall("3", "delete", {}),))
    last = ModelCall(4, 0.1, "chat", "scripted", messages=swapped[-1].messages, reply=more)
    check = trace.before("refund", "delete", first_arguments=A1)
    found = ask(check, Transcript((*swapped, last)))
    assert found.passed is None
    assert 'arguments that are no JSON object could be any: turn 2: refund(\'{"order": "A1"\')' in found.reason
    assert ask(not_(check), Transcript((*swapped, last))).passed is None


def test_without_wanted_arguments_malformed_ones_are_a_call_like_any() -> None:
    talk = malformed(CUT)
    assert both(trace.never("refund"), talk) == (False, True)
    assert both(trace.called("refund", times=1), talk) == (True, False)
    assert both(trace.only("look", unoffered_ok=True), talk) == (False, True)
    assert both(trace.calls(["look", "refund"], extras=False), talk) == (True, False)


def test_the_record_of_what_ran_tells_where_the_request_cannot_be_read(talk: Any) -> None:
    talk.offer("refund").model("", ("refund", CUT)).run("refund", RAN, call=1).results("ok").model("done")
    assert both(trace.never("refund", arguments=A1, evidence="executed"), talk) == (False, True)
    assert both(trace.never("refund", arguments={"order": "B2"}, evidence="executed"), talk) == (True, False)
    assert both(trace.called("refund", A1, evidence="executed"), talk) == (True, False)
    assert both(trace.never("refund", arguments=A1), talk) == (False, True)
    assert both(trace.never("refund", arguments={"order": "B2"}), talk) == (None, None)


def test_an_error_of_a_call_that_cannot_be_read_may_be_the_one(talk: Any) -> None:
    talk.offer("refund").model("", ("refund", CUT)).results("Validation failed").model("sorry")
    assert both(trace.returned_error("refund", A1), talk) == (None, None)
    assert both(trace.returned_error("refund"), talk) == (True, False)
    fine = type(talk)().offer("refund").model("", ("refund", CUT)).results("ok").model("done")
    assert both(trace.returned_error("refund", A1), fine)[0] is not True


@pytest.mark.parametrize(
    ("calls", "least", "most"),
    [
        ([A1, CUT], 0, 1),
        ([CUT, CUT], 1, 1),
        ([CUT, QUOTED], 0, 1),
        ([A1, A1, CUT, QUOTED], 1, 3),
        ([CUT], 0, 0),
        (["ls", "pwd"], 0, 0),
        (["ls", "ls"], 1, 1),
    ],
)
def test_repeats_of_calls_that_cannot_be_read_are_between_two_numbers(
    talk: Any, calls: list[Any], least: int, most: int
) -> None:
    for arguments in calls:
        talk.offer("refund").model("", ("refund", arguments)).results("ok")
    for bound in range(5):
        known = False if bound < least else True if bound >= most else None
        assert ask(trace.at_most(repeats=bound), talk).passed is known
        equal = False if not least <= bound <= most else True if least == most else None
        assert ask(trace.exactly(repeats=bound), talk).passed is equal
    assert ask(trace.at_most(repeats=0, tool_calls=1, of="refund"), talk).passed is (len(calls) < 2)


def test_free_text_that_some_tools_take_is_read(talk: Any) -> None:
    talk.offer("shell").model("", ("shell", "rm -r x")).results("ok").model("done")
    assert both(trace.never("shell", arguments=re.compile(r"\brm\b")), talk) == (False, True)
    assert both(trace.never("shell", arguments=lambda text: "sudo" in text), talk) == (True, False)
    assert both(trace.called("shell", "rm -r x"), talk) == (True, False)
    assert both(trace.called("shell", {"command": "rm"}), talk) == (None, None)
    cut = malformed(CUT)
    assert both(trace.never("refund", arguments=re.compile("A1")), cut) == (False, True)
    assert both(trace.never("refund", arguments=re.compile("B2")), cut) == (None, None)


def test_a_list_without_others_counts_what_may_have_run_and_what_ran_unasked(talk: Any) -> None:
    talk.offer("look", "refund").model("", "look", "refund").run("look", call=1).results("ok", "ok").model("done")
    check = trace.calls(["look"], extras=False, evidence="executed")
    assert both(check, talk) == (None, None)
    assert ask(trace.calls(["look"], extras=False, evidence="executed", recorded=True), talk).passed is True
    aside = type(talk)().offer("look").model("", "look").results("ok").model("done").run("refund")
    assert both(trace.calls(["look"], extras=False), aside) == (False, True)


def test_what_code_did_without_a_request_must_be_followed_and_may_follow(talk: Any) -> None:
    talk.offer("refund", "receipt").model("done").run("refund")
    check = trace.after("receipt", "refund")
    assert both(check, talk) == (False, True)
    assert both(check, talk.run("receipt")) == (True, False)
