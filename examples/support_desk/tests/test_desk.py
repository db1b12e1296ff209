"""The parts that are plain code are tested as plain code: no model, no trials, milliseconds.

Run with ``pytest`` in ``examples/support_desk``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent import redact
from desk import REFUND_LIMIT_CENTS, Desk, PolicyLimit, Status, check_refund
from shop import Shop, ShopError, seed

ORDER = {
    "number": "A1",
    "customer": "mara@example.org",
    "status": "delivered",
    "placed": "2026-11-01",
    "delivered": "2026-11-08",
    "ship_to": "Langstrasse 12, 8004 Zurich",
    "lines": [{"sku": "JMP", "title": "Jumper", "quantity": 2, "price_cents": 8900}],
}
DATA = {
    "today": "2026-11-20",
    "customers": [{"name": "Mara Lindt", "email": "mara@example.org", "postcode": "8004"}],
    "orders": [ORDER],
}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    seed(tmp_path / "shop.db", DATA)
    with Shop(tmp_path / "shop.db") as shop:
        yield shop


def use(desk: Desk, tool: str, **arguments: object) -> dict[str, object]:
    return desk.use(tool, json.dumps(arguments))


def test_a_refund_over_the_policy_limit_raises() -> None:
    check_refund(REFUND_LIMIT_CENTS)
    with pytest.raises(PolicyLimit, match="12000 cents on one order"):
        check_refund(4_000, refunded_cents=8_000)


def test_no_words_of_a_model_get_a_refund_past_the_limit(shop: Shop) -> None:
    desk = Desk(shop)
    assert "refunded_cents" in use(desk, "issue_refund", order_number="A1", amount_cents=8_900, reason="torn")
    second = use(desk, "issue_refund", order_number="a-1", amount_cents=8_900, reason="torn as well")
    assert "above the assistant's limit" in str(second["error"])
    assert shop.refunded("A1") == 8_900


def test_internal_ids_never_reach_the_customer(shop: Shop) -> None:
    ref = shop.get_order("A1")["ref"]
    assert ref not in redact(f"Your order {ref} has shipped.")
    assert ref[:8] not in redact(f"Ids: {ref.upper()}, {ref.replace('-', '')}").lower()


def test_handing_over_to_a_person_closes_the_bots_session(shop: Shop) -> None:
    desk = Desk(shop)
    use(
        desk,
        "escalate_to_human",
        topic="customer_request",
        summary="wants a call",
        message="You will be called.",
    )
    assert desk.status is Status.HUMAN
    assert not desk.bot_can_reply()
    assert "handed over" in str(use(desk, "issue_refund", order_number="A1", amount_cents=100, reason="late")["error"])
    assert shop.refunded("A1") == 0


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("refund_everything", "{}", "there is no tool 'refund_everything'"),
        ("get_order", "{order}", "must be a JSON object, not '{order}'"),
        ("get_order", "[]", "must be a JSON object, not []"),
        ("get_order", '{"number": "A1"}', "missing ['order_number'], unknown ['number']"),
        (
            "issue_refund",
            '{"order_number": "A1", "amount_cents": "20", "reason": ""}',
            "amount_cents must be of type integer",
        ),
        ("get_order", '{"order_number": "A7"}', "there is no order A7"),
    ],
)
def test_a_wrong_call_tells_the_model_what_was_wrong(shop: Shop, tool: str, arguments: str, said: str) -> None:
    assert said in Desk(shop).use(tool, arguments)["error"]


def test_an_order_is_refundable_for_thirty_days_and_not_one_more(tmp_path: Path) -> None:
    for day, ok in (("2026-12-08", True), ("2026-12-09", False)):
        seed(tmp_path / f"{day}.db", {**DATA, "today": day})
        with Shop(tmp_path / f"{day}.db") as shop:
            if ok:
                assert shop.issue_refund("A1", 100, "late")["refunded_cents"] == 100
            else:
                with pytest.raises(ShopError, match="delivered 31 days ago"):
                    shop.issue_refund("A1", 100, "late")
