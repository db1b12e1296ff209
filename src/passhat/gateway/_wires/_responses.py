"""OpenAI responses: ``POST /v1/responses``. The input's items are read in `_response_items`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from passhat.facts import ToolCall, ToolOffer, Usage
from passhat.gateway._errors import BadRequest
from passhat.gateway._request import Request, public_headers
from passhat.gateway._tokens import arguments_text
from passhat.gateway._wires._response_items import conversation, read_output
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

_SETTINGS = (
    "temperature",
    "top_p",
    "max_output_tokens",
    "max_tool_calls",
    "top_logprobs",
    "reasoning",
    "parallel_tool_calls",
    "service_tier",
    "truncation",
)
_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
_STOPPED = {reason: word for word, reason in _INCOMPLETE.items()}


class ResponsesWire:
    """Reads and writes responses."""

    name = "responses"
    request_id_header = "x-request-id"
    id_prefix = "resp_"

    def parse(self, body: Mapping[str, Any], raw: bytes, headers: Mapping[str, str], history: History) -> Request:
        """Read a request; one that continues a response that isn't known is refused as the provider does."""
        model = required(body, "model", str)
        earlier = field(body, "previous_response_id", str)
        before = history(earlier) if earlier else ()
        if before is None:
            raise BadRequest(
                f"Previous response with id {earlier!r} not found.",
                param="previous_response_id",
                code="previous_response_not_found",
            )
        return Request(
            wire="responses",
            model=model,
            messages=conversation(body, before),
            tools=_tools(body),
            tool_choice=_tool_choice(body.get("tool_choice")),
            settings=pick(body, _SETTINGS),
            stream=bool(field(body, "stream", bool, False)),
            response_format=_format(part(body.get("text"), "format")),
            raw=raw,
            headers=public_headers(headers),
            retry=retry_count(headers),
        )

    def whole(self, answer: Answer) -> bytes:
        """A ``response``."""
        return encode(_response(answer, _output(answer)))

    def stream(self, answer: Answer) -> list[bytes]:
        """The events from ``response.created`` to ``response.completed`` (or ``response.incomplete``)."""
        events: list[bytes] = []

        def emit(kind: str, **data: Any) -> None:
            events.append(event({"type": kind, "sequence_number": len(events), **data}, kind))

        output = _output(answer)
        started = _response(answer, [], "in_progress")
        emit("response.created", response=started)
        emit("response.in_progress", response=started)
        for index, item in enumerate(output):
            _stream_item(emit, answer, index, item)
        final = _response(answer, output)
        emit(f"response.{final['status']}", response=final)
        return events

    def read(self, body: Any) -> Observed:
        """What a ``response`` says."""
        seen = Observed()
        if not isinstance(body, dict):
            return seen
        for name, key in (("model", "model"), ("response_id", "id")):
            value = body.get(key)
            if isinstance(value, str):
                setattr(seen, name, value)
        seen.usage = _read_usage(body.get("usage"))
        if isinstance(body.get("output"), list):
            seen.message = read_output(body["output"])
            reason = part(body.get("incomplete_details"), "reason")
            implied = "refusal" if seen.message.refusal else "tool_calls" if seen.message.tool_calls else "stop"
            seen.stop_reason = _STOPPED.get(reason, reason) if reason else implied
            seen.complete = body.get("status") in ("completed", "incomplete", None)
        if body.get("error"):
            seen.error = text_of(part(body["error"], "message") or body["error"])
        return seen

    def watch(self) -> ResponsesWatch:
        """A reader for a stream."""
        return ResponsesWatch(self)


class ResponsesWatch:
    """Puts a streamed response together: the finished one where it comes, else the items that were done."""

    def __init__(self, wire: ResponsesWire) -> None:
        self.seen = Observed()
        self._wire = wire
        self._items: dict[int, Any] = {}
        self._pieces: dict[int, list[str]] = {}

    def feed(self, event: Any) -> None:
        """Take the next event."""
        kind = part(event, "type")
        if kind in ("response.completed", "response.incomplete", "response.failed"):
            self.seen = self._wire.read(event.get("response"))
            self.seen.complete = True
        elif kind in ("response.created", "response.in_progress"):
            self.seen = self._wire.read(event.get("response"))
            self.seen.complete = False
        elif kind == "error":
            self.seen.error = text_of(event.get("message") or part(event.get("error"), "message"))
        elif kind in ("response.output_item.added", "response.output_item.done"):
            self._items[event.get("output_index") or 0] = event.get("item")
        elif kind in ("response.output_text.delta", "response.refusal.delta", "response.function_call_arguments.delta"):
            self._pieces.setdefault(event.get("output_index") or 0, []).append(text_of(event.get("delta")))

    def partial(self) -> None:
        """Make the message of a stream that broke off from its pieces."""
        if not self.seen.complete:
            self.seen.message = self._partial()

    def _partial(self) -> Any:
        items = []
        for index in sorted(self._items):
            item, text = self._items[index], "".join(self._pieces.get(index, ()))
            if part(item, "status") == "in_progress" and text:
                content = [{"type": "output_text", "text": text}]
                item = (
                    {**item, "arguments": text} if item.get("type") == "function_call" else {**item, "content": content}
                )
            items.append(item)
        return read_output(items)


def _stream_item(emit: Any, answer: Answer, index: int, item: dict[str, Any]) -> None:
    kind, where = item["type"], {"item_id": item["id"], "output_index": index}
    if kind == "function_call":
        emit("response.output_item.added", output_index=index, item={**item, "arguments": "", "status": "in_progress"})
        for text in answer.split(item["arguments"]):
            emit("response.function_call_arguments.delta", **where, delta=text)
        done = {"name": item["name"], "arguments": item["arguments"]}
        emit("response.function_call_arguments.done", **where, **done)
    elif kind == "reasoning":
        emit("response.output_item.added", output_index=index, item={**item, "summary": []})
        _stream_reasoning(emit, answer, where, item["summary"][0])
    else:
        emit("response.output_item.added", output_index=index, item={**item, "content": [], "status": "in_progress"})
        _stream_content(emit, answer, where, item["content"][0])
    emit("response.output_item.done", output_index=index, item=item)


def _stream_reasoning(emit: Any, answer: Answer, where: dict[str, Any], summary: dict[str, Any]) -> None:
    where = {**where, "summary_index": 0}
    emit("response.reasoning_summary_part.added", **where, part={**summary, "text": ""})
    for text in answer.split(summary["text"]):
        emit("response.reasoning_summary_text.delta", **where, delta=text)
    emit("response.reasoning_summary_text.done", **where, text=summary["text"])
    emit("response.reasoning_summary_part.done", **where, part=summary)


def _stream_content(emit: Any, answer: Answer, where: dict[str, Any], content: dict[str, Any]) -> None:
    where = {**where, "content_index": 0}
    refusal = content["type"] == "refusal"
    key, kind = ("refusal", "refusal") if refusal else ("text", "output_text")
    more: dict[str, Any] = {} if refusal else {"logprobs": []}
    emit("response.content_part.added", **where, part={**content, key: ""})
    for text in answer.split(content[key]):
        emit(f"response.{kind}.delta", **where, delta=text, **more)
    emit(f"response.{kind}.done", **where, **{key: content[key]}, **more)
    emit("response.content_part.done", **where, part=content)


def _output(answer: Answer) -> list[dict[str, Any]]:
    """The output items of a reply: reasoning, message, function calls."""
    reply = answer.reply
    items: list[dict[str, Any]] = []
    if reply.thinking:
        summary = [{"type": "summary_text", "text": reply.thinking}]
        encrypted = reply.signature or None
        items.append({"id": answer.ids("rs_"), "type": "reasoning", "summary": summary, "encrypted_content": encrypted})
    contents: list[dict[str, Any]] = []
    if reply.text or not (reply.tool_calls or reply.refusal):
        contents.append({"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []})
    if reply.refusal:
        contents.append({"type": "refusal", "refusal": reply.refusal})
    status = "incomplete" if reply.why_stopped in _INCOMPLETE else "completed"
    for content in contents:
        head = {"id": answer.ids("msg_"), "type": "message", "status": status, "role": "assistant"}
        items.append({**head, "content": [content]})
    items.extend(_call(answer, call, status) for call in reply.tool_calls)
    return items


def _call(answer: Answer, call: ToolCall, status: str) -> dict[str, Any]:
    return {
        "id": answer.ids("fc_"),
        "type": "function_call",
        "status": status,
        "call_id": call.id,
        "name": call.name,
        "arguments": arguments_text(call),
    }


def _response(answer: Answer, output: list[dict[str, Any]], status: str | None = None) -> dict[str, Any]:
    body, reply = answer.body, answer.reply
    reason = _INCOMPLETE.get(reply.why_stopped)
    finished = status is None
    return {
        "id": answer.response_id,
        "object": "response",
        "created_at": answer.created,
        "status": status or ("incomplete" if reason else "completed"),
        "background": False,
        "error": None,
        "incomplete_details": {"reason": reason} if finished and reason else None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "model": answer.model,
        "output": output,
        "parallel_tool_calls": body.get("parallel_tool_calls") is not False,
        "previous_response_id": body.get("previous_response_id"),
        "reasoning": body.get("reasoning") or {"effort": None, "summary": None},
        "service_tier": "default",
        "store": body.get("store") is not False,
        "temperature": 1.0 if body.get("temperature") is None else body["temperature"],
        "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": body.get("tools") or [],
        "top_p": 1.0 if body.get("top_p") is None else body["top_p"],
        "truncation": body.get("truncation") or "disabled",
        "usage": _usage(answer.usage) if finished else None,
        "user": body.get("user"),
        "metadata": body.get("metadata") or {},
    }


def _usage(usage: Usage) -> dict[str, Any]:
    sent, made = usage.input_tokens or 0, usage.output_tokens or 0
    return {
        "input_tokens": sent,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens or 0, "cache_write_tokens": 0},
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "total_tokens": sent + made,
    }


def _read_usage(usage: Any) -> Usage:
    return Usage(
        input_tokens=whole_number(part(usage, "input_tokens")),
        cached_tokens=whole_number(part(part(usage, "input_tokens_details"), "cached_tokens")),
        output_tokens=whole_number(part(usage, "output_tokens")),
        reasoning_tokens=whole_number(part(part(usage, "output_tokens_details"), "reasoning_tokens")),
    )


def _tools(body: Mapping[str, Any]) -> tuple[ToolOffer, ...]:
    value = field(body, "tools", list)
    offers = []
    for item in mappings(value, "tools") if value else ():
        name = item.get("name") or item.get("type")
        offers.append(ToolOffer(text_of(name), text_of(item.get("description")), item.get("parameters")))
    return tuple(offers)


def _tool_choice(value: Any) -> str:
    if isinstance(value, dict):
        return text_of(value.get("name") or value.get("mode") or "auto")
    return value if isinstance(value, str) else "auto"


def _format(value: Any) -> Any:
    kind = part(value, "type")
    if kind == "json_schema":
        return value.get("schema") or {}
    return {} if kind == "json_object" else None
