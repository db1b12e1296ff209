"""Content blocks of the messages wire, read as messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from passhat.facts import Message, ToolCall
from passhat.gateway._errors import BadRequest
from passhat.gateway._wires._shape import image_part, mappings, part, text_of, tool_call


def read_message(item: Mapping[str, Any], where: str) -> list[Message]:
    """One message of a request: a user's message with tool results becomes those results and what else it says."""
    role = item.get("role")
    if role not in ("user", "assistant", "system"):
        text = f"{where}.role: Input should be 'user' or 'assistant', not {role!r}"
        raise BadRequest(text, param=f"{where}.role")
    content = item.get("content")
    if content is None:
        raise BadRequest(f"{where}.content: Field required", param=f"{where}.content")
    if role != "user" or isinstance(content, str):
        return [msgspec.structs.replace(read_blocks(content, f"{where}.content"), role=role)]
    return _user(mappings(content, f"{where}.content"), where)


def _user(blocks: list[Mapping[str, Any]], where: str) -> list[Message]:
    messages: list[Message] = []
    others: list[Mapping[str, Any]] = []
    for index, block in enumerate(blocks):
        if block.get("type") != "tool_result":
            others.append(block)
            continue
        call_id = block.get("tool_use_id")
        if not isinstance(call_id, str):
            place = f"{where}.content.{index}.tool_use_id"
            raise BadRequest(f"{place}: Field required", param=place)
        inner = read_blocks(block.get("content") or "", f"{where}.content.{index}.content")
        error = block.get("is_error") is True
        messages.append(Message("tool", inner.text, call_id=call_id, error=error, parts=inner.parts))
    if others or not messages:
        messages.append(msgspec.structs.replace(read_blocks(others, where), role="user"))
    return messages


def read_blocks(content: Any, where: str) -> Message:
    """Blocks (or plain text) as one message of the assistant; blocks of unknown kinds are named in ``parts``."""
    if isinstance(content, str):
        return Message("assistant", content)
    texts: list[str] = []
    thinking: list[str] = []
    calls: list[ToolCall] = []
    others: list[str] = []
    for block in mappings(content, where):
        kind = text_of(block.get("type"))
        if kind == "text":
            texts.append(text_of(block.get("text")))
        elif kind == "thinking":
            thinking.append(text_of(block.get("thinking")))
        elif kind == "tool_use":
            calls.append(_call(block))
        elif kind == "redacted_thinking":
            others.append("[redacted thinking]")
        else:
            source = block.get("source")
            data = part(source, "url") or part(source, "data")
            others.append(
                image_part(kind, data, text_of(part(source, "media_type")) if "data" in (source or ()) else "")
            )
    return Message(
        "assistant", "".join(texts), tool_calls=tuple(calls), thinking="\n".join(thinking), parts=tuple(others)
    )


def _call(block: Mapping[str, Any]) -> ToolCall:
    data = block.get("input")
    if isinstance(data, str):
        return tool_call(block.get("id"), block.get("name"), data)
    return ToolCall(text_of(block.get("id")), text_of(block.get("name")), {} if data is None else data)
