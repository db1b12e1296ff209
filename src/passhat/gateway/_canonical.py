"""When two requests are equal: ids numbered, workspace paths and keys replaced, fields that mean nothing left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from passhat.gateway._request import Request

_NOISE = frozenset(
    {"stream_options", "metadata", "user", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "store"}
)
_IDS = frozenset({"id", "call_id", "tool_call_id", "tool_use_id", "item_id", "previous_response_id"})
_OPAQUE = frozenset({"arguments", "input_schema", "parameters", "schema", "signature", "encrypted_content"})
_GROUPS = {
    "model": frozenset({"model"}),
    "messages": frozenset({"messages", "input", "instructions", "system", "previous_response_id"}),
    "tools": frozenset({"tools", "tool_choice", "functions", "function_call", "parallel_tool_calls"}),
    "stream": frozenset({"stream"}),
}
MATCH_ON = ("wire", "model", "messages", "tools", "settings", "stream")
Replacement = tuple[re.Pattern[str], str]


def replacements(texts: Mapping[str, str], patterns: Mapping[str, str] | None = None) -> tuple[Replacement, ...]:
    """Substitutions for a text: exact ``texts`` (longest first), then regular expressions."""
    longest_first = sorted(texts.items(), key=lambda item: -len(item[0]))
    exact = [(re.compile(re.escape(text)), name) for text, name in longest_first if text]
    return (*exact, *((re.compile(pattern), name) for pattern, name in (patterns or {}).items()))


def substitute(value: Any, changes: Sequence[Replacement]) -> Any:
    """The same JSON value with every text in it, keys too, put through the replacements."""
    if isinstance(value, str):
        for pattern, name in changes:
            value = pattern.sub(name.replace("\\", r"\\"), value)
        return value
    if isinstance(value, dict):
        return {substitute(key, changes): substitute(item, changes) for key, item in value.items()}
    return [substitute(item, changes) for item in value] if isinstance(value, list) else value


def canonical(
    request: Request, changes: Sequence[Replacement] = (), match_on: Sequence[str] | Callable[[Request], Any] = MATCH_ON
) -> Any:
    """The request as JSON data that is equal for equal requests."""
    if callable(match_on):
        return substitute(match_on(request), changes)
    wanted = set(match_on)
    kept: dict[str, Any] = {"wire": request.wire} if "wire" in wanted else {}
    for name, value in request.body.items():
        group = next((group for group, names in _GROUPS.items() if name in names), "settings")
        if name not in _NOISE and group in wanted and not (name == "stream" and value in (False, None)):
            kept[name] = value
    return substitute(_numbered(kept, {}), changes)


def canonical_text(request: Request, changes: Sequence[Replacement] = ()) -> str:
    """The request as one text for a seed; whether it streams doesn't matter."""
    data = canonical(request, changes, ("wire", "model", "messages", "tools", "settings"))
    return msgspec.json.encode(data, order="deterministic").decode()


def _numbered(value: Any, seen: dict[str, str]) -> Any:
    """Ids of calls and responses by the order in which they first appear; what a tool is given stays as it is."""
    if isinstance(value, list):
        return [_numbered(item, seen) for item in value]
    if not isinstance(value, dict):
        return value
    done: dict[str, Any] = {}
    for key, item in value.items():
        if key in _IDS and isinstance(item, str):
            done[key] = seen.setdefault(item, f"<id {len(seen) + 1}>")
        elif key in _OPAQUE or (key == "input" and isinstance(item, dict)):
            done[key] = item
        else:
            done[key] = _numbered(item, seen)
    return done
