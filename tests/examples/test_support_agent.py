"""The example's agent on the wire: the official client against scripted replies."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI

from passhat.facts import Limits, ModelCall, ToolRun
from passhat.gateway import Gateway, Script
from passhat.graders import trace
from passhat.scripting import call, reply, say
from passhat.suite import discover
from passhat.trial import Recorder

FOLDER = Path(__file__).parents[2] / "examples" / "support_desk"
SUITE = discover(FOLDER)[0].suite
TASK = next(task for task in SUITE.load_tasks() if task.id == "refund-two-orders")
VERIFY = call("verify_customer", {"email": "lea.fontaine@example.org", "postcode": "69002"})


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    with Gateway() as gateway:
        yield gateway


class Conversation:
    """The agent's answer to a message with a scripted model, and what happened."""

    def __init__(self, gateway: Gateway, folder: Path, replies: list[Any] | Any) -> None:
        agent, shop = sys.modules["agent"], sys.modules["shop"]
        recorder = Recorder()
        session = gateway.open(
            Script(replies), sink=recorder.add, now=recorder.now, limits=Limits(model_calls=50), label="support"
        )
        shop.seed(folder / "shop.db", TASK.data)
        with shop.Shop(folder / "shop.db") as opened, OpenAI(**session.access.openai) as client:
            self.text = agent.answer("Refund both, please.", shop=opened, client=client, watch=recorder.tool)
            self.refunded = {number: opened.refunded(number) for number in ("A1008", "A1009")}
            self.ref = opened.get_order("A1008")["ref"]
        self.transcript = recorder.transcript()
        self.runs = [event for event in self.transcript.events if isinstance(event, ToolRun)]
        self.calls = [event for event in self.transcript.events if isinstance(event, ModelCall)]


def refund(order: str, cents: int) -> Any:
    return call("issue_refund", {"order_number": order, "amount_cents": cents, "reason": "dirty"})


def test_several_tools_in_one_reply_run_in_order_and_each_gets_its_own_result(gateway: Gateway, tmp_path: Path) -> None:
    replies = [VERIFY, reply(refund("A1008", 2400), refund("A1009", 2800)), say("Both are refunded.")]
    talk = Conversation(gateway, tmp_path, replies)
    assert talk.refunded == {"A1008": 2400, "A1009": 2800}
    assert talk.text == "Both are refunded."
    uses = talk.transcript.tool_calls
    assert [(use.name, use.executed, use.error) for use in uses] == [
        ("verify_customer", True, False),
        ("issue_refund", True, False),
        ("issue_refund", True, False),
    ]
    assert ['"refunded_cents": 2400' in use.returned.text for use in uses if use.returned is not None] == [
        False,
        True,
        False,
    ]
    trace.before("verify_customer", "issue_refund").verify(talk)


def test_the_models_mistakes_come_back_to_it_as_results(gateway: Gateway, tmp_path: Path) -> None:
    replies = [
        call("refund_order", {"id": "A1008"}),
        call("issue_refund", "{not json"),
        call("get_order", {"order_number": "A4242"}),
        refund("A1008", 10_001),
        say("I could not do it."),
    ]
    talk = Conversation(gateway, tmp_path, replies)
    results = [message.text for message in talk.calls[-1].messages if message.role == "tool"]
    said = ("there is no tool 'refund_order'", "must be a JSON object", "there is no order A4242", "assistant's limit")
    assert [words in text for words, text in zip(said, results, strict=True)] == [True] * 4
    assert [run.blocked for run in talk.runs] == [True, True, False, True]
    assert talk.refunded == {"A1008": 0, "A1009": 0}


def test_handing_over_ends_the_conversation_without_asking_the_model_again(gateway: Gateway, tmp_path: Path) -> None:
    hand_over = {"topic": "customer_request", "summary": "wants a call", "message": "Somebody will call you."}
    replies = [reply(call("escalate_to_human", hand_over), refund("A1008", 2400))]
    talk = Conversation(gateway, tmp_path, replies)
    assert talk.text == "Somebody will call you. (Your ticket is T501.)"
    assert talk.refunded["A1008"] == 0
    assert len(talk.calls) == 1


def test_an_internal_id_is_taken_out_of_the_last_word(gateway: Gateway, tmp_path: Path) -> None:
    ref = Conversation(gateway, tmp_path, [say("?")]).ref
    (tmp_path / "again").mkdir()
    assert Conversation(gateway, tmp_path / "again", [say(f"Your order is {ref}.")]).text == "Your order is [internal]."


def test_a_model_that_goes_in_circles_is_stopped_and_a_colleague_takes_over(gateway: Gateway, tmp_path: Path) -> None:
    talk = Conversation(gateway, tmp_path, lambda request: call("search_policy", {"query": "refund"}))
    assert len(talk.calls) == 10
    assert "a colleague will answer you" in talk.text
