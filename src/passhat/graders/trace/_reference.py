"""A reference solution, which is played without a model, as if a model had asked for each of its steps."""

from __future__ import annotations

from collections.abc import Sequence

from passhat.facts import Event, Message, ModelCall, ToolCall, ToolOffer, ToolRun, Transcript


def as_requested(transcript: Transcript, *, offered: Sequence[str] = ()) -> Transcript:
    """Put a model call before each recorded run that no model asked for, and one that brings its result after it.

    Then every check can be asked of a reference solution. ``offered`` are names of tools that count as offered, beside
    those that ran. The new events have the source "reference" and the author "told".

    >>> run = ToolRun(1.0, 0.5, "issue_refund", {"order": "A1"}, "done")
    >>> [use.returned.text for use in as_requested(Transcript((run,))).tool_calls]
    ['done']
    """
    alone = {id(use.run) for use in transcript.tool_calls if use.requested is None}
    runs = [event for event in transcript.events if isinstance(event, ToolRun) and id(event) in alone]
    tools = tuple(ToolOffer(name) for name in dict.fromkeys([*offered, *(run.name for run in runs)]))
    events: list[Event] = [event for event in transcript.events if id(event) not in alone]
    history: tuple[Message, ...] = (Message("user", "(the task)"),)
    for index, run in enumerate(runs):
        wish = ToolCall(f"reference_{index}", run.name, run.arguments)
        reply = Message("assistant", tool_calls=(wish,))
        events.append(_call(run.at, history, tools, reply))
        events.append(_numbered(run, wish.id))
        error = run.error is not None or run.blocked
        text = run.error if run.error is not None else "" if run.result is None else str(run.result)
        history = (*history, reply, Message("tool", text, call_id=wish.id, error=error))
    last = max((event.at + getattr(event, "seconds", 0.0) for event in events), default=0.0)
    events.append(_call(last, history, tools, Message("assistant", "(done)")))
    return Transcript(tuple(sorted(events, key=lambda event: event.at)), transcript.truncated)


def _call(at: float, history: tuple[Message, ...], tools: tuple[ToolOffer, ...], reply: Message) -> ModelCall:
    stop = "tool_calls" if reply.tool_calls else "stop"
    return ModelCall(
        at, 0.0, "reference", "reference", messages=history, tools=tools, reply=reply, stop_reason=stop, author="told"
    )


def _numbered(run: ToolRun, call_id: str) -> ToolRun:
    return ToolRun(
        run.at, run.seconds, run.name, run.arguments, run.result, run.error, call_id, run.blocked, run.author
    )
