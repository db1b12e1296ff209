"""A model asks for ``functions.refund`` or ``Refund`` where ``refund`` is on offer: nothing tells what became of it."""

from typing import Any

import pytest

from passhat.facts import Grade
from passhat.graders import not_, run_grader, trace
from passhat.graders.trace._lookalikes import lookalikes

STRANGE = [
    "functions.refund",
    "Refund",
    "REFUND",
    "shop/refund",
    "mcp:refund",
    "mcp__shop__refund",
    "shop-refund",
    " refund",
]
OTHERS = ["partial_refund", "refunds", "refund.status", "Refunds", "prerefund"]


def ask(check: Any, talk: Any) -> Grade:
    grade = run_grader(check, talk.trial())
    assert grade.error is None, grade.error
    return grade


def asked(talk: Any, name: str, *before: str, result: str = "ok") -> Any:
    """Tools that were asked for in turn, on an offer of three."""
    talk.offer("get", "refund", "orders.get").user("Refund A1")
    for tool in before:
        talk.model("", tool).results("ok")
    return talk.model("", (name, {"order": "A1"})).results(result).model("done")


@pytest.mark.parametrize("strange", STRANGE)
@pytest.mark.parametrize(
    "check",
    [
        trace.never("refund"),
        trace.never("refund", arguments={"order": "A1"}),
        trace.never("refund", evidence="executed"),
        trace.only("refund"),
        trace.called("refund"),
        trace.called("refund", {"order": "A1"}),
        trace.called("refund", evidence="returned"),
        trace.at_most(tool_calls=0, of="refund"),
        trace.exactly(tool_calls=1, of="refund"),
        trace.before("get", "refund"),
        trace.after("get", "refund"),
        trace.confirmed("refund"),
        trace.calls(["refund"]),
        trace.calls([("refund", {"order": "A1"})], extras=False),
    ],
    ids=lambda check: str(check.name)[:30],
)
def test_a_name_that_an_agent_may_take_for_the_judged_one_leaves_it_open(check: Any, strange: str, talk: Any) -> None:
    grade = ask(check, asked(talk, strange))
    assert grade.passed is None
    assert f"{strange!r} for 'refund'" in grade.reason
    assert f"turn 1: {strange}(order='A1')" in grade.reason
    assert ask(not_(check), talk).passed is None


@pytest.mark.parametrize("other", OTHERS)
def test_other_names_are_other_tools(other: str, talk: Any) -> None:
    asked(talk, other)
    assert ask(trace.never("refund"), talk).passed is True
    assert ask(trace.called("refund"), talk).passed is False
    assert ask(trace.only("refund"), talk).passed is False


def test_names_that_are_offered_are_exact(talk: Any) -> None:
    asked(talk, "orders.get")
    assert ask(trace.never("get"), talk).passed is True
    assert ask(trace.called("get"), talk).passed is False
    assert ask(trace.only("get"), talk).passed is False
    longer = asked(type(talk)(), "functions.orders.get")  # is like the longer name, not like both
    assert ask(trace.never("get"), longer).passed is True
    assert ask(trace.never("orders.get"), longer).passed is None
    assert ask(trace.never("refund"), longer).passed is True


def test_it_says_what_would_be_if_the_agent_took_the_name(talk: Any) -> None:
    asked(talk, "functions.refund")
    never = ask(trace.never("refund"), talk).reason
    assert never == (
        "no request offered what the model asked for in turn 1: functions.refund(order='A1'); nothing tells whether "
        "the agent takes 'functions.refund' for 'refund', with which it would fail: "
        "forbidden: turn 1: refund(order='A1')"
    )
    assert ask(trace.called("refund"), talk).reason.endswith("'refund', with which it would pass")


def test_what_is_the_same_either_way_decides(talk: Any) -> None:
    asked(talk, "functions.refund", "refund")
    assert ask(trace.never("refund"), talk).passed is False
    assert ask(trace.called("refund"), talk).passed is True
    assert ask(trace.called("refund", times=1), talk).passed is None
    assert ask(trace.never("refund", arguments={"order": "B7"}), talk).passed is None
    assert ask(trace.before("get", "refund"), talk).passed is False
    got = asked(type(talk)(), "functions.refund", "get")
    assert ask(trace.before("get", "refund"), got).passed is True
    assert ask(trace.called("refund", {"order": "B7"}), got).passed is False
    assert ask(trace.at_most(tool_calls=2, of="refund"), got).passed is True


def test_a_confirmed_call_by_such_a_name_passes(talk: Any) -> None:
    talk.offer("refund").user("Refund A1").model("Shall I?").user("yes").model("", "functions.refund")
    assert ask(trace.confirmed("refund"), talk.results("ok").model("done")).passed is True


def test_what_is_recorded_tells(talk: Any) -> None:
    talk.offer("get", "refund").model("", ("functions.refund", {"order": "A1"})).run("refund", {"order": "A1"})
    talk.results("ok").model("done")
    assert ask(trace.never("refund"), talk).passed is False
    assert ask(trace.called("refund", evidence="executed"), talk).passed is True
    nothing = asked(type(talk)(), "functions.refund", result="Unknown tool")
    assert ask(trace.never("refund", evidence="executed", recorded=True), nothing).passed is True
    assert ask(trace.called("refund", evidence="executed", recorded=True), nothing).passed is False


def test_a_call_by_such_a_name_may_repeat_another(talk: Any) -> None:
    asked(talk, "functions.refund").offer("get", "refund").model("", ("refund", {"order": "A1"})).results("ok")
    assert ask(trace.exactly(repeats=0), talk.model("done")).passed is None
    assert ask(trace.at_most(repeats=1), talk).passed is True


def test_a_handoff_and_an_error_by_such_a_name_are_open(talk: Any) -> None:
    talk.offer("transfer_to_person", "get").model("", "functions.transfer_to_person").results("Error: no")
    talk.event("record", "x").model("sorry")
    assert ask(trace.handed_off(tool="transfer_to_person"), talk).passed is False  # it failed, by whatever name
    assert ask(trace.returned_error("transfer_to_person"), talk).passed is None
    moved = type(talk)().offer("transfer_to_person").model("", "functions.transfer_to_person").results("ok")
    moved.event("record", "x").model("bye")
    assert ask(trace.handed_off("person"), moved).passed is None
    assert ask(trace.handed_off(tool="transfer_to_person"), moved).passed is None


def test_a_banned_name_that_is_itself_unknown_stays_an_error(talk: Any) -> None:
    talk.offer("get").model("", "functions.refund").results("ok").model("done")
    assert "unknown tool 'refund'" in str(run_grader(trace.never("refund"), talk.trial()).error)
    assert ask(trace.never("refund", unoffered_ok=True), talk).passed is None


def test_the_nearest_name_is_meant(talk: Any) -> None:
    asked(talk, "functions.orders.get")
    assert lookalikes(talk.transcript, ["get", "orders.get"]) == {"functions.orders.get": "orders.get"}
    assert lookalikes(talk.transcript, []) == {}
