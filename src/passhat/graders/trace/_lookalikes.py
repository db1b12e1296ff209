"""Names that a model asked for, that no request offered, and that an agent may take for a tool all the same.

Models write ``functions.refund`` or ``Refund`` now and then, and agents that drop a prefix run ``refund``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from passhat.facts import Event, Message, ModelCall, Transcript

_BEFORE = (".", "/", ":", "__", "-")  # what stands between a prefix and the name


def lookalikes(transcript: Transcript, names: Iterable[str]) -> dict[str, str]:
    """Requested names that no request offered, each with the one of ``names`` that an agent may take it for.

    It ends in that name, behind a mark that sets a prefix apart, or differs by case or blanks at its ends only. A name
    that was offered is exact: ``get`` and ``orders.get`` are two tools where both are on offer.

    >>> from passhat.facts import Message, ModelCall, ToolCall, ToolOffer
    >>> asked = Message("assistant", tool_calls=(ToolCall("1", "functions.refund"), ToolCall("2", "orders.get")))
    >>> offers = ToolOffer("refund"), ToolOffer("get"), ToolOffer("orders.get")
    >>> lookalikes(Transcript((ModelCall(1, 0, "chat", "scripted", tools=offers, reply=asked),)), ["refund", "get"])
    {'functions.refund': 'refund'}
    """
    judged = set(names)
    if not judged:
        return {}
    offered = transcript.offered
    asked = {wish.name for call in transcript.replies if call.reply for wish in call.reply.tool_calls}
    found: dict[str, str] = {}
    for strange in sorted(asked - offered - judged):
        nearest = max((name for name in offered | judged if _takes_for(strange, name)), key=len, default="")
        if nearest in judged:
            found[strange] = nearest
    return found


def as_meant(transcript: Transcript, names: Mapping[str, str]) -> Transcript:
    """The transcript in which the model asked for other names, by ``{asked for: meant}``; what ran keeps its name."""
    return Transcript(tuple(_renamed(event, names) for event in transcript.events), transcript.truncated)


def _takes_for(strange: str, name: str) -> bool:
    one, other = strange.strip().casefold(), name.strip().casefold()
    return one == other or any(one.endswith(mark + other) for mark in _BEFORE)


def _renamed(event: Event, names: Mapping[str, str]) -> Event:
    if not isinstance(event, ModelCall):
        return event
    messages = tuple(_said(message, names) for message in event.messages)
    return msgspec.structs.replace(event, messages=messages, reply=event.reply and _said(event.reply, names))


def _said(message: Message, names: Mapping[str, str]) -> Message:
    """The same object where nothing changes: results are told apart by it."""
    if not any(wish.name in names for wish in message.tool_calls):
        return message
    wishes: Any = (msgspec.structs.replace(wish, name=names.get(wish.name, wish.name)) for wish in message.tool_calls)
    return msgspec.structs.replace(message, tool_calls=tuple(wishes))
