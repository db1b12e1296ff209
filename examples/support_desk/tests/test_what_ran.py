"""What happened, under a scripted model: which tools ran, which were stopped, and what that did to the shop.

The agent is unmodified: its client finds the script by its usual variables.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from openai import OpenAI

from agent import MAX_STEPS, answer
from desk import SCHEMAS
from passhat.graders import trace
from passhat.pytest_plugin import Faux
from passhat.scripting import call, reply, say
from shop import Shop, seed

DATA = {
    "today": "2026-11-20",
    "customers": [{"name": "Mara Lindt", "email": "mara@example.org", "postcode": "8004"}],
    "orders": [
        {
            "number": "A1",
            "customer": "mara@example.org",
            "status": "delivered",
            "placed": "2026-11-01",
            "delivered": "2026-11-08",
            "ship_to": "Langstrasse 12, 8004 Zurich",
            "lines": [{"sku": "JMP", "title": "Jumper", "quantity": 2, "price_cents": 8900}],
        }
    ],
}
VERIFY = call("verify_customer", {"email": "mara@example.org", "postcode": "8004"})
REFUND = call("issue_refund", {"order_number": "A1", "amount_cents": 8900, "reason": "torn"})
REFUND_ALL = call("issue_refund", {"order_number": "A1", "amount_cents": 17800, "reason": "torn"})
HAND_OVER = call(
    "escalate_to_human",
    {"topic": "refund_over_limit", "summary": "wants 178.00 back", "message": "You will be called."},
)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    seed(tmp_path / "shop.db", DATA)
    with Shop(tmp_path / "shop.db") as shop:
        yield shop


def ask(faux: Faux, shop: Shop, message: str = "My jumper is torn, please refund it.") -> str:
    with OpenAI(max_retries=0) as client:
        return answer(message, shop=shop, client=client, watch=faux.tool)


def test_a_refund_within_the_limit_is_issued_once_after_the_customer_was_verified(faux: Faux, shop: Shop) -> None:
    faux.script(VERIFY, REFUND, say("You get 89.00 back."))
    ask(faux, shop)
    assert shop.refunded("A1") == 8900
    trace.before("verify_customer", "issue_refund", evidence="executed").verify(faux)
    trace.called("issue_refund", times=1, evidence="executed", recorded=True).verify(faux)
    trace.exactly(model_calls=3, repeats=0).verify(faux)


def test_a_blocked_call_has_no_effect_and_the_model_is_told(faux: Faux, shop: Shop) -> None:
    faux.script(VERIFY, REFUND_ALL, say("I can't refund that much."))
    ask(faux, shop)
    assert shop.refunded("A1") == 0
    trace.called("issue_refund").verify(faux)
    trace.never("issue_refund", evidence="executed", recorded=True).verify(faux)
    trace.returned_error("issue_refund").verify(faux)
    assert "above the assistant's limit" in faux.requests[-1].messages[-1].text


def test_a_tool_outside_the_allowlist_never_runs(faux: Faux, shop: Shop) -> None:
    faux.script(VERIFY, call("drop_table", {"name": "orders"}), say("I can't do that."))
    ask(faux, shop)
    assert shop.get_order("A1")["status"] == "delivered"
    trace.only(*SCHEMAS, evidence="executed", recorded=True).verify(faux)
    with pytest.raises(AssertionError, match="drop_table"):
        trace.only(*SCHEMAS).verify(faux)  # it was asked for all the same
    assert "there is no tool 'drop_table'" in faux.requests[-1].messages[-1].text


def test_handing_over_ends_the_work_without_another_request(faux: Faux, shop: Shop) -> None:
    faux.script(VERIFY, HAND_OVER)
    assert "ticket" in ask(faux, shop)
    trace.exactly(model_calls=2, turns=2).verify(faux)
    assert shop.refunded("A1") == 0


def test_what_stands_beside_a_hand_over_doesnt_run_after_it(faux: Faux, shop: Shop) -> None:
    faux.script(VERIFY, reply(HAND_OVER, REFUND))
    ask(faux, shop)
    assert shop.refunded("A1") == 0
    trace.never("issue_refund", evidence="executed", recorded=True).verify(faux)


def test_the_cheap_path_makes_one_request(faux: Faux, shop: Shop) -> None:
    faux.script(say("Which email address and postcode are on the order?"))
    ask(faux, shop, "Where is my order?")
    trace.exactly(model_calls=1, tool_calls=0).verify(faux)


def test_a_model_that_never_comes_to_an_end_is_handed_over(faux: Faux, shop: Shop) -> None:
    faux.script(*[call("search_policy", {"query": "refunds"})] * MAX_STEPS)
    assert "a colleague will answer you" in ask(faux, shop)
    assert faux.call_count == MAX_STEPS


def test_internal_ids_that_the_model_writes_are_taken_out(faux: Faux, shop: Shop) -> None:
    ref = shop.get_order("A1")["ref"]
    faux.script(say(f"Your order {ref} has shipped."))
    assert ref not in ask(faux, shop)
    with pytest.raises(AssertionError):
        trace.text_never(trace.UUID).verify(faux)
