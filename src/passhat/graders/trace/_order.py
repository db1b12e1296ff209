"""Which calls came before or after which others; never one exact sequence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Any

from passhat.facts import Grade, ToolUse, Transcript
from passhat.graders.trace._arguments import said
from passhat.graders.trace._errors import ended_in_error
from passhat.graders.trace._evidence import (
    Evidence,
    TraceCheck,
    checked_evidence,
    checked_names,
    several,
    told,
    unknown_tools,
    unoffered,
)
from passhat.graders.trace._keys import OR_SAY, misnamed, never_had, no_such, untold
from passhat.graders.trace._meant import concerns, counts, fits, happened, unread


class Before(TraceCheck):
    """See `before`."""

    def __init__(
        self,
        first: str,
        then: str,
        arguments: tuple[Any, Any],
        evidence: str,
        succeeded: bool,
        unoffered_ok: bool,
        unseen_ok: bool,
    ) -> None:
        self.first, self.then = checked_names([first, then], "trace.before")
        self.first_arguments, self.then_arguments = arguments
        self.evidence = checked_evidence(evidence)
        self.succeeded = succeeded
        self.unoffered_ok = unoffered_ok
        self.unseen_ok = unseen_ok
        self.name = f"{first} before {then}"

    def _names(self, transcript: Transcript, trial: Any) -> Iterable[str]:
        return (self.first, self.then)

    def _judge(self, transcript: Transcript, trial: Any) -> Grade:
        uses = transcript.tool_calls
        named = [use for use in uses if use.name == self.first]
        fit = {id(use): fits(self.first_arguments, use, self.evidence) for use in named}
        perhaps = [use for use in named if fit[id(use)] is not False]
        firsts = [use for use in perhaps if fit[id(use)]]
        well = {id(use) for use in perhaps if self._well(use)}  # a result may be long: each is read once
        level = "executed" if self.evidence == "executed" else "requested"
        meant, unclear = happened([use for use in uses if use.name == self.then], level, False, self.then_arguments)
        thens = meant + unclear
        open_: list[ToolUse] = []
        for then in thens:
            answer = self._preceded(transcript, firsts, well, then)
            if answer is False and (then in unclear or self._preceded(transcript, perhaps, well, then) is not False):
                answer = None
            if answer is False and not transcript.truncated:
                wrong = None if firsts or self.unoffered_ok else self._wrong(transcript)
                return self.failed(self._why(transcript, firsts, then)) if wrong is None else wrong
            if answer is not True:
                open_.append(then)
        if not thens and (grade := self.unseen(transcript)) is not None:
            return grade
        if open_:
            doubt = unread([*open_, *perhaps], self.evidence)
            text = f"nothing tells whether {self.first} was {self.evidence} before {several(open_)}"
            return self.unknown("; ".join(filter(None, (text, doubt))))
        remark = ""
        if not thens:
            sides = (self.then, self.then_arguments), (self.first, self.first_arguments)
            wrong, remark = vacuous(transcript, sides, self._label)
            if wrong is not None and not self.unoffered_ok:
                return wrong
        return self.passed(transcript, absence=True, remark=remark)

    def _wrong(self, transcript: Transcript) -> Grade | None:
        return no_such(transcript, self.first, self.first_arguments, self._label)

    def _preceded(
        self, transcript: Transcript, firsts: Sequence[ToolUse], well: Set[int], then: ToolUse
    ) -> bool | None:
        """Whether some first call was complete before ``then``; None when nothing tells."""
        if self.evidence == "executed":
            return self._ran_before(firsts, well, then)
        return any(self._done_before(transcript, first, id(first) in well, then) for first in firsts)

    def _ran_before(self, firsts: Sequence[ToolUse], well: Set[int], then: ToolUse) -> bool | None:
        if then.executed is False:
            return True  # it was blocked: nothing happened that had to be preceded
        if then.run is None:
            return None
        ran = [use for use in firsts if use.run is not None and use.executed]
        if any(id(use) in well and use.run.at + use.run.seconds <= then.run.at for use in ran if use.run is not None):
            return True
        return None if any(use.executed is None and use.at <= then.run.at for use in firsts) else False

    def _done_before(self, transcript: Transcript, first: ToolUse, well: bool, then: ToolUse) -> bool:
        if first.requested is None and (self.evidence == "requested" or first.run is None):
            return False
        if self.evidence == "requested":
            return first.at < then.at or (first.at == then.at and _position(transcript, first, then))
        if first.requested is None:  # the agent's own code ran it, without the model
            return first.run is not None and well and first.run.at + first.run.seconds <= then.at
        if first.returned is None or not well:
            return False
        if then.requested is None:
            return returned_at(transcript, first) <= then.at
        return returned_at(transcript, first) <= transcript.replies[then.turn].at

    def _well(self, use: ToolUse) -> bool:
        return not (self.succeeded and self.evidence != "requested" and ended_in_error(use))

    def _why(self, transcript: Transcript, firsts: Sequence[ToolUse], then: ToolUse) -> str:
        args = "" if self.first_arguments is None else f" with {said(self.first_arguments)}"
        text = f"{told(then)} came without {self.first}{args} {self._done} before it"
        if firsts:
            return (
                f"{text}; {self.first}: {several(firsts)}{' (it failed)' if all(map(ended_in_error, firsts)) else ''}"
            )
        other = [use for use in transcript.tool_calls if use.name == self.first]
        if other:
            return f"{text}; other calls of it: {several(other)}"
        return f"{text}; it was never called{' and never offered' if unoffered(transcript, [self.first]) else ''}"

    @property
    def _done(self) -> str:
        return self.evidence if self.evidence == "requested" or not self.succeeded else f"{self.evidence} without error"


def before(
    first: str,
    then: str,
    *,
    first_arguments: Any = None,
    then_arguments: Any = None,
    evidence: Evidence = "returned",
    succeeded: bool = True,
    unoffered_ok: bool = False,
    unseen_ok: bool = False,
) -> Before:
    """Every call of ``then`` comes after a complete call of ``first``.

    By default (``evidence="returned"``) the result of ``first`` must have been sent back to the model, without an
    error (see `returned_error`), before the model asked for ``then``: asking for both in one answer doesn't do.
    ``"requested"`` compares only the order in which the model asked for them, ``"executed"`` the recorded runs.
    ``succeeded=False`` accepts a ``first`` that failed. ``first_arguments`` and ``then_arguments`` narrow the calls
    that are meant (see `called`).

    A ``first`` in another conversation of the same trial (a second agent's, say) counts like any other.

    Without any call of ``then`` it passes, unless one of the names was never offered or nothing was seen (see `never`).
    A call of ``then`` without a ``first`` that no request offered is an error too, unless ``unoffered_ok=True``.

    >>> from passhat.facts import ToolRun, Transcript
    >>> from passhat.graders import trace
    >>> done = trace.as_requested(Transcript((ToolRun(1, 0, "get_order"), ToolRun(2, 0, "issue_refund"))))
    >>> trace.before("get_order", "issue_refund")(done).passed
    True
    """
    return Before(first, then, (first_arguments, then_arguments), evidence, succeeded, unoffered_ok, unseen_ok)


class After(TraceCheck):
    """See `after`."""

    def __init__(
        self,
        later: str,
        first: str,
        arguments: tuple[Any, Any],
        evidence: str,
        recorded: bool,
        unoffered_ok: bool,
        unseen_ok: bool,
    ) -> None:
        self.later, self.first = checked_names([later, first], "trace.after")
        self.later_arguments, self.first_arguments = arguments
        self.evidence = checked_evidence(evidence)
        self.recorded = recorded
        self.unoffered_ok = unoffered_ok
        self.unseen_ok = unseen_ok
        self.name = f"{later} after {first}"

    def _names(self, transcript: Transcript, trial: Any) -> Iterable[str]:
        return (self.later, self.first)

    def _judge(self, transcript: Transcript, trial: Any) -> Grade:
        uses = transcript.tool_calls
        mine = [use for use in uses if use.name == self.first]
        due, unclear = happened(mine, self.evidence, self.recorded, self.first_arguments)
        firsts = due + unclear
        laters = [use for use in uses if use.name == self.later and self._answers(use) is not False]
        open_: list[ToolUse] = []
        for first in firsts:
            following = [use for use in laters if _follows(transcript, use, first)]
            evident = [self._answers(use) for use in following]
            if True in evident:
                continue
            if first in unclear or None in evident or transcript.truncated:
                open_.append(first)
                continue
            return self._missed(transcript, first)
        if not firsts and (grade := self.unseen(transcript)) is not None:
            return grade
        if open_:
            doubt = unread([*open_, *laters], self.evidence)
            text = f"nothing tells whether {self.later} was {self.evidence} after {several(open_)}"
            return self.unknown("; ".join(filter(None, (text, doubt))))
        remark = ""
        if not firsts:
            sides = (self.first, self.first_arguments), (self.later, self.later_arguments)
            wrong, remark = vacuous(transcript, sides, self._label)
            if wrong is not None and not self.unoffered_ok:
                return wrong
        return self.passed(transcript, absence=not firsts, remark=remark)

    def _answers(self, use: ToolUse) -> bool | None:
        """Whether a call is one that had to follow; what code ran without a request is, at every level."""
        judged = concerns if use.requested is None else counts
        return judged(self.later_arguments, use, self.evidence, self.recorded)

    def _missed(self, transcript: Transcript, first: ToolUse) -> Grade:
        named = [use for use in transcript.tool_calls if use.name == self.later]
        asked = [use for use in named if fits(self.later_arguments, use, "requested")]
        if not asked and not self.unoffered_ok:
            wrong = no_such(transcript, self.later, self.later_arguments, self._label)
            if wrong is not None:
                return wrong
        args = "" if self.later_arguments is None else f" with {said(self.later_arguments)}"
        following = [use for use in asked if _follows(transcript, use, first)]
        only = f"; requested only: {several(following)}" if following else ""
        return self.failed(f"no {self.later}{args} was {self.evidence} after {told(first)}{only}")


def after(
    later: str,
    first: str,
    *,
    later_arguments: Any = None,
    first_arguments: Any = None,
    evidence: Evidence = "requested",
    recorded: bool = False,
    unoffered_ok: bool = False,
    unseen_ok: bool = False,
) -> After:
    """Every call of ``first`` is followed by a call of ``later``: ``after("send_receipt", "issue_refund")``.

    By default both are *requests* of the model; ``evidence`` and ``recorded`` as for `called`. Without any call of
    ``first`` it passes, unless one of the names was never offered, or nothing was seen (see `never`). What surely ran
    without a request counts on both sides. A ``later`` that
    no request offered is an error too, unless ``unoffered_ok=True``.

    >>> from passhat.facts import ToolRun, Transcript
    >>> from passhat.graders import trace
    >>> done = trace.as_requested(Transcript((ToolRun(1, 0, "get_order"), ToolRun(2, 0, "issue_refund"))))
    >>> trace.after("issue_refund", "get_order")(done).passed
    True
    """
    return After(later, first, (later_arguments, first_arguments), evidence, recorded, unoffered_ok, unseen_ok)


def vacuous(transcript: Transcript, sides: Sequence[tuple[str, Any]], label: str) -> tuple[Grade | None, str]:
    """Why a check that found none of the calls it is about may say nothing: an error or unknown, and a remark.

    The first side is that of the calls, and the other of those that they need.
    """
    remark = "; ".join(filter(None, (never_had(transcript, [tool], arguments) for tool, arguments in sides)))
    missing = unoffered(transcript, [tool for tool, _ in reversed(sides)])  # named in the order of the check's words
    if missing:
        return unknown_tools(transcript, missing, label), remark
    wrong = (misnamed(transcript, [tool], arguments, label, OR_SAY) for tool, arguments in sides)
    found = next((each for each in wrong if each is not None), None)
    if found is None and (doubt := untold(transcript, [sides[0][0]], sides[0][1])):
        found = Grade(None, doubt, evidence=label)
    return found, remark


def returned_at(transcript: Transcript, use: ToolUse) -> float:
    """When the result of a requested call was sent to the model, in seconds; infinity when it wasn't."""
    if use.requested is None or use.returned is None:
        return float("inf")
    asked = transcript.replies[use.turn]
    for call in transcript.model_calls:
        if call.at > asked.at and any(message is use.returned for message in call.messages):
            return call.at
    return float("inf")


def _position(transcript: Transcript, one: ToolUse, other: ToolUse) -> bool:
    """Whether ``one`` comes first among the calls of one answer."""
    uses = transcript.tool_calls
    return uses.index(one) < uses.index(other)


def _follows(transcript: Transcript, use: ToolUse, first: ToolUse) -> bool:
    return use.at > first.at or (use.at == first.at and _position(transcript, first, use))
