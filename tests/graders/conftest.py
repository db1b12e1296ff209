"""A small way to write transcripts as they come off the wire."""

from collections.abc import Sequence
from typing import Any

import pytest

from passhat.facts import AgentEvent, Event, Message, ModelCall, Task, ToolCall, ToolOffer, ToolRun, Transcript, Usage
from passhat.trial import FinishedTrial


class Talk:
    """Builds a transcript: each request carries the whole history, as real clients send it."""

    def __init__(self) -> None:
        self.at = 0.0
        self.events: list[Event] = []
        self.history: list[Message] = []
        self.offers: tuple[ToolOffer, ...] = ()
        self.pending: list[ToolCall] = []
        self.count = 0

    def offer(self, *names: str) -> "Talk":
        self.offers = tuple(ToolOffer(name) for name in names)
        return self

    def user(self, text: str) -> "Talk":
        self.history.append(Message("user", text))
        return self

    def model(
        self, text: str = "", *calls: Any, stop: str | None = None, usage: Usage | None = None, **more: Any
    ) -> "Talk":
        """An answer; each call is a name or a (name, arguments) pair."""
        wishes = []
        for call in calls:
            name, arguments = (call, {}) if isinstance(call, str) else call
            self.count += 1
            wishes.append(ToolCall(f"call_{self.count}", name, arguments))
        reply = Message("assistant", text, tuple(wishes))
        reason = stop if stop is not None else ("tool_calls" if wishes else "stop")
        self.at += 1
        self.events.append(
            ModelCall(
                self.at,
                0.5,
                "chat",
                "scripted",
                messages=tuple(self.history),
                tools=self.offers,
                reply=reply,
                stop_reason=reason or None,
                usage=usage or Usage(1, 10, 0, 5, 0),
                **more,
            )
        )
        self.history.append(reply)
        self.pending = wishes
        return self

    def results(self, *texts: str | None, error: bool = False) -> "Talk":
        """Results of the last answer's calls, in order; None sends none for that call."""
        for wish, text in zip(self.pending, texts, strict=False):
            if text is not None:
                self.history.append(Message("tool", text, call_id=wish.id, error=error))
        return self

    def run(
        self, name: str, arguments: Any = None, *, call: int | None = None, seconds: float = 0.1, **more: Any
    ) -> "Talk":
        """A recorded run; ``call`` is the number of the model's call that it carries out."""
        self.at += 0.6
        call_id = None if call is None else f"call_{call}"
        self.events.append(
            ToolRun(self.at, seconds, name, {} if arguments is None else arguments, call_id=call_id, **more)
        )
        return self

    def event(self, kind: str, name: str, value: Any = None) -> "Talk":
        self.at += 0.6
        self.events.append(AgentEvent(self.at, kind, name, value))
        return self

    def failed(self, status: int = 500, retry: int = 0) -> "Talk":
        self.at += 1
        self.events.append(
            ModelCall(
                self.at,
                0.1,
                "chat",
                "scripted",
                messages=tuple(self.history),
                tools=self.offers,
                http_status=status,
                error="no",
                retry=retry,
            )
        )
        return self

    def cut(self) -> Transcript:
        return Transcript(Transcript.of(self.events).events, truncated="too long")

    @property
    def transcript(self) -> Transcript:
        return Transcript.of(self.events)

    def trial(self, output: Any = None, task: Task | None = None) -> FinishedTrial:
        return FinishedTrial(task or Task("t"), output, self.transcript)


@pytest.fixture
def talk() -> Talk:
    return Talk()


def finished(output: Any = None, expected: Any = None, events: Sequence[Event] = ()) -> FinishedTrial:
    return FinishedTrial(Task("t", expected=expected), output, Transcript.of(events))
