"""What happened in a trial, event by event."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from passhat.facts import AgentEvent, Message, ModelCall, OutputText, ToolRun, Transcript, count
from passhat.reporting._blocks import BAD, DIM, STRONG, WARN, Page
from passhat.reporting._folding import TEXT, VALUE, Cuts
from passhat.reporting._text import clean, seconds, tokens

EVENTS = 300
_PARTS = 20
LONGEST_PAGE = 200_000  # characters; a trial whose texts are all cut may still be very long


class Events:
    """Shows events one after another; of each model call only what is new in its conversation and its parameters.

    ``offers``: also the names of the tools that a request offers, where they are others than in the one before.
    """

    def __init__(self, page: Page, cuts: Cuts, *, offers: bool = False) -> None:
        self._page = page
        self._cuts = cuts
        self._offers = offers
        self._offered: Sequence[str] | None = None
        self._asked: dict[str, Any] = {}  # the settings and options of the request before
        self._said: Sequence[Message] = ()
        self._told: AgentEvent | None = None  # of a conversation: the message that was told last
        self._tools: dict[str, str] = {}
        self._turn = 0

    def show(self, transcript: Transcript) -> None:
        events = transcript.events
        shown = 0
        for event in events if self._cuts.full else events[:EVENTS]:
            if self._long:
                break
            shown += 1
            if isinstance(event, ModelCall):
                self._model_call(event)
            elif isinstance(event, ToolRun):
                self._tool_run(event)
            elif isinstance(event, AgentEvent):
                self._agent_event(event)
            else:
                self._printed(event)
        if shown < len(events):
            rest = count(len(events) - shown, "more event")
            self._page.line((f"… {rest}; passhat show --full shows all", DIM), indent=2)
        if transcript.truncated:
            self._page.bullet("!", WARN, f"events are missing: {clean(transcript.truncated, 300)}")

    @property
    def _long(self) -> bool:
        return not self._cuts.full and self._page.mark() > LONGEST_PAGE + self._cuts.unfolded

    def _head(self, at: float, title: str, aside: str = "", style: str = STRONG) -> None:
        self._page.line((f"{at:>7.2f} ", DIM), (title, style), (f"  {aside}" if aside else "", DIM), hang=9)

    def _model_call(self, call: ModelCall) -> None:
        for message in self._new(call.messages):
            if self._long:
                self._page.line(("… more messages", DIM), indent=9)
                break
            if self._repeats(message):
                self._page.line((f"{'':8}{clean(message.role, 80)}: the same", DIM))
            else:
                self._message(message)
        beside = call.wire == "other"  # embeddings and the like: no turn of the model
        self._turn += not beside
        title = clean(str(call.settings.get("request", "request")), 80) if beside else f"model, turn {self._turn}"
        aside = [clean(call.model_reported or call.model, 60), call.source, seconds(call.seconds)]
        if call.usage.tokens is not None:
            aside.append(f"{tokens(call.usage.input_tokens)} in, {tokens(call.usage.output_tokens)} out")
        aside += [f"retry {call.retry}"] * bool(call.retry) + [f"fault {clean(call.fault or '', 40)}"] * bool(
            call.fault
        )
        self._head(call.at, title, " · ".join(part for part in aside if part))
        offered = [tool.name for tool in call.tools]
        if self._offers and not beside and offered != self._offered:
            self._page.line((f"tools: {clean(', '.join(offered) or 'none', VALUE)}", DIM), indent=9)
            self._offered = offered
        asked = {**call.settings, **call.options}
        if not beside and asked != self._asked:
            told = sorted((f"{name}={_json(value)}" for name, value in asked.items()), key=len)
            self._cuts.value(self._page, ("parameters: ", DIM), ", ".join(told) or "none", style=DIM)
            self._asked = asked
        if call.refused is not None:
            self._page.bullet("✗", BAD, f"refused by us: {clean(call.refused, 80)}", indent=9)
        if call.error is not None:
            self._page.bullet("✗", BAD, f"HTTP {call.http_status}: {clean(call.error, VALUE)}", indent=9)
        if call.reply is not None:
            self._reply(call.reply)
        if not beside:
            self._said = (*call.messages, *([call.reply] if call.reply is not None else []))
        self._told = None

    def _new(self, messages: Sequence[Message]) -> list[Message]:
        """What this request adds to the last one and its answer."""
        same = 0
        for before, now in zip(self._said, messages, strict=False):
            if (before.role, before.text) != (now.role, now.text):
                break
            same += 1
        return list(messages[same:])

    def _repeats(self, message: Message) -> bool:
        """Whether a message is, word for word, the one that a conversation told just before."""
        told = self._told
        return (
            told is not None
            and (told.name, told.value) == (message.role, message.text)
            and not (message.tool_calls or message.parts or message.error)
        )

    def _message(self, message: Message) -> None:
        name = message.role
        if name == "tool":
            name = f"result of {self._tools.get(message.call_id or '', message.call_id or 'a tool')}"
        self._page.line((f"{'':8}{clean(name, 80)}", BAD if message.error else DIM))
        if message.text:
            self._cuts.block(self._page, message.text, indent=9)
        for wish in message.tool_calls:
            self._cuts.value(self._page, (f"→ {clean(wish.name, 80)} ", DIM), _json(wish.arguments), style=DIM)
        for part in message.parts[:_PARTS]:
            self._page.line((clean(part, 120), DIM), indent=9)

    def _reply(self, reply: Message) -> None:
        if reply.thinking:
            self._cuts.block(self._page, reply.thinking, style=DIM, indent=9)
        if reply.refusal:
            self._page.bullet("✗", WARN, f"refusal: {clean(reply.refusal, TEXT)}", indent=9)
        if reply.text:
            self._cuts.block(self._page, reply.text, indent=9)
        self._tools.update((wish.id, wish.name) for wish in reply.tool_calls)
        for wish in reply.tool_calls:
            style = BAD if wish.malformed else STRONG
            name = f"→ {clean(wish.name, 80)} " + "(not JSON) " * wish.malformed
            self._cuts.value(self._page, (name, style), _json(wish.arguments))

    def _tool_run(self, run: ToolRun) -> None:
        self._head(run.at, f"tool ran: {clean(run.name, 80)}", seconds(run.seconds))
        self._cuts.value(self._page, "", _json(run.arguments), style=DIM)
        if run.error is not None:
            sign = "blocked" if run.blocked else "error"
            self._page.bullet("✗", BAD, f"{sign}: {clean(run.error, VALUE)}", indent=9)
        else:
            self._cuts.value(self._page, "= ", _json(run.result))

    def _agent_event(self, event: AgentEvent) -> None:
        reply = self._said[-1] if self._said and self._told is None else None
        is_told = event.kind == "conversation" and isinstance(event.value, str)
        same = is_told and reply is not None and (event.name, event.value) == (reply.role, reply.text)
        self._head(
            event.at, f"{clean(event.kind, 40)}: {clean(event.name, 80)}", f"{event.author}{', the same' * same}"
        )
        if is_told:
            self._told = event
        if event.value is not None and not same:
            self._cuts.value(self._page, "", _json(event.value))

    def _printed(self, event: OutputText) -> None:
        self._head(event.at, event.stream, "cut" if event.truncated else "", style=DIM)
        self._cuts.block(self._page, event.text.rstrip("\n"), style=DIM, indent=9)


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
