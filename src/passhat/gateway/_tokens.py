"""Tokens of the double are estimated: one for every four UTF-16 code units of text, rounded up."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from passhat.facts import Message, ToolCall, ToolOffer


def units(text: str) -> int:
    """The length of a text in UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def tokens(text: str) -> int:
    """The estimate for a text: its length in UTF-16 code units over four, rounded up.

    >>> tokens("Be concise."), tokens("")
    (3, 0)
    """
    return (units(text) + 3) // 4


def arguments_text(call: ToolCall) -> str:
    """The arguments of a tool call as the JSON text that is on the wire (as it is when they are malformed)."""
    if call.malformed or isinstance(call.arguments, str):
        return str(call.arguments)
    return msgspec.json.encode({} if call.arguments is None else call.arguments).decode()


def message_text(message: Message) -> str:
    """What a message holds, as text: what was thought, said, called, and a description of what isn't text."""
    pieces = [piece for piece in (message.thinking, message.text, message.refusal) if piece]
    pieces.extend(message.parts)
    pieces.extend(f"{call.name}:{arguments_text(call)}" for call in message.tool_calls)
    if message.role == "tool" and message.name:
        pieces.insert(0, message.name)
    return "\n".join(pieces)


def prompt_text(messages: Iterable[Message], tools: Iterable[ToolOffer] = ()) -> str:
    """The prompt as one text: ``role:content`` joined by blank lines, and the tools that are offered."""
    pieces = [f"{message.role}:{message_text(message)}" for message in messages]
    offers = [f"tool+:{msgspec.json.encode(offer).decode()}" for offer in tools]
    return "\n\n".join(pieces + offers)


def reply_tokens(message: Message) -> tuple[int, int]:
    """Estimated (output tokens, those among them that were thinking)."""
    return tokens(message_text(message)), tokens(message.thinking)
