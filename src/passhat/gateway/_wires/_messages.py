"""Anthropic messages: ``POST /v1/messages``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from passhat.facts import Message, ToolCall, ToolOffer
from passhat.gateway._errors import BadRequest
from passhat.gateway._reply import Reply
from passhat.gateway._request import Request, public_headers
from passhat.gateway._tokens import arguments_text
from passhat.gateway._wires._message_blocks import read_blocks, read_message
from passhat.gateway._wires._shape import (
    Answer,
    History,
    Observed,
    encode,
    event,
    field,
    mappings,
    part,
    pick,
    required,
    retry_count,
    text_of,
    whole_number,
)

_SETTINGS = ("temperature", "top_p", "top_k", "max_tokens", "stop_sequences", "thinking", "service_tier")
_STOP = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "refusal": "refusal",
    "content_filter": "refusal",
    "stop_sequence": "stop_sequence",
    "pause": "pause_turn",
}
_STOPPED = {theirs: ours for ours, theirs in reversed(_STOP.items())} | {"model_context_window_exceeded": "length"}


class MessagesWire:
    """Reads and writes messages."""

    name = "messages"
    request_id_header = "request-id"
    id_prefix = "msg_"

    def parse(self, body: Mapping[str, Any], raw: bytes, headers: Mapping[str, str], history: History) -> Request:
        """Read a request; raises `BadRequest` where the provider would refuse it too."""
        model = required(body, "model", str)
        field(body, "max_tokens", int)
        if body.get("max_tokens") is None:
            raise BadRequest("max_tokens: Field required", param="max_tokens")
        items = mappings(required(body, "messages", list), "messages")
        if not items:
            raise BadRequest("messages: at least one message is required", param="messages")
        messages: list[Message] = []
        system = field(body, "system", (str, list))
        if system:
            messages.append(Message("system", read_blocks(system, "system").text))
        for index, item in enumerate(items):
            messages.extend(read_message(item, f"messages.{index}"))
        return Request(
            wire="messages",
            model=model,
            messages=tuple(messages),
            tools=_tools(body),
            tool_choice=_tool_choice(body.get("tool_choice")),
            settings=_settings(body),
            stream=bool(field(body, "stream", bool, False)),
            response_format=_format(body),
            raw=raw,
            headers=public_headers(headers),
            retry=retry_count(headers),
        )

    def whole(self, answer: Answer) -> bytes:
        """A ``message``."""
        return encode(
            {**_head(answer), **_end(answer.reply), "content": _content(answer.reply), "usage": _usage(answer)}
        )

    def stream(self, answer: Answer) -> list[bytes]:
        """The events from ``message_start`` to ``message_stop``."""
        none_yet = {"stop_reason": None, "stop_sequence": None}
        start = {**_head(answer), **none_yet, "content": [], "usage": {**_usage(answer), "output_tokens": 1}}
        events = [event({"type": "message_start", "message": start}, "message_start")]
        for index, block in enumerate(_content(answer.reply, raw=True)):
            empty, deltas = _opened(block, answer)
            events.append(
                event({"type": "content_block_start", "index": index, "content_block": empty}, "content_block_start")
            )
            if index == 0:
                events.append(event({"type": "ping"}, "ping"))
            for delta in deltas:
                data = {"type": "content_block_delta", "index": index, "delta": delta}
                events.append(event(data, "content_block_delta"))
            events.append(event({"type": "content_block_stop", "index": index}, "content_block_stop"))
        final = {"type": "message_delta", "delta": _end(answer.reply), "usage": _usage(answer)}
        events.append(event(final, "message_delta"))
        events.append(event({"type": "message_stop"}, "message_stop"))
        return events

    def read(self, body: Any) -> Observed:
        """What a ``message`` says."""
        seen = Observed()
        if not isinstance(body, dict):
            return seen
        _read_head(seen, body)
        content = body.get("content")
        if isinstance(content, list):
            seen.message = _as_refusal(read_blocks(content, "content"), body.get("stop_reason"))
            seen.stop_reason = _stopped(body.get("stop_reason"))
            seen.signature = next((text_of(part(b, "signature")) for b in content if part(b, "signature")), "")
            seen.complete = True
        return seen

    def watch(self) -> MessagesWatch:
        """A reader for a stream."""
        return MessagesWatch()


class MessagesWatch:
    """Puts a streamed message together."""

    def __init__(self) -> None:
        self.seen = Observed()
        self._blocks: dict[int, dict[str, Any]] = {}
        self._json: dict[int, list[str]] = {}
        self._reason: Any = None

    def feed(self, event: Any) -> None:
        """Take the next event."""
        kind = part(event, "type")
        if kind == "message_start":
            _read_head(self.seen, part(event, "message") or {})
        elif kind == "content_block_start" and isinstance(event.get("content_block"), dict):
            self._blocks[event.get("index") or 0] = dict(event["content_block"])
        elif kind == "content_block_delta":
            self._delta(event.get("index") or 0, event.get("delta"))
        elif kind == "message_delta":
            self._reason = part(event.get("delta"), "stop_reason")
            _read_head(self.seen, event)
        elif kind == "message_stop":
            self.seen.complete = True
            self.partial()
        elif kind == "error":
            self.seen.error = text_of(part(event.get("error"), "message") or event.get("error"))

    def _delta(self, index: int, delta: Any) -> None:
        block = self._blocks.setdefault(index, {"type": "text", "text": ""})
        for name in ("text", "thinking", "signature"):
            value = part(delta, name)
            if isinstance(value, str):
                block[name] = text_of(block.get(name)) + value
        if isinstance(part(delta, "partial_json"), str):
            self._json.setdefault(index, []).append(delta["partial_json"])

    def partial(self) -> None:
        """Make the message from what came so far."""
        for index, pieces in self._json.items():
            self._blocks.setdefault(index, {"type": "tool_use"})["input"] = "".join(pieces)
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        self.seen.message = _as_refusal(read_blocks(blocks, "content"), self._reason)
        self.seen.stop_reason = _stopped(self._reason)
        self.seen.signature = next((text_of(b["signature"]) for b in blocks if b.get("signature")), "")


def _content(reply: Reply, raw: bool = False) -> list[dict[str, Any]]:
    """The blocks of a reply. ``raw`` keeps malformed arguments as text, which only a stream can carry."""
    blocks: list[dict[str, Any]] = []
    if reply.thinking:
        signature = reply.signature or "passhat"
        blocks.append({"type": "thinking", "thinking": reply.thinking, "signature": signature})
    text = reply.text + reply.refusal
    if text:
        blocks.append({"type": "text", "text": text})
    for call in reply.tool_calls:
        data = arguments_text(call) if raw else _input(call)
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": data})
    return blocks


def _input(call: ToolCall) -> Any:
    """Arguments as the object this wire insists on; text that isn't JSON comes as ``{"INVALID_JSON": text}``."""
    return call.arguments if isinstance(call.arguments, dict) else {"INVALID_JSON": arguments_text(call)}


def _opened(block: dict[str, Any], answer: Answer) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block as it begins, and the deltas that fill it."""
    if block["type"] == "text":
        return {"type": "text", "text": ""}, [{"type": "text_delta", "text": t} for t in answer.split(block["text"])]
    if block["type"] == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": text} for text in answer.split(block["thinking"])]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
        return {"type": "thinking", "thinking": "", "signature": ""}, deltas
    pieces = answer.split(block["input"])
    return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": text} for text in pieces]


def _head(answer: Answer) -> dict[str, Any]:
    return {"id": answer.response_id, "type": "message", "role": "assistant", "model": answer.model}


def _end(reply: Reply) -> dict[str, Any]:
    refused = reply.why_stopped == "refusal"
    details = {"type": "refusal", "category": None, "explanation": None} if refused else None
    return {"stop_reason": _STOP[reply.why_stopped], "stop_sequence": None, "stop_details": details}


def _usage(answer: Answer) -> dict[str, Any]:
    usage = answer.usage
    cached = usage.cached_tokens or 0
    return {
        "input_tokens": max(0, (usage.input_tokens or 0) - cached),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": usage.output_tokens or 0,
        "output_tokens_details": {"thinking_tokens": usage.reasoning_tokens or 0},
        "service_tier": "standard",
    }


def _read_head(seen: Observed, body: Mapping[str, Any]) -> None:
    """Take over model, id and usage; in a stream the later usage adds to the earlier."""
    for name, key in (("model", "model"), ("response_id", "id")):
        value = body.get(key)
        if isinstance(value, str) and value:
            setattr(seen, name, value)
    usage = body.get("usage")
    if not isinstance(usage, dict):
        return
    fresh, made = whole_number(usage.get("input_tokens")), whole_number(usage.get("output_tokens"))
    read = whole_number(usage.get("cache_read_input_tokens"))
    written = whole_number(usage.get("cache_creation_input_tokens"))
    thought = whole_number(part(usage.get("output_tokens_details"), "thinking_tokens"))
    before = seen.usage
    if fresh is not None:
        seen.cache_written = written or 0
        before = msgspec.structs.replace(before, input_tokens=fresh + (read or 0) + (written or 0), cached_tokens=read)
    seen.usage = msgspec.structs.replace(
        before,
        output_tokens=made if made is not None else before.output_tokens,
        reasoning_tokens=thought if thought is not None else before.reasoning_tokens,
    )


def _as_refusal(message: Message, reason: Any) -> Message:
    """A message that stopped by refusal has its text there."""
    if reason != "refusal":
        return message
    return msgspec.structs.replace(message, text="", refusal=message.text)


def _stopped(reason: Any) -> str | None:
    return _STOPPED.get(reason, reason) if isinstance(reason, str) else None


def _settings(body: Mapping[str, Any]) -> dict[str, Any]:
    settings = pick(body, _SETTINGS)
    effort = part(body.get("output_config"), "effort")
    return settings if effort is None else {**settings, "effort": effort}


def _tools(body: Mapping[str, Any]) -> tuple[ToolOffer, ...]:
    value = field(body, "tools", list)
    offers = []
    for index, item in enumerate(mappings(value, "tools") if value else ()):
        name = item.get("name") or item.get("type")
        if not isinstance(name, str):
            raise BadRequest(f"tools.{index}.name: Field required", param=f"tools.{index}.name")
        offers.append(ToolOffer(name, text_of(item.get("description")), item.get("input_schema")))
    return tuple(offers)


def _tool_choice(value: Any) -> str:
    kind = part(value, "type")
    if kind == "tool":
        return text_of(value.get("name"))
    return {"any": "required", "none": "none"}.get(kind, "auto") if isinstance(kind, str) else "auto"


def _format(body: Mapping[str, Any]) -> Any:
    for value in (part(body.get("output_config"), "format"), body.get("output_format")):
        if isinstance(value, dict):
            return value.get("schema") or {}
    return None
