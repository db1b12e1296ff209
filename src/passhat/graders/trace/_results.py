"""What became of tool calls: results that were used, errors, handoffs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from passhat.facts import AgentEvent, Grade, ToolRun, ToolUse, Transcript
from passhat.graders._compare import short
from passhat.graders.trace._arguments import said
from passhat.graders.trace._errors import ended_in_error, result_text
from passhat.graders.trace._evidence import TraceCheck, checked_names, misspelt, several, told, unknown_tools, unoffered
from passhat.graders.trace._keys import no_such
from passhat.graders.trace._meant import fits, untold_of
from passhat.graders.trace._texts import compiled


class NoResultIgnored(TraceCheck):
    """See `no_result_ignored`."""

    evidence = "returned"

    def __init__(self, ending: Sequence[str], unoffered_ok: bool) -> None:
        self.ending = checked_names(ending, "trace.no_result_ignored") if ending else ()
        self.unoffered_ok = unoffered_ok
        self.name = "no result ignored"

    def _names(self, transcript: Transcript, trial: Any) -> Iterable[str]:
        return self.ending

    def _judge(self, transcript: Transcript, trial: Any) -> Grade:
        if (grade := self.unseen(transcript)) is not None:
            return grade
        pending = [use for use in transcript.tool_calls if use.requested is not None and use.returned is None]
        last = self._last_asked(transcript)
        dropped = [use for use in pending if use.turn < last]
        if dropped:
            return self.failed(f"the model went on without the result of {several(dropped)}")
        late = [use for use in transcript.tool_calls if use.returned is not None and _asked_without(transcript, use)]
        if late:
            return self.failed(f"the model was asked again before the result came back, of {several(late)}")
        open_ = [use for use in pending if use.name not in self.ending and use.run is None]
        if open_:
            hint = f"name tools that end the work: ending=({open_[0].name!r},)"
            return self.unknown(f"nothing tells what became of {several(open_)}; {hint}")
        missing = unoffered(transcript, self.ending)
        if missing and not self.unoffered_ok:
            return unknown_tools(transcript, missing, self._label)
        return self.passed(transcript, absence=True)

    def _last_asked(self, transcript: Transcript) -> int:
        """How many answers had come before the last request."""
        calls = transcript.model_calls
        return sum(call.at < calls[-1].at for call in transcript.replies) if calls else 0


def no_result_ignored(*, ending: Sequence[str] = (), unoffered_ok: bool = False) -> NoResultIgnored:
    """Every tool call that the model made got its result back before the model was asked again.

    Asked again means: by the next request that tells of the call. One that doesn't (a tool's own request to a model,
    or a request with news only) may come between, when the result comes later.

    Calls of the last answer have no later request: they are fine when their run was recorded, or when they are named
    in ``ending`` (a ``submit`` that ends the work); else it is unknown. A name in ``ending`` that no request offered is
    an error ("unknown tool"), unless ``unoffered_ok=True``.

    >>> from passhat.facts import ToolRun, Transcript
    >>> from passhat.graders import trace
    >>> done = trace.as_requested(Transcript((ToolRun(1, 0, "get_order"),)))
    >>> trace.no_result_ignored()(done).passed
    True
    """
    return NoResultIgnored(ending, unoffered_ok)


class ReturnedError(TraceCheck):
    """See `returned_error`."""

    evidence = "returned"

    def __init__(self, tool: str, arguments: Any, pattern: Any, unoffered_ok: bool) -> None:
        (self.tool,) = checked_names([tool], "trace.returned_error")
        self.arguments = arguments
        self.pattern = None if pattern is None else compiled(pattern)
        self.unoffered_ok = unoffered_ok
        self.name = f"{tool} returned an error"

    def _names(self, transcript: Transcript, trial: Any) -> Iterable[str]:
        return (self.tool,)

    def _judge(self, transcript: Transcript, trial: Any) -> Grade:
        named = [(use, fits(self.arguments, use, "returned")) for use in transcript.tool_calls if use.name == self.tool]
        uses = [use for use, fit in named if fit]
        if any(self._failed(use) for use in uses):
            return self.passed(transcript)
        if (grade := self.unseen(transcript)) is not None:
            return grade
        if transcript.truncated:
            return self.unknown(f"no error seen, but the transcript is cut ({transcript.truncated})")
        open_ = [use for use, fit in named if fit is None and (self._failed(use) or _pending(use))]
        if open_:
            return self.unknown(untold_of(open_, "returned"))
        if pending := [use for use in uses if _pending(use)]:
            return self.unknown(f"nothing tells what became of {several(pending)}")
        if not uses:
            wrong = None if self.unoffered_ok else no_such(transcript, self.tool, self.arguments, self._label)
            return self.failed(f"{self.tool} was never called{self._with()}") if wrong is None else wrong
        results = "; ".join(f"{told(use)} → {short(result_text(use), 100)}" for use in uses[:5])
        like = "" if self.pattern is None else f" like /{self.pattern.pattern}/"
        return self.failed(f"no error{like}: {results}")

    def _with(self) -> str:
        return "" if self.arguments is None else f" with {said(self.arguments)}"

    def _failed(self, use: ToolUse) -> bool:
        if self.pattern is not None:
            return self.pattern.search(result_text(use)) is not None
        return ended_in_error(use)


def returned_error(
    tool: str, arguments: Any = None, *, pattern: str | re.Pattern[str] | None = None, unoffered_ok: bool = False
) -> ReturnedError:
    """Some call of the tool came back as an error: a refused refund, a blocked call.

    An error is one that the wire or the agent's record marks as such; where a wire has no mark (OpenAI's), a result
    that reads as one: text that starts with "Error", "ValueError: …", "Failed", "Blocked", "Tool call failed" or the
    like, or with ``<error>``; an object (JSON, or Python's repr) whose ``error``, ``errors``, ``is_error`` or
    ``isError`` isn't empty, whose ``success`` or ``ok`` is false, or whose ``status`` is error, failed or failure.
    ``pattern`` replaces all that: the text that the result must contain. A tool that no request offered is an error, as
    for `called`, unless ``unoffered_ok=True``.

    >>> from passhat.facts import ToolRun, Transcript
    >>> from passhat.graders import trace
    >>> done = trace.as_requested(Transcript((ToolRun(1, 0, "issue_refund", error="over the limit"),)))
    >>> trace.returned_error("issue_refund", pattern="limit")(done).passed
    True
    """
    return ReturnedError(tool, arguments, pattern, unoffered_ok)


class HandedOff(TraceCheck):
    """See `handed_off`."""

    evidence = "the agent's record (told) or a requested transfer tool (seen)"

    def __init__(self, to: str | None, tool: str | None, unoffered_ok: bool) -> None:
        if to is not None:
            checked_names([to], "trace.handed_off")
        self.to = to
        self.tool = tool
        self.unoffered_ok = unoffered_ok
        self.name = f"handed off{f' to {to}' if to else ''}"

    def _names(self, transcript: Transcript, trial: Any) -> Iterable[str]:
        return (self.tool,) if self.tool is not None else filter(self._is_transfer, transcript.offered)

    def _judge(self, transcript: Transcript, trial: Any) -> Grade:
        events = [e for e in transcript.events if isinstance(e, AgentEvent) and e.kind == "handoff"]
        if any(self.to in (None, event.name) for event in events):
            return self.passed(transcript)
        transfers = [use for use in transcript.tool_calls if self._transfers(use)]
        failed = [use for use in transfers if ended_in_error(use)]
        pending = [use for use in transfers if use not in failed and _pending(use)]
        if len(failed) + len(pending) < len(transfers):
            return self.passed(transcript)
        named = [self.tool] if self.tool is not None and not self.unoffered_ok else []
        if (wrong := misspelt(transcript, named, self._label)) is not None:
            return wrong
        if transcript.truncated:
            return self.unknown(f"no handoff seen, but the transcript is cut ({transcript.truncated})")
        if pending:
            return self.unknown(
                f"nothing tells what became of {several(pending)}: no result was sent back, and no run recorded; "
                "see trial.handoff(…)"
            )
        if failed:
            ends = "; ".join(f"{told(use)} → {short(result_text(use), 100)}" for use in failed[:5])
            return self.failed(f"the handoff failed: {ends}")
        if events:
            return self.failed(f"handed off to {', '.join(sorted({event.name for event in events}))} instead")
        if self._could_tell(transcript):
            return self.failed("nothing was handed off")
        return self.unknown("no handoff was recorded, and the agent records none of its doings: see trial.handoff(…)")

    def _transfers(self, use: ToolUse) -> bool:
        return use.name == self.tool if self.tool is not None else self._is_transfer(use.name)

    def _is_transfer(self, tool: str) -> bool:
        names = ("transfer_to_", "handoff_to_", "hand_off_to_", "escalate_to_")
        return any(tool.startswith(name) and self.to in (None, tool.removeprefix(name)) for name in names)

    def _could_tell(self, transcript: Transcript) -> bool:
        offers = self.tool in transcript.offered if self.tool else False
        return offers or any(isinstance(event, AgentEvent | ToolRun) for event in transcript.events)


def handed_off(to: str | None = None, *, tool: str | None = None, unoffered_ok: bool = False) -> HandedOff:
    """The conversation was handed to another agent or a person, any or the one named.

    Seen in ``trial.handoff(to)``, or in a call of the tool named here, else of ``transfer_to_<to>`` and the like, whose
    run or result isn't an error (see `returned_error`). A call of which neither is known makes it unknown: where the
    transfer ends the agent's work, record ``trial.handoff(to)``, or ask `called` for the request alone.
    Without any it is a failure only where the agent records anything, or was offered ``tool``; else it is unknown.
    A ``tool`` that no request offered is an error, as for `called`, unless ``unoffered_ok=True``.

    >>> from passhat.facts import ToolRun, Transcript
    >>> from passhat.graders import trace
    >>> done = trace.as_requested(Transcript((ToolRun(1, 0, "transfer_to_person"),)))
    >>> trace.handed_off("person")(done).passed
    True
    """
    return HandedOff(to, tool, unoffered_ok)


def _asked_without(transcript: Transcript, use: ToolUse) -> bool:
    """Whether the first request that tells of a call, after the answer with it, comes without its result."""
    asked = transcript.replies[use.turn]
    for call in transcript.model_calls:
        places = [index for index, message in enumerate(call.messages) if use.requested in message.tool_calls]
        if call.at > asked.at and places:
            rest = call.messages[places[-1] + 1 :]
            return not any(message.role == "tool" and message.call_id == _id(use) for message in rest)
    return False


def _id(use: ToolUse) -> str | None:
    return None if use.requested is None else use.requested.id


def _pending(use: ToolUse) -> bool:
    """Whether nothing tells what became of a call."""
    return use.returned is None and use.run is None
