"""A transcript as text for a judge: what was asked, called and returned, each line with who vouches for it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from passhat.facts import AgentEvent, Message, ModelCall, OutputText, ToolRun, Transcript

LEGEND = (
    "Each step of the trace begins with its number and who vouches for it: [seen] passed through the recorder and "
    "can't be forged by the agent, [told] is the agent's own word, [file] was read from a file it left. A line that "
    "begins with | goes on with the step above, whatever it says."
)


def rendered(transcript: Transcript) -> str:
    """The steps of a transcript, numbered; of a conversation that is sent again and again only what is new."""
    lines: list[str] = []
    known: tuple[Message, ...] = ()
    for event in transcript.events:
        match event:
            case ModelCall():
                if event.wire != "other" and event.refused is None:
                    lines.extend(_call(event, known))
                    known = (*event.messages, *([event.reply] if event.reply else []))
            case ToolRun():
                lines.append(_run(event))
            case AgentEvent():
                value = "" if event.value is None else f": {_data(event.value)}"
                lines.append(f"[{event.author}] {event.kind} {event.name}{value}")
            case OutputText():
                lines.append(f"[{event.author}] printed on {event.stream}: {event.text}")
    if transcript.truncated:
        lines.append(f"[seen] the transcript is incomplete: {transcript.truncated}")
    return "\n".join(f"{number}. {_inside(line)}" for number, line in enumerate(lines, 1))


def _inside(line: str) -> str:
    """A step of several lines, in which no line looks like the beginning of another step."""
    return line.replace("\r\n", "\n").replace("\n", "\n   | ")


def _call(call: ModelCall, known: Sequence[Message]) -> Iterator[str]:
    for message in _new(call.messages, known):
        yield f"[told] {_message(message)}"
    if call.reply is None:
        yield f"[seen] the model's provider failed: {call.error or call.http_status}"
        return
    said = call.reply.said
    if said.strip() or not call.reply.tool_calls:
        yield f"[seen] the model says: {said}"
    for wish in call.reply.tool_calls:
        yield f"[seen] the model calls {wish.name}({_data(wish.arguments)})"


def _new(messages: Sequence[Message], known: Sequence[Message]) -> Sequence[Message]:
    """What stands after the part that was told before; the model's own earlier words are left out as known."""
    same = 0
    for before, now in zip(known, messages, strict=False):
        if (before.role, before.text, before.call_id) != (now.role, now.text, now.call_id):
            break
        same += 1
    return messages[same:]


def _message(message: Message) -> str:
    if message.role == "tool":
        name = f" of {message.name}" if message.name else ""
        return f"the tool's {'error' if message.error else 'result'}{name}: {message.text}"
    calls = "".join(f"\n   calls {wish.name}({_data(wish.arguments)})" for wish in message.tool_calls)
    parts = "".join(f" {part}" for part in message.parts)
    return f"{message.role}: {message.said}{parts}{calls}"


def _run(run: ToolRun) -> str:
    if run.blocked:
        end = f"was blocked: {run.error or 'a guard stopped it'}"
    elif run.error is not None:
        end = f"failed: {run.error}"
    else:
        end = f"returned {_data(run.result)}"
    return f"[{run.author}] {run.name}({_data(run.arguments)}) ran and {end}"


def _data(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return repr(value)
