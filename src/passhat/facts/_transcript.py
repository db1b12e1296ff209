"""All that happened in a trial, in order, and the views that checks and people use."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import msgspec

from passhat.facts._events import Event, Message, ModelCall, ToolCall, ToolRun
from passhat.facts._usage import Usage


class ToolUse(msgspec.Struct, frozen=True):
    """One tool call from the model's wish to its effect.

    ``requested`` is the call in the model's reply (None when code ran a tool that no model asked for). ``returned``
    is the result the agent sent back to the model (its own word), ``run`` what ran in the agent's process where
    that is known. ``executed`` is True, False, or None when nothing tells.
    """

    name: str
    arguments: Any
    at: float
    requested: ToolCall | None = None
    returned: Message | None = None
    run: ToolRun | None = None
    turn: int = 0

    @property
    def executed(self) -> bool | None:
        """Whether the tool's body ran; None when no in-process event tells."""
        return None if self.run is None else not self.run.blocked

    @property
    def error(self) -> bool | None:
        """Whether it ended in an error; None when it never came back."""
        if self.run is not None:
            return self.run.error is not None or self.run.blocked
        return None if self.returned is None else self.returned.error


class Turn(msgspec.Struct, frozen=True):
    """One answer of the model together with the tool calls it asked for."""

    index: int
    call: ModelCall
    tools: tuple[ToolUse, ...]


class Transcript(msgspec.Struct, frozen=True, omit_defaults=True):
    """The events of a trial in the order in which they began, oldest first."""

    events: tuple[Event, ...] = ()
    truncated: str = ""  # why events are missing, when some are

    @classmethod
    def of(cls, events: Iterable[Event]) -> Transcript:
        """Sort events by time, keeping the given order among equals."""
        return cls(tuple(sorted(events, key=lambda event: event.at)))

    @property
    def transcript(self) -> Transcript:
        """Itself, so that a check takes a trial or a transcript."""
        return self

    @property
    def model_calls(self) -> tuple[ModelCall, ...]:
        """Requests to the model that we answered or passed on; refused ones (limit, revoked key) are left out."""
        return tuple(e for e in self.events if isinstance(e, ModelCall) and e.refused is None and e.wire != "other")

    @property
    def replies(self) -> tuple[ModelCall, ...]:
        """Model calls that got an answer."""
        return tuple(call for call in self.model_calls if call.reply is not None)

    @property
    def usage(self) -> Usage:
        """What all model calls spent together."""
        return Usage.total(event.usage for event in self.events if isinstance(event, ModelCall))

    @property
    def offered(self) -> frozenset[str]:
        """Names of all tools that some request offered to the model."""
        return frozenset(offer.name for call in self.model_calls for offer in call.tools)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """One a model answer, each with the tool calls it asked for."""
        uses = self.tool_calls
        return tuple(
            Turn(index, call, tuple(use for use in uses if use.requested is not None and use.turn == index))
            for index, call in enumerate(self.replies)
        )

    @property
    def tool_calls(self) -> tuple[ToolUse, ...]:
        """Every tool call, in order, joined by id to the result that was sent back and to what ran.

        A run without a call id joins the earliest call of its name and arguments that began before it and is unjoined.
        """
        results = self._results()
        runs = [event for event in self.events if isinstance(event, ToolRun)]
        uses: list[ToolUse] = []
        for index, call in enumerate(self.replies):
            for wish in call.reply.tool_calls if call.reply else ():
                began = call.at + call.seconds
                run = _take_run(runs, wish, began)
                uses.append(ToolUse(wish.name, wish.arguments, began, wish, results.get((index, wish.id)), run, index))
        uses.extend(ToolUse(run.name, run.arguments, run.at, run=run) for run in runs)
        return tuple(sorted(uses, key=lambda use: use.at))

    def _results(self) -> dict[tuple[int, str], Message]:
        """Tool results by (index of the answer, call id): the first result sent in a later request wins.

        Ids may repeat in a conversation: a result belongs to the wish before it in the history that was sent, and
        to the latest wish of that id where a request sends its news only.
        """
        results: dict[tuple[int, str], Message] = {}
        askers: dict[str, list[int]] = {}
        index = 0
        for call in sorted(self.model_calls, key=lambda call: call.at):
            wished: dict[str, int] = {}
            for message in call.messages:
                for wish in message.tool_calls:
                    wished[wish.id] = wished.get(wish.id, 0) + 1
                known = askers.get(message.call_id or "") if message.role == "tool" else None
                if known and message.call_id:
                    nth = wished.get(message.call_id, len(known))
                    results.setdefault((known[min(nth, len(known)) - 1], message.call_id), message)
            if call.reply is not None:
                for wish in call.reply.tool_calls:
                    askers.setdefault(wish.id, []).append(index)
                index += 1
        return results

    @property
    def last_message(self) -> Message | None:
        """The last answer of the model that says something, be it a refusal; None when there is none."""
        for call in reversed(self.replies):
            if call.reply is not None and call.reply.said.strip():
                return call.reply
        return None

    def summary(self) -> list[str]:
        """A short label an event: ``model``, ``tool:<name>:ok``, ``tool:<name>:error``, ``tool:<name>:pending``, …"""
        rows: list[tuple[float, str]] = []
        for event in self.events:
            if isinstance(event, ModelCall):
                rows.append((event.at, "model" if event.error is None else f"model:error:{event.http_status}"))
            elif not isinstance(event, ToolRun):
                kind = getattr(event, "kind", "output")
                rows.append((event.at, f"{kind}:{getattr(event, 'name', '')}".rstrip(":")))
        words = {True: "error", False: "ok", None: "pending"}
        rows.extend((use.at, f"tool:{use.name}:{words[use.error]}") for use in self.tool_calls)
        return [label for _, label in sorted(rows, key=lambda row: row[0])]

    def fingerprint(self) -> str:
        """A hash of what was said and done, without times, ids and costs; equal for identical transcripts.

        Empty when nothing was recorded: nothing seen is not the same as the same thing seen.
        """
        if not self.events:
            return ""
        said: list[Any] = []
        for event in self.events:
            if isinstance(event, ModelCall):
                wishes = [(w.name, w.arguments) for w in event.reply.tool_calls] if event.reply else []
                said.append([event.reply.said if event.reply else event.error, wishes])
            elif isinstance(event, ToolRun):
                said.append([event.name, event.arguments, event.error])
        text = json.dumps(said, sort_keys=True, default=str)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _take_run(runs: list[ToolRun], wish: ToolCall, began: float) -> ToolRun | None:
    """Take the run that belongs to a wish out of ``runs``: by call id, else by name and arguments."""
    named = [run for run in runs if run.name == wish.name]
    by_id = [run for run in named if run.call_id is not None and run.call_id == wish.id]
    unnumbered = [run for run in named if run.call_id is None and run.at >= began - 1e-9]
    same = [run for run in unnumbered if run.arguments == wish.arguments]
    found = next(iter(by_id or same), None)
    if found is not None:
        runs[:] = [run for run in runs if run is not found]
    return found
