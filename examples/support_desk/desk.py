"""One conversation at the support desk: the tools the assistant has, what guards them, and when its part is over.

Nothing here knows of a model. `Desk.use` takes a tool call as a model writes it and always gives back a JSON object:
the result, or ``{"error": …}`` that tells the model what was wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from typing import Any, Protocol

from shop import Row, Shop, ShopError

REFUND_LIMIT_CENTS = 10_000
TOPICS = ("customer_request", "refund_over_limit", "legal_or_safety")
UNFINISHED = "unfinished"  # the assistant gave up; not for the model to choose


class PolicyLimit(ValueError):
    """The assistant isn't allowed to do this, whatever a model says; a colleague may be."""


class Status(StrEnum):
    """Who answers the customer."""

    BOT = "bot"
    HUMAN = "human"


class ToolInProgress(Protocol):
    """What a watcher gives for the time a tool runs."""

    def result(self, value: Any, /) -> Any: ...
    def blocked(self, reason: str, /) -> None: ...


class Watch(Protocol):
    """Told of every tool that runs; ``trial.tool`` of passhat is one, a logger could be another."""

    def __call__(
        self, name: str, arguments: Any = None, *, call_id: str | None = None
    ) -> AbstractContextManager[ToolInProgress]: ...


class _Nobody:
    def result(self, value: Any, /) -> Any:
        return value

    def blocked(self, reason: str, /) -> None:
        pass


@contextmanager
def unwatched(name: str, arguments: Any = None, *, call_id: str | None = None) -> Iterator[ToolInProgress]:
    """Watches nothing."""
    yield _Nobody()


def check_refund(amount_cents: int, refunded_cents: int = 0) -> None:
    """Raise `PolicyLimit` for a refund that takes an order's refunds above what the assistant may give.

    >>> check_refund(10_000)
    >>> check_refund(4_000, refunded_cents=8_000)
    Traceback (most recent call last):
    ...
    desk.PolicyLimit: 12000 cents on one order are above the assistant's limit of 10000; hand over to a colleague
    """
    total = amount_cents + refunded_cents
    if total > REFUND_LIMIT_CENTS:
        limit = f"the assistant's limit of {REFUND_LIMIT_CENTS}"
        raise PolicyLimit(f"{total} cents on one order are above {limit}; hand over to a colleague")


class Desk:
    """The assistant's side of one conversation. After `hand_off` the bot has nothing more to say or do."""

    def __init__(self, shop: Shop, watch: Watch = unwatched) -> None:
        self.shop = shop
        self.status = Status.BOT
        self.farewell = ""
        self._watch = watch
        self._tools: dict[str, Callable[..., Row]] = {
            "verify_customer": shop.verify_customer,
            "get_order": shop.get_order,
            "search_policy": shop.search_policy,
            "issue_refund": shop.issue_refund,
            "exchange_item": shop.exchange_item,
            "cancel_order": shop.cancel_order,
            "update_address": shop.update_address,
            "escalate_to_human": self.hand_off,
        }

    def bot_can_reply(self) -> bool:
        """Whether the conversation is still the assistant's."""
        return self.status is Status.BOT

    def hand_off(self, topic: str, summary: str, message: str, order_number: str = "") -> Row:
        """Open a ticket for a colleague and end the assistant's part; ``message`` is its last word to the customer."""
        if topic not in (*TOPICS, UNFINISHED):
            raise ShopError(f"{topic!r} is not a topic; the topics are {', '.join(TOPICS)}")
        ticket = self.shop.open_ticket(topic, order_number, summary)
        self.status = Status.HUMAN
        self.farewell = f"{message} (Your ticket is {ticket['ticket']}.)"
        return ticket

    def use(self, name: str, arguments: str, call_id: str | None = None) -> Row:
        """Run a tool as a model asks for it, with its arguments as JSON text; what is wrong with them is the result."""
        values = _parsed(arguments)
        try:
            with self._watch(name, values, call_id=call_id) as call:
                try:
                    self._guard(name, values)
                except (ShopError, PolicyLimit) as refusal:
                    call.blocked(str(refusal))
                    raise
                result = self._tools[name](**values)
                call.result(result)
                return result
        except (ShopError, PolicyLimit) as error:
            return {"error": str(error)}

    def _guard(self, name: str, values: Any) -> None:
        """What no words of a model can talk their way round."""
        if not self.bot_can_reply():
            raise PolicyLimit("the conversation was handed over to a colleague")
        if name not in self._tools:
            raise ShopError(f"there is no tool {name!r}; the tools are {', '.join(self._tools)}")
        _check_arguments(name, values)
        if name == "issue_refund":
            check_refund(values["amount_cents"], self.shop.refunded(values["order_number"]))


def _parsed(arguments: str) -> Any:
    """The arguments as JSON data, or as they are when they aren't JSON."""
    try:
        return json.loads(arguments or "{}")
    except json.JSONDecodeError:
        return arguments


def _check_arguments(name: str, values: Any) -> None:
    if not isinstance(values, dict):
        raise ShopError(f"the arguments of {name} must be a JSON object, not {values!r}")
    schema = SCHEMAS[name]
    missing = [key for key in schema["required"] if key not in values]
    unknown = [key for key in values if key not in schema["properties"]]
    if missing or unknown:
        raise ShopError(f"{name}: missing {missing}, unknown {unknown}")
    for key, value in values.items():
        kind = schema["properties"][key]["type"]
        if not isinstance(value, _TYPES[kind]) or isinstance(value, bool):
            raise ShopError(f"{name}: {key} must be of type {kind}, not {value!r}")


_TYPES: dict[str, type] = {"string": str, "integer": int}


def _schema(optional: tuple[str, ...] = (), **properties: str | dict[str, Any]) -> dict[str, Any]:
    full = {k: {"type": "string", "description": v} if isinstance(v, str) else v for k, v in properties.items()}
    required = [key for key in full if key not in optional]
    return {"type": "object", "properties": full, "required": required, "additionalProperties": False}


_ORDER = "The order number, for example A1001."
SCHEMAS: dict[str, dict[str, Any]] = {
    "verify_customer": _schema(
        email="The email address the customer gave.", postcode="The postcode the customer gave."
    ),
    "get_order": _schema(order_number=_ORDER),
    "search_policy": _schema(query="A few words about what you want to know."),
    "issue_refund": _schema(
        order_number=_ORDER,
        amount_cents={"type": "integer", "description": "Whole cents of the order's currency."},
        reason="Why, in a few words.",
    ),
    "exchange_item": _schema(
        order_number=_ORDER,
        from_sku="The sku on the order.",
        to_sku="The sku of the variant the customer wants instead.",
    ),
    "cancel_order": _schema(order_number=_ORDER),
    "update_address": _schema(
        order_number=_ORDER, address="The new address on one line, exactly as the customer wrote it."
    ),
    "escalate_to_human": _schema(
        optional=("order_number",),
        topic={"type": "string", "enum": list(TOPICS), "description": "What it is about."},
        order_number="The order it is about, if it is about one.",
        summary="What a colleague needs to know.",
        message="Your last message to the customer.",
    ),
}

DESCRIPTIONS = {
    "verify_customer": "Check an email address and postcode against an account; gives the customer's order numbers.",
    "get_order": "Look up an order: status, items, refunds so far, and the variants in stock of its items.",
    "search_policy": "Search the rules of the support desk.",
    "issue_refund": "Refund an amount of a delivered order to the payment method that was used.",
    "exchange_item": "Exchange an item of a delivered order for another size or colour.",
    "cancel_order": "Cancel an order that is still being processed.",
    "update_address": "Change the delivery address of an order that is still being processed.",
    "escalate_to_human": "Hand the conversation over to a colleague. This ends your part: do everything else first.",
}
