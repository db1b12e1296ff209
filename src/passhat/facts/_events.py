"""What can happen in a trial, each with the author who vouches for it.

``at`` and ``seconds`` are in seconds since the agent was started. ``author`` says who saw the event: *seen* is
what passed through our gateway and can't be forged by the agent; *told* is the agent's own word; *file* was read from
a file the trial left.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from passhat.facts._usage import Usage

Author = Literal["seen", "told", "file"]


class ToolCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """A call that the model asked for. ``arguments`` is the parsed JSON, or the raw text when it doesn't parse."""

    id: str
    name: str
    arguments: Any = None
    malformed: bool = False


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message of a conversation, in the terms that all wires share.

    ``role`` is "system", "user", "assistant" or "tool". A tool's result has the ``call_id`` of the call it answers.
    ``parts`` lists what isn't text, each as a short opaque description such as ``[image/png, 20480 bytes]``.
    """

    role: str
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None
    name: str | None = None
    error: bool = False
    thinking: str = ""
    refusal: str = ""
    parts: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """What whoever gets the message reads: its text, and its refusal, which some wires keep apart.

        >>> Message("assistant", refusal="I can't help with that.").said
        "I can't help with that."
        """
        return "\n".join(text for text in (self.text, self.refusal) if text)


class ToolOffer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tool that a request offered to the model; ``parameters`` is its JSON Schema."""

    name: str
    description: str = ""
    parameters: Any = None


class ModelCall(msgspec.Struct, frozen=True, omit_defaults=True, tag="model_call"):
    """One request to a model and what came back, as they passed through the gateway.

    ``messages`` is the whole conversation that was sent, ``reply`` what the model answered (None when it failed).
    ``error`` is the provider's or our own reason when ``http_status`` isn't 200. ``source`` says who answered:
    scripted, simulated, replayed or live. ``settings`` are the sampling settings that were sent, ``options`` what else
    the request said beside model, conversation, tools and stream, such as ``tool_choice`` and ``response_format``.
    """

    at: float
    seconds: float
    wire: str  # "chat", "responses", "messages", "other"
    source: str
    model: str = ""
    messages: tuple[Message, ...] = ()
    tools: tuple[ToolOffer, ...] = ()
    settings: dict[str, Any] = {}
    options: dict[str, Any] = {}
    reply: Message | None = None
    stop_reason: str | None = None
    model_reported: str | None = None
    fingerprint: str | None = None
    usage: Usage = Usage()
    http_status: int = 200
    error: str | None = None
    refused: str | None = None  # we refused it: "calls", "tokens", "dollars", "revoked", "script"
    retry: int = 0  # the client's own retry count
    streamed: bool = False
    first_token: float | None = None
    fault: str | None = None  # a fault that was injected on purpose
    author: Author = "seen"


class ToolRun(msgspec.Struct, frozen=True, omit_defaults=True, tag="tool_run"):
    """A tool that really ran in the agent's process, as ``trial.tool`` or ``@passhat.tool`` recorded it."""

    at: float
    seconds: float
    name: str
    arguments: Any = None
    result: Any = None
    error: str | None = None
    call_id: str | None = None
    blocked: bool = False  # a guard stopped it before it took effect
    author: Author = "told"


class AgentEvent(msgspec.Struct, frozen=True, omit_defaults=True, tag="agent_event"):
    """Something else the agent reported: a record, handoff, approval or guardrail decision."""

    at: float
    kind: str  # "record", "handoff", "approval", "guardrail", "user", or the agent's own word
    name: str
    value: Any = None
    author: Author = "told"


class OutputText(msgspec.Struct, frozen=True, omit_defaults=True, tag="output_text"):
    """What the agent's process printed."""

    at: float
    stream: Literal["stdout", "stderr"]
    text: str
    truncated: bool = False
    author: Author = "seen"


Event = ModelCall | ToolRun | AgentEvent | OutputText
