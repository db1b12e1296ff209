"""What the three wires have in common: the interface, stop words, server-sent events, ids and content parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from passhat.facts import Message, ToolCall, Usage
from passhat.gateway._errors import BadRequest
from passhat.gateway._reply import Reply
from passhat.gateway._request import Request

encode = msgspec.json.encode
History = Callable[[str], "tuple[Message, ...] | None"]
Split = Callable[[str], Sequence[str]]


class Answer(msgspec.Struct, frozen=True):
    """Everything a wire needs to write a reply: what was asked, what is answered, and the names for it."""

    request: Request
    body: Mapping[str, Any]
    reply: Reply
    usage: Usage
    model: str
    response_id: str
    ids: Callable[[str], str]
    created: int
    split: Split = lambda text: (text,)


class Observed(msgspec.Struct):
    """What was read off a reply that passed by. ``complete`` is False for one that broke off."""

    message: Message | None = None
    stop_reason: str | None = None
    model: str | None = None
    fingerprint: str | None = None
    usage: Usage = Usage()
    cache_written: int = 0
    response_id: str | None = None
    error: str | None = None
    complete: bool = False
    signature: str = ""


class Watch(Protocol):
    """Reads a stream as it passes by, one decoded event at a time."""

    seen: Observed

    def feed(self, event: Any) -> None:
        """Take the next event's data."""

    def partial(self) -> None:
        """Complete ``seen`` from what came so far, for a stream that broke off."""


class Wire(Protocol):
    """One provider's way to ask and answer."""

    name: str
    request_id_header: str
    id_prefix: str

    def parse(self, body: Mapping[str, Any], raw: bytes, headers: Mapping[str, str], history: History) -> Request:
        """Read a request; raises `BadRequest`."""

    def whole(self, answer: Answer) -> bytes:
        """The body of a reply in one piece."""

    def stream(self, answer: Answer) -> list[bytes]:
        """The events of a streamed reply, one item each, the final one included."""

    def read(self, body: Any) -> Observed:
        """What a whole reply says."""

    def watch(self) -> Watch:
        """A reader for a streamed reply."""


def field(body: Mapping[str, Any], name: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
    """A field of a request: ``default`` when absent or null, `BadRequest` when it is of another type."""
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, kind) or (isinstance(value, bool) and kind in (int, float)):
        raise BadRequest(f"Invalid type for {name!r}: got {json_type(value)}.", param=name, code="invalid_type")
    return value


def required(body: Mapping[str, Any], name: str, kind: type | tuple[type, ...]) -> Any:
    """A field that a provider insists on."""
    value = field(body, name, kind)
    if value is None:
        raise BadRequest(f"Missing required parameter: {name!r}.", param=name, code="missing_required_parameter")
    return value


def mappings(value: Any, where: str) -> list[Mapping[str, Any]]:
    """A list of objects, or `BadRequest`."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise BadRequest(f"Invalid type for {where!r}: expected an array of objects.", param=where, code="invalid_type")
    return value


def text_of(value: Any) -> str:
    """A text field that may be missing; anything else that stands there is shown as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else encode(value).decode()


def json_type(value: Any) -> str:
    """The JSON name of a value's type."""
    names = {
        dict: "an object",
        list: "an array",
        str: "a string",
        bool: "a boolean",
        int: "an integer",
        float: "a number",
    }
    return names.get(type(value), "null")


def image_part(kind: str, url: Any, mime: str = "") -> str:
    """A short description of what isn't text: its kind, and its size or where it is."""
    if isinstance(url, str) and url.startswith("data:"):
        head, _, data = url.partition(",")
        return f"[{head[5:].partition(';')[0] or kind}, {len(data) * 3 // 4} bytes]"
    if isinstance(url, str) and mime:
        return f"[{mime}, {len(url) * 3 // 4} bytes]"
    return f"[{kind} {url:.120}]" if isinstance(url, str) else f"[{kind}]"


def tool_call(call_id: Any, name: Any, arguments: Any) -> ToolCall:
    """A call whose arguments are JSON text, or that text itself when it doesn't parse."""
    text = text_of(arguments)
    try:
        return ToolCall(text_of(call_id), text_of(name), msgspec.json.decode(text) if text.strip() else {})
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return ToolCall(text_of(call_id), text_of(name), text, malformed=True)


def pick(body: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The sampling settings among a request's fields."""
    return {name: body[name] for name in names if body.get(name) is not None}


def retry_count(headers: Mapping[str, str]) -> int:
    """The client's own count of earlier tries; 0 where it says nothing sensible."""
    text = headers.get("x-stainless-retry-count", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0


def event(data: Any, name: str | None = None) -> bytes:
    """One server-sent event."""
    head = b"" if name is None else b"event: " + name.encode() + b"\n"
    return head + b"data: " + encode(data) + b"\n\n"


def whole_number(value: Any) -> int | None:
    """A count of tokens as a provider reports it, None when it doesn't."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def part(value: Any, key: str) -> Any:
    """``value[key]`` of something that may not be an object."""
    return value.get(key) if isinstance(value, dict) else None
