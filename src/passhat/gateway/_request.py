"""A request to a model, in terms that the three wires share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from passhat.facts import Message, ToolOffer

_SECRET = frozenset({"authorization", "x-api-key", "api-key", "cookie", "proxy-authorization"})


class Request(msgspec.Struct, frozen=True, gc=False):
    """What the agent asked. ``wire`` is "chat", "responses" or "messages".

    ``messages`` is the whole conversation, also where the wire continues an earlier response. ``settings`` are the
    sampling settings that were sent. ``response_format`` is the JSON Schema (or ``{}`` for any JSON) the answer
    must follow, None without one. ``tool_choice`` is "auto", "none", "required" or the name of a tool. ``raw`` is
    the body as it was on the wire; ``headers`` are lower-case, without the secret ones.
    """

    wire: str
    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolOffer, ...] = ()
    tool_choice: str = "auto"
    settings: dict[str, Any] = {}
    stream: bool = False
    stream_usage: bool = False  # chat only: the usage chunk was asked for
    response_format: Any = None
    raw: bytes = b""
    headers: Mapping[str, str] = {}
    retry: int = 0  # the client's own count of tries before this one

    @property
    def body(self) -> Any:
        """The body, decoded afresh."""
        return msgspec.json.decode(self.raw)

    @property
    def system(self) -> str:
        """All system prompts, joined by blank lines."""
        return "\n\n".join(message.text for message in self.messages if message.role == "system")

    @property
    def last(self) -> Message | None:
        """The newest message."""
        return self.messages[-1] if self.messages else None

    @property
    def user(self) -> str:
        """The text of the newest user message; empty without one."""
        return next((m.text for m in reversed(self.messages) if m.role == "user"), "")

    @property
    def results(self) -> tuple[Message, ...]:
        """The tool results that were sent since the model's last answer, in order."""
        found: list[Message] = []
        for message in reversed(self.messages):
            if message.role == "assistant":
                break
            if message.role == "tool":
                found.append(message)
        return tuple(reversed(found))

    def offers(self, name: str) -> bool:
        """Whether the request offers a tool of that name."""
        return any(tool.name == name for tool in self.tools)


def public_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers without those that hold secrets."""
    return {name: value for name, value in headers.items() if name not in _SECRET}
