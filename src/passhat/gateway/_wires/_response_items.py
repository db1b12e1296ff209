"""Items of the responses wire, read as messages: several items in a row may be one turn of the assistant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from passhat.facts import Message, ToolCall
from passhat.gateway._errors import BadRequest
from passhat.gateway._wires._shape import field, image_part, mappings, part, required, text_of, tool_call

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


def conversation(body: Mapping[str, Any], before: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages of a request: instructions, what came before without its own instructions, and the new input."""
    instructions = field(body, "instructions", (str, list))
    value = required(body, "input", (str, list))
    new = (Message("user", value),) if isinstance(value, str) else read_items(mappings(value, "input"), "input")
    if instructions is None:
        return (*before, *new)
    text = instructions if isinstance(instructions, str) else "\n".join(m.text for m in read_items(instructions, ""))
    return (Message("system", text), *(m for m in before if m.role != "system"), *new)


def read_items(items: Iterable[Any], where: str) -> tuple[Message, ...]:
    """Input items as messages; raises `BadRequest` for a role or an item that makes no sense."""
    messages: list[Message] = []
    turn: list[Message] = []

    def close() -> None:
        if turn:
            messages.append(_joined(turn))
            turn.clear()

    for index, item in enumerate(items):
        message = _read(item, f"{where}[{index}]")
        if message.role != "assistant":
            close()
            messages.append(message)
        else:
            turn.append(message)
    close()
    return tuple(messages)


def read_output(items: Iterable[Any]) -> Message:
    """The output items of a response as one message; items of unknown kinds are named in ``parts``."""
    return _joined([_assistant(item, text_of(part(item, "type"))) for item in items if isinstance(item, dict)])


def _read(item: Any, where: str) -> Message:
    if not isinstance(item, dict):
        raise BadRequest(f"Invalid type for {where!r}: expected an object.", param=where)
    kind = item.get("type") or "message"
    if kind == "message":
        role = item.get("role")
        if not isinstance(role, str) or role not in _ROLES:
            text = f"Invalid value: {role!r}. Supported values are: {', '.join(_ROLES)}."
            raise BadRequest(text, param=f"{where}.role", code="invalid_value")
        if role == "assistant":
            return _assistant(item, kind)
        text, others = _content(item.get("content"), f"{where}.content")
        return Message(_ROLES[role], text, parts=others)
    if isinstance(kind, str) and kind.endswith("_output"):
        if not isinstance(item.get("call_id"), str):
            raise BadRequest(f"Missing required parameter: '{where}.call_id'.", param=f"{where}.call_id")
        text, others = _content(item.get("output"), f"{where}.output")
        return Message("tool", text, call_id=item["call_id"], parts=others)
    if kind == "item_reference":
        return Message("assistant", parts=(f"[item {text_of(item.get('id'))}]",))
    return _assistant(item, text_of(kind))


def _assistant(item: Mapping[str, Any], kind: str) -> Message:
    if kind == "message":
        text, others = _content(item.get("content"), "content")
        refusal = "".join(text_of(part(c, "refusal")) for c in _list(item.get("content")))
        return Message("assistant", text, refusal=refusal, parts=others)
    if kind == "function_call":
        return _calls(tool_call(item.get("call_id"), item.get("name"), item.get("arguments")))
    if kind == "custom_tool_call":
        return _calls(ToolCall(text_of(item.get("call_id")), text_of(item.get("name")), item.get("input")))
    if kind == "reasoning":
        pieces = [text_of(part(piece, "text")) for piece in _list(item.get("summary")) or _list(item.get("content"))]
        return Message("assistant", thinking="\n".join(pieces))
    return Message("assistant", parts=(f"[{kind}]",))


def _calls(call: ToolCall) -> Message:
    return Message("assistant", tool_calls=(call,))


def _joined(turn: list[Message]) -> Message:
    if len(turn) == 1:
        return turn[0]
    return msgspec.structs.replace(
        Message("assistant"),
        text="".join(m.text for m in turn),
        tool_calls=tuple(call for m in turn for call in m.tool_calls),
        thinking="\n".join(m.thinking for m in turn if m.thinking),
        refusal="".join(m.refusal for m in turn),
        parts=tuple(p for m in turn for p in m.parts),
    )


def _content(value: Any, where: str) -> tuple[str, tuple[str, ...]]:
    if value is None or isinstance(value, str):
        return value or "", ()
    texts: list[str] = []
    others: list[str] = []
    for item in mappings(value, where):
        kind = text_of(item.get("type"))
        if kind in ("input_text", "output_text", "text"):
            texts.append(text_of(item.get("text")))
        elif kind != "refusal":
            name = "image" if "image" in kind else "file" if "file" in kind else kind
            source = item.get("image_url") or item.get("file_data") or item.get("file_url") or item.get("file_id")
            others.append(image_part(name, source))
    return "".join(texts), tuple(others)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
