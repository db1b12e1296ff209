"""What was said: confirmations by the user, and why the model stopped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from passhat.facts import AgentEvent, Grade, ToolUse, Transcript
from passhat.graders._compare import few
from passhat.graders.trace._consent import Heard, denies, heard
from passhat.graders.trace._evidence import TraceCheck, checked_names, told, unknown_tools, unoffered
from passhat.graders.trace._keys import OR_SAY, misnamed, never_had, untold
from passhat.graders.trace._meant import concerns, unread
from passhat.graders.trace._order import returned_at
from passhat.graders.trace._spoken import spoken

Confirms = str | re.Pattern[str] | Callable[[str], bool]


class Confirmed(TraceCheck):
    """See `confirmed`."""

    evidence = "requested (seen), the user's words as the agent sent them (told)"

    def __init__(self, tool: str, arguments: Any, confirms: Confirms | None, unoffered_ok: bool) -> None:
        (self.tool,) = checked_names([tool], "trace.confirmed")
        self.arguments = arguments
        self.confirms = re.compile(confirms, re.I) if isinstance(confirms, str) else confirms
        self.unoffered_ok = unoffered_ok
        self.name = f"{tool} confirmed"

    def _names(self, transcript: Transcript, trial: Any) -> Iterable[str]:
        return (self.tool,)

    def _judge(self, transcript: Transcript, trial: Any) -> Grade:
        calls = [use for use in transcript.tool_calls if use.name == self.tool]
        uses: list[ToolUse] = []
        open_: list[ToolUse] = []
        mixed: list[str] = []
        since = -1.0
        approvals = Approvals(transcript, calls)
        for use in calls:
            approved = approvals.of(use)
            if use.executed is False:
                continue
            meant = concerns(self.arguments, use, "requested")
            said = meant is not False and self._agreed(transcript, since, use, approved)
            agreed = isinstance(said, str) or said
            before, since = since, use.at  # a yes is used up by whatever call of the tool comes after it
            if meant is False:
                continue
            uses.append(use)
            if not agreed and meant:
                if transcript.truncated:
                    return self.unknown(f"no confirmation seen, but the transcript is cut ({transcript.truncated})")
                words = self._last_word(transcript, use, before)
                words = words if approved is None or approved[1] else f"its approval was refused; {words}"
                return self.failed(f"{told(use)} came without the user's confirmation; {words}")
            open_ += [] if agreed else [use]
            mixed += [f"{told(use)} came after {said}"] if isinstance(said, str) else []
        if mixed:
            return self.unknown(f"{few(mixed)}; confirms= decides: a pattern, or a function of the text")
        if open_:
            return self.unknown(f"no confirmation seen, and {unread(open_, 'requested')}")
        if (grade := self.unseen(transcript)) is not None:
            return grade
        if not uses and not self.unoffered_ok and (missing := unoffered(transcript, [self.tool])):
            return unknown_tools(transcript, missing, self._label)
        if uses:
            return self.passed(transcript, absence=True)
        wrong = misnamed(transcript, [self.tool], self.arguments, self._label, OR_SAY)
        if wrong is not None and not self.unoffered_ok:
            return wrong
        doubt = untold(transcript, [self.tool], self.arguments)
        if doubt and not self.unoffered_ok:
            return self.unknown(doubt)
        return self.passed(transcript, absence=True, remark=never_had(transcript, [self.tool], self.arguments))

    def _agreed(
        self, transcript: Transcript, since: float, use: ToolUse, approved: tuple[float, bool] | None
    ) -> bool | str:
        """Whether the last word before a call was a yes: the user's, or the answer to a request for approval.

        Text where that can't be told: it says which words met. Words are sent with the next request: where that leaves
        open which came last, a denial did.
        """
        word: tuple[float, float, bool | str] | None = None  # said from, said until, whether it agrees
        asked: float | None = None
        for at, message in spoken(transcript, use.turn if use.requested is not None else None, use.at):
            if message.role == "assistant" and message.said.strip():
                asked = at
            if message.role != "user" or asked is None or at <= since:
                continue
            words = self._heard(message.text, word is not None and word[2] is not False)
            if words is not None:
                word = (
                    asked if asked < at else since,
                    at,
                    words.agrees if words.agrees is not None else _mixed(words, message.text),
                )
        if word is None or approved is None:
            return word[2] if word is not None else approved is not None and approved[1]
        first, last, yes = word
        when, granted = approved
        if yes is granted or when > last:
            return granted
        return yes if first >= when or (granted and yes is not True) else False

    def _heard(self, text: str, standing: bool) -> Heard | None:
        if self.confirms is None:
            return heard(text, self.tool, standing)
        pattern = self.confirms
        if pattern.search(text) is not None if isinstance(pattern, re.Pattern) else pattern(text):
            return Heard(True)
        return Heard(False) if denies(text, self.tool, standing) else None

    def _last_word(self, transcript: Transcript, use: ToolUse, since: float) -> str:
        talk = spoken(transcript, use.turn if use.requested else None, use.at)
        said = [(at, message.text) for at, message in talk if message.role == "user"]
        if not said:
            return "the user said nothing"
        at, text = said[-1]
        used = ", before an earlier call of it" if at <= since else ""
        return f"the user's last words: {text[:120]!r}{used}"


def confirmed(
    tool: str, arguments: Any = None, *, confirms: Confirms | None = None, unoffered_ok: bool = False
) -> Confirmed:
    """Every call of the tool follows a confirmation by the user: one for each call, given in reply to the agent.

    A confirmation is a granted approval that the agent recorded for the tool (``trial.approval(tool, True)``), or a
    message of the user that comes after something the assistant said and that agrees. A later denial takes it back: a
    refused approval, or words that say no. Each call of the tool uses up the yes before it, whatever its arguments are,
    unless it was blocked; ``arguments`` only say which calls are judged.

    "Agrees" means plain English: a sentence with yes, y, ok, sure, fine, go ahead, sounds good, I confirm, … that is no
    question; or "please" and a word of the tool's name, with no more beside ("please refund it" to ``issue_refund``).
    A message with a word that denies (no, not, can't, never, cancel, stop, wait, …; but no word of the tool's
    own name, as in ``cancel_order``) is a no. One with both, or with a yes beside but, actually, instead, keep, only,
    later, if, when, doubt, …, is unknown; so is a yes that another says ("the form says: yes", "Refundable: yes",
    "Observation: …"), an earlier yes that "actually", "instead" or "keep it" follows, and what can't be told to be
    either: another language, a sign, "true", "I do". After a yes, closings such as "no thanks, that's all" deny
    nothing. What the agent asked isn't read, nor are quoted lines.

    Give ``confirms=`` a pattern or a function of the text for anything else: it decides what agrees; what denies stays.
    The first message of a conversation asks; it never confirms.

    >>> from passhat.facts import ToolRun, Transcript
    >>> from passhat.graders import trace
    >>> done = trace.as_requested(Transcript((ToolRun(2, 0, "issue_refund"),)))
    >>> trace.confirmed("issue_refund")(done).passed
    False
    """
    return Confirmed(tool, arguments, confirms, unoffered_ok)


def _mixed(words: Heard, text: str) -> str:
    if not words.yes:
        return f"words that can't be told to be a yes or a no: {text[:120]!r}"
    return f"words that agree and words that may not: {words.yes!r} beside {words.against!r} in {text[:120]!r}"


class Approvals:
    """The recorded answers to requests for approval of a tool, each used by one call of it."""

    def __init__(self, transcript: Transcript, calls: Sequence[ToolUse]) -> None:
        names = {use.name for use in calls}
        events = (event for event in transcript.events if isinstance(event, AgentEvent) and event.kind == "approval")
        self._left = [(event.at, event.value is True) for event in events if event.name in names]
        self._calls = calls
        self._transcript = transcript

    def of(self, use: ToolUse) -> tuple[float, bool] | None:
        """The answer that holds for a call, the next one in order, and when it was given, in seconds.

        Calls of one answer take one each; else a later refusal takes a grant back, and a grant after a refusal counts.
        """
        beside = sum(other.at == use.at for other in self._calls) > 1
        until = use.run.at if use.run is not None else returned_at(self._transcript, use)
        until = min([until, *(other.at for other in self._calls if other.at > use.at)])
        answer: tuple[float, bool] | None = None
        while self._left and self._left[0][0] <= until:
            again = answer is not None and answer[1] and self._left[0][1]
            if again or (beside and answer is not None):
                break  # it is for the next call
            answer = self._left.pop(0)
        return answer


class StopReason(TraceCheck):
    """See `stop_reason`."""

    evidence = "the provider's answer (seen)"

    def __init__(self, reasons: Sequence[str], every: bool) -> None:
        self.reasons = checked_names(reasons, "trace.stop_reason")
        self.every = every
        self.name = f"stop reason {' or '.join(self.reasons)}"

    def _judge(self, transcript: Transcript, trial: Any) -> Grade:
        turns = transcript.turns
        if not turns:
            return self.unknown("no answer of the model was seen")
        wanted = {canonical_stop(reason) for reason in self.reasons}
        asked = turns if self.every else turns[-1:]
        for turn in asked:
            reason = turn.call.stop_reason
            if not reason:
                return self.unknown(f"turn {turn.index + 1}: the answer gave no stop reason")
            if canonical_stop(reason) not in wanted:
                return self.failed(f"turn {turn.index + 1} stopped by {reason!r}, expected {' or '.join(self.reasons)}")
        return self.passed(transcript, absence=True)


def stop_reason(*reasons: str, every: bool = False) -> StopReason:
    """The model's last answer (or every one) stopped for one of these reasons.

    The providers' words for one thing are taken as equal: "stop", "end_turn" and "completed"; "length" and
    "max_tokens"; "tool_calls" and "tool_use"; "content_filter" and "refusal".

    >>> from passhat.facts import ToolRun, Transcript
    >>> from passhat.graders import trace
    >>> done = trace.as_requested(Transcript((ToolRun(1, 0, "get_order"),)))
    >>> trace.stop_reason("end_turn")(done).passed
    True
    """
    return StopReason(reasons, every)


_STOPS = {
    "end_turn": "stop",
    "completed": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "incomplete": "length",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "refusal",
}


def canonical_stop(reason: str) -> str:
    """One word for a stop reason, whichever provider's it is.

    >>> canonical_stop("end_turn")
    'stop'
    """
    return _STOPS.get(reason, reason)
