"""What the model double answers, before it is put on a wire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from passhat.facts import Message, ToolCall, Usage

STOP_REASONS = ("stop", "tool_calls", "length", "refusal", "content_filter", "stop_sequence", "pause")


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """An answer of the model, or an error of the provider when ``status`` isn't 200.

    On the wire come the thinking, then the text, then the tool calls. ``stop_reason`` is one of `STOP_REASONS`, by
    default what the content implies. Without ``usage`` tokens are estimated. ``structured`` is JSON data that is
    answered the way the request asks for it: as JSON text or as a call of the output tool. ``first_token`` and
    ``tokens_per_second`` pace this reply on the gateway's clock; seconds and tokens a second.
    """

    text: str = ""
    thinking: str = ""
    signature: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    refusal: str = ""
    structured: Any = msgspec.UNSET
    stop_reason: str | None = None
    usage: Usage | None = None
    model: str | None = None
    fingerprint: str | None = None
    status: int = 200
    error: str = ""
    error_type: str | None = None
    error_code: str | None = None
    headers: Mapping[str, str] = {}
    first_token: float = 0.0
    tokens_per_second: float | None = None

    def __post_init__(self) -> None:
        if self.stop_reason is not None and self.stop_reason not in STOP_REASONS:
            known = ", ".join(STOP_REASONS)
            raise ValueError(f"stop_reason={self.stop_reason!r} is not one that a provider sends; use one of {known}")
        if not (self.status == 200 or 400 <= self.status <= 599):
            raise ValueError(f"status={self.status!r}: a reply is 200, or an error from 400 to 599")

    @property
    def failed(self) -> bool:
        """Whether this is an error of the provider."""
        return self.status != 200

    @property
    def why_stopped(self) -> str:
        """The stop reason, given or implied."""
        if self.stop_reason is not None:
            return self.stop_reason
        if self.refusal:
            return "refusal"
        return "tool_calls" if self.tool_calls else "stop"

    def message(self) -> Message:
        """The reply as a message of the conversation."""
        return Message("assistant", self.text, tool_calls=self.tool_calls, thinking=self.thinking, refusal=self.refusal)


def as_reply(value: Any) -> Reply:
    """A reply from what a script holds or a function returned: a `Reply`, text, or a list of these.

    >>> as_reply(["let me look", Reply(tool_calls=(ToolCall("", "search"),))]).why_stopped
    'tool_calls'
    """
    if isinstance(value, Reply):
        return value
    if isinstance(value, str):
        return Reply(text=value)
    if isinstance(value, list | tuple):
        return join_parts(value)
    raise TypeError(
        f"a reply must be text, say(…), call(…) or a list of these, not {type(value).__name__}: {value!r:.80}"
    )


def join_parts(parts: Iterable[Any]) -> Reply:
    """One reply from several: texts and thinking are joined, tool calls kept in order, other fields from the last."""
    joined: dict[str, Any] = {}
    for part in map(as_reply, parts):
        if part.failed and joined:
            raise ValueError("an error can't be joined with other parts of a reply: script it on its own")
        for name in part.__struct_fields__:
            value = getattr(part, name)
            if value == _EMPTY[name]:
                continue
            joined[name] = joined[name] + value if name in _ADDED and name in joined else value
    return Reply(**joined)


_EMPTY: dict[str, Any] = {name: getattr(Reply(), name) for name in Reply.__struct_fields__}
_ADDED = ("text", "thinking", "tool_calls", "refusal")
