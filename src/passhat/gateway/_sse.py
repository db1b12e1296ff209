"""Events of a stream as data: written again as bytes, and merged so that a cassette reads well."""

from __future__ import annotations

from typing import Any

from passhat.gateway._wires._shape import event, part

_TEXTS = ("text", "partial_json", "thinking")


def event_bytes(data: Any) -> bytes:
    """One event as it was on the wire: named by its type where the provider names it."""
    if isinstance(data, str):
        return b"data: " + data.encode() + b"\n\n"
    kind = part(data, "type")
    return event(data, kind if isinstance(kind, str) else None)


def merged(events: list[Any]) -> list[Any]:
    """The same events with neighbouring pieces of one text joined, so that no path is split between two."""
    done: list[Any] = []
    for current in events:
        joined = _join(done[-1], current) if done else None
        if joined is None:
            done.append(current)
        else:
            done[-1] = joined
    return done


def _join(a: Any, b: Any) -> Any:
    """Two events as one, None when they aren't pieces of one text."""
    if not isinstance(a, dict) or not isinstance(b, dict):
        return None
    kind = a.get("type")
    if kind != b.get("type"):
        return None
    if kind == "content_block_delta":
        return _join_block(a, b)
    if isinstance(kind, str):
        return _join_item(a, b) if kind.endswith(".delta") else None
    return _join_chunk(a, b)


def _join_block(a: dict[str, Any], b: dict[str, Any]) -> Any:
    one, two = a.get("delta"), b.get("delta")
    same = a.get("index") == b.get("index") and part(one, "type") == part(two, "type")
    name = next(
        (name for name in _TEXTS if isinstance(part(one, name), str) and isinstance(part(two, name), str)), None
    )
    if not same or name is None or one is None or two is None:
        return None
    return {**a, "delta": {**one, name: one[name] + two[name]}}


def _join_item(a: dict[str, Any], b: dict[str, Any]) -> Any:
    places = ("item_id", "output_index", "content_index", "summary_index")
    if any(a.get(name) != b.get(name) for name in places) or not isinstance(a.get("delta"), str):
        return None
    return {**a, "delta": a["delta"] + b["delta"]} if isinstance(b.get("delta"), str) else None


def _join_chunk(a: dict[str, Any], b: dict[str, Any]) -> Any:
    first, second = _only_choice(a), _only_choice(b)
    if first is None or second is None or first.get("index") != second.get("index"):
        return None
    one, two = first.get("delta"), second.get("delta")
    if (
        first.get("finish_reason")
        or second.get("finish_reason")
        or not isinstance(one, dict)
        or not isinstance(two, dict)
    ):
        return None
    names = {name for name, value in two.items() if value is not None}
    if len(names) != 1:
        return None
    (name,) = names
    if isinstance(one.get(name), str) and isinstance(two[name], str) and name != "role":
        return _with_delta(a, first, {**one, name: one[name] + two[name]})
    if name == "tool_calls":
        calls = _join_calls(one.get("tool_calls"), two["tool_calls"])
        return None if calls is None else _with_delta(a, first, {**one, "tool_calls": calls})
    return None


def _join_calls(one: Any, two: Any) -> Any:
    if not (isinstance(one, list) and isinstance(two, list) and len(one) == len(two) == 1):
        return None
    a, b = one[0], two[0]
    texts = [part(part(call, "function"), "arguments") for call in (a, b)]
    same = part(a, "index") == part(b, "index") and part(b, "id") is None and part(b.get("function"), "name") is None
    if not same or not all(isinstance(text, str) for text in texts):
        return None
    return [{**a, "function": {**a["function"], "arguments": "".join(texts)}}]


def _only_choice(chunk: dict[str, Any]) -> dict[str, Any] | None:
    choices = chunk.get("choices")
    if isinstance(choices, list) and len(choices) == 1 and isinstance(choices[0], dict):
        return choices[0]
    return None


def _with_delta(chunk: dict[str, Any], choice: dict[str, Any], delta: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in chunk.items() if name != "obfuscation"}
    return {**kept, "choices": [{**choice, "delta": delta}]}
