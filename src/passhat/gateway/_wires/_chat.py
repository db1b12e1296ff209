"""OpenAI chat completions: ``POST /v1/chat/completions``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from passhat.facts import Message, ToolCall, ToolOffer, Usage
from passhat.gateway._errors import BadRequest
from passhat.gateway._request import Request, public_headers
from passhat.gateway._tokens import arguments_text
from passhat.gateway._wires._shape import (
    Answer,
    History,
    Observed,
    encode,
    event,
    field,
    image_part,
    mappings,
    part,
    pick,
    required,
    retry_count,
    text_of,
    tool_call,
    whole_number,
)

_SETTINGS = (
    "temperature",
    "top_p",
    "n",
    "seed",
    "stop",
    "max_tokens",
    "max_completion_tokens",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "reasoning_effort",
    "verbosity",
    "parallel_tool_calls",
    "service_tier",
)
_FINISH = {"stop": "stop", "tool_calls": "tool_calls", "length": "length", "refusal": "stop", "pause": "stop"}
_FINISH |= {"content_filter": "content_filter", "stop_sequence": "stop"}
_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
_ROLES["function"] = "tool"


class ChatWire:
    """Reads and writes chat completions."""

    name = "chat"
    request_id_header = "x-request-id"
    id_prefix = "chatcmpl-"

    def parse(self, body: Mapping[str, Any], raw: bytes, headers: Mapping[str, str], history: History) -> Request:
        """Read a request; raises `BadRequest` where the provider would refuse it too."""
        model = required(body, "model", str)
        messages = mappings(required(body, "messages", list), "messages")
        if not messages:
            raise BadRequest("Invalid 'messages': empty array.", param="messages", code="empty_array")
        stream = bool(field(body, "stream", bool, False))
        return Request(
            wire="chat",
            model=model,
            messages=tuple(_message(item, index) for index, item in enumerate(messages)),
            tools=_tools(body),
            tool_choice=_tool_choice(body.get("tool_choice")),
            settings=pick(body, _SETTINGS),
            stream=stream,
            stream_usage=stream and part(body.get("stream_options"), "include_usage") is True,
            response_format=_response_format(body.get("response_format")),
            raw=raw,
            headers=public_headers(headers),
            retry=retry_count(headers),
        )

    def whole(self, answer: Answer) -> bytes:
        """A ``chat.completion``."""
        reply = answer.reply
        message: dict[str, Any] = {
            "role": "assistant",
            "content": reply.text if reply.text or not (reply.tool_calls or reply.refusal) else None,
            "refusal": reply.refusal or None,
            "annotations": [],
        }
        if reply.thinking:
            message["reasoning_content"] = reply.thinking
        if reply.tool_calls:
            message["tool_calls"] = [_call(call) for call in reply.tool_calls]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _FINISH[reply.why_stopped]}
        return encode({**_head(answer, "chat.completion"), "choices": [choice], "usage": _usage(answer.usage)})

    def stream(self, answer: Answer) -> list[bytes]:
        """``chat.completion.chunk`` events and ``[DONE]``; the usage chunk only if it was asked for."""
        reply, asked = answer.reply, answer.request.stream_usage
        head = _head(answer, "chat.completion.chunk")

        def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
            data = {**head, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]}
            if asked:
                data["usage"] = None
            return event(data)

        events = [chunk({"role": "assistant", "content": "", "refusal": None})]
        events += [chunk({"reasoning_content": text}) for text in answer.split(reply.thinking) if reply.thinking]
        events += [chunk({"content": text}) for text in answer.split(reply.text) if reply.text]
        events += [chunk({"refusal": text}) for text in answer.split(reply.refusal) if reply.refusal]
        for index, call in enumerate(reply.tool_calls):
            first = _call(call)
            first["function"]["arguments"] = ""
            events.append(chunk({"tool_calls": [{"index": index, **first}]}))
            for text in answer.split(arguments_text(call)):
                events.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": text}}]}))
        events.append(chunk({}, _FINISH[reply.why_stopped]))
        if asked:
            events.append(event({**head, "choices": [], "usage": _usage(answer.usage)}))
        events.append(b"data: [DONE]\n\n")
        return events

    def read(self, body: Any) -> Observed:
        """What a ``chat.completion`` says (its first choice)."""
        seen = Observed()
        if not isinstance(body, dict):
            return seen
        _read_head(seen, body)
        choices = body.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = part(choice, "message")
        if isinstance(message, dict):
            seen.message = _read_message(message)
            seen.stop_reason = _stopped(part(choice, "finish_reason"), seen.message)
            seen.complete = True
        return seen

    def watch(self) -> ChatWatch:
        """A reader for chunks."""
        return ChatWatch()


class ChatWatch:
    """Puts the first choice of a chunked reply together."""

    def __init__(self) -> None:
        self.seen = Observed()
        self._text: dict[str, list[str]] = {"content": [], "refusal": [], "reasoning_content": []}
        self._calls: dict[int, dict[str, Any]] = {}

    def feed(self, event: Any) -> None:
        """Take the next chunk, or the text ``[DONE]``."""
        if event == "[DONE]":
            self.seen.complete = True
            self.partial()
            return
        if not isinstance(event, dict):
            return
        if "error" in event:
            self.seen.error = text_of(part(event["error"], "message") or event["error"])
        _read_head(self.seen, event)
        for choice in event.get("choices") or ():
            if part(choice, "index") in (0, None):
                self._delta(part(choice, "delta"))
                finish = part(choice, "finish_reason")
                if finish is not None:
                    self.seen.stop_reason = text_of(finish)

    def _delta(self, delta: Any) -> None:
        for name, pieces in self._text.items():
            value = part(delta, name)
            if isinstance(value, str):
                pieces.append(value)
        for item in part(delta, "tool_calls") or ():
            index = part(item, "index")
            call = self._calls.setdefault(index if isinstance(index, int) else 0, {"id": "", "name": "", "args": []})
            call["id"] = part(item, "id") or call["id"]
            function = part(item, "function")
            call["name"] = part(function, "name") or call["name"]
            call["args"].append(text_of(part(function, "arguments")))

    def partial(self) -> None:
        """Make the message from what came so far."""
        calls = (self._calls[index] for index in sorted(self._calls))
        self.seen.message = Message(
            "assistant",
            "".join(self._text["content"]),
            tool_calls=tuple(tool_call(call["id"], call["name"], "".join(call["args"])) for call in calls),
            thinking="".join(self._text["reasoning_content"]),
            refusal="".join(self._text["refusal"]),
        )
        self.seen.complete = self.seen.complete or self.seen.stop_reason is not None
        self.seen.stop_reason = _stopped(self.seen.stop_reason, self.seen.message)


def _message(item: Mapping[str, Any], index: int) -> Message:
    role = item.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise BadRequest(
            f"Invalid value for 'messages[{index}].role': {role!r}. Supported values are: {', '.join(_ROLES)}.",
            param=f"messages[{index}].role",
            code="invalid_value",
        )
    text, parts = _content(item.get("content"), f"messages[{index}].content")
    if role == "tool" and not isinstance(item.get("tool_call_id"), str):
        raise BadRequest(
            f"Missing required parameter: 'messages[{index}].tool_call_id'.", param=f"messages[{index}].tool_call_id"
        )
    calls = _calls(item.get("tool_calls"), index) if role == "assistant" else ()
    return Message(
        _ROLES[role],
        text,
        tool_calls=calls,
        call_id=item.get("tool_call_id") if role == "tool" else None,
        name=item.get("name") if isinstance(item.get("name"), str) else None,
        thinking=text_of(item.get("reasoning_content")) if role == "assistant" else "",
        refusal=text_of(item.get("refusal")) if role == "assistant" else "",
        parts=parts,
    )


def _calls(value: Any, index: int) -> tuple[ToolCall, ...]:
    if value is None:
        return ()
    calls = []
    for item in mappings(value, f"messages[{index}].tool_calls"):
        function = item.get("function") or item.get("custom")
        calls.append(tool_call(item.get("id"), part(function, "name"), part(function, "arguments")))
    return tuple(calls)


def _content(value: Any, where: str) -> tuple[str, tuple[str, ...]]:
    """Text and descriptions of the other parts of a content field."""
    if value is None or isinstance(value, str):
        return value or "", ()
    texts: list[str] = []
    others: list[str] = []
    for item in mappings(value, where):
        kind = text_of(item.get("type"))
        if kind == "text":
            texts.append(text_of(item.get("text")))
        elif kind == "refusal":
            texts.append(text_of(item.get("refusal")))
        else:
            inner = item.get(kind)
            others.append(image_part(kind, part(inner, "url") or part(inner, "data") or part(inner, "file_data")))
    return "".join(texts), tuple(others)


def _tools(body: Mapping[str, Any]) -> tuple[ToolOffer, ...]:
    value = field(body, "tools", list)
    if not value:
        return ()
    offers = []
    for index, item in enumerate(mappings(value, "tools")):
        function = item.get(text_of(item.get("type"))) or item.get("function")
        name = part(function, "name")
        if not isinstance(name, str):
            where = f"tools[{index}].function.name"
            raise BadRequest(f"Missing required parameter: {where!r}.", param=where)
        offers.append(ToolOffer(name, text_of(part(function, "description")), part(function, "parameters")))
    return tuple(offers)


def _tool_choice(value: Any) -> str:
    if isinstance(value, dict):
        inner = value.get("function") or value.get("custom")
        allowed = part(value.get("allowed_tools"), "mode")
        return text_of(part(inner, "name") or allowed or "auto")
    return value if isinstance(value, str) else "auto"


def _response_format(value: Any) -> Any:
    kind = part(value, "type")
    if kind == "json_schema":
        return part(value.get("json_schema"), "schema") or {}
    return {} if kind == "json_object" else None


def _head(answer: Answer, kind: str) -> dict[str, Any]:
    return {
        "id": answer.response_id,
        "object": kind,
        "created": answer.created,
        "model": answer.model,
        "service_tier": "default",
        "system_fingerprint": answer.reply.fingerprint,
    }


def _call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments_text(call)}}


def _usage(usage: Usage) -> dict[str, Any]:
    sent, made = usage.input_tokens or 0, usage.output_tokens or 0
    return {
        "prompt_tokens": sent,
        "completion_tokens": made,
        "total_tokens": sent + made,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens or 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning_tokens or 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def _read_head(seen: Observed, body: Mapping[str, Any]) -> None:
    for name, key in (("model", "model"), ("fingerprint", "system_fingerprint"), ("response_id", "id")):
        value = body.get(key)
        if isinstance(value, str) and value:
            setattr(seen, name, value)
    usage = body.get("usage")
    if isinstance(usage, dict):
        seen.usage = Usage(
            input_tokens=whole_number(usage.get("prompt_tokens")),
            cached_tokens=whole_number(part(usage.get("prompt_tokens_details"), "cached_tokens")),
            output_tokens=whole_number(usage.get("completion_tokens")),
            reasoning_tokens=whole_number(part(usage.get("completion_tokens_details"), "reasoning_tokens")),
        )


def _read_message(message: Mapping[str, Any]) -> Message:
    content = message.get("content")
    calls = message.get("tool_calls")
    found = [
        tool_call(part(item, "id"), part(part(item, "function"), "name"), part(part(item, "function"), "arguments"))
        for item in (calls if isinstance(calls, list) else ())
    ]
    return Message(
        "assistant",
        content if isinstance(content, str) else "",
        tool_calls=tuple(found),
        thinking=text_of(message.get("reasoning_content")),
        refusal=text_of(message.get("refusal")),
    )


def _stopped(finish: Any, message: Message) -> str | None:
    """Our word for a finish reason: a refusal is told from a stop by its message."""
    if finish == "stop" and message.refusal:
        return "refusal"
    return "tool_calls" if finish == "function_call" else text_of(finish) or None
