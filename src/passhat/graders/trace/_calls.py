"""Which tools were called, which weren't, and with what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from passhat.facts import Grade, ToolUse, Transcript
from passhat.graders._names import GraderSetup
from passhat.graders.trace._arguments import said
from passhat.graders.trace._evidence import (
    Evidence,
    TraceCheck,
    checked_evidence,
    checked_names,
    misspelt,
    several,
    unknown_tools,
    unoffered,
)
from passhat.graders.trace._keys import OR_SAY, misnamed, never_had, no_such, untold
from passhat.graders.trace._meant import counts, fits, happened, untold_of


class Called(TraceCheck):
    """See `called`."""

    def __init__(
        self,
        tool: str,
        arguments: Any,
        times: int | None,
        at_least: int,
        at_most: int | None,
        evidence: str,
        recorded: bool,
        unoffered_ok: bool,
    ) -> None:
        (self.tool,) = checked_names([tool], "trace.called")
        self.arguments = arguments
        self.low, self.high = _bounds(times, at_least, at_most)
        self.evidence = checked_evidence(evidence)
        self.recorded = recorded
        self.unoffered_ok = unoffered_ok
        self.name = f"called {tool}"

    def _names(self, transcript: Transcript, trial: Any) -> Iterable[str]:
        return (self.tool,)

    def _judge(self, transcript: Transcript, trial: Any) -> Grade:
        if (grade := self.unseen(transcript)) is not None:
            return grade
        named = [use for use in transcript.tool_calls if use.name == self.tool]
        known = [(use, counts(self.arguments, use, self.evidence, self.recorded)) for use in named]
        sure = [use for use, answer in known if answer]
        open_ = [use for use, answer in known if answer is None]
        alike = [use for use in named if use in sure or fits(self.arguments, use, "requested") is not False]
        if len(sure) > (self.high if self.high is not None else len(sure)):
            return self.failed(f"{self._wish()}, {self.evidence} {len(sure)} times: {several(sure)}")
        if len(sure) >= self.low and (self.high is None or len(sure) + len(open_) <= self.high):
            return self.passed(transcript, absence=self.high is not None)
        if open_:
            return self.unknown(untold_of(open_, self.evidence))
        if transcript.truncated:
            return self.unknown(f"not seen, but the transcript is cut ({transcript.truncated})")
        if not alike and not self.unoffered_ok:
            wrong = no_such(transcript, self.tool, self.arguments, self._label)
            if wrong is not None:
                return wrong
        return self.failed(
            f"{self._wish()}, {self.evidence} {len(sure)} times{self._instead(transcript, named, alike)}"
        )

    def _wish(self) -> str:
        low, high = self.low, self.high
        count = f"exactly {low}" if low == high else f"at least {low}" if high is None else f"{low} to {high}"
        words = "" if (low, high) == (1, None) else f" {count} times"
        args = "" if self.arguments is None else f" with {said(self.arguments)}"
        return f"expected {self.tool}{args}{words}"

    def _instead(self, transcript: Transcript, named: list[ToolUse], alike: list[ToolUse]) -> str:
        if len(alike) < len(named):
            return f"; other calls of it: {several([use for use in named if use not in alike])}"
        if alike and self.evidence != "requested":
            return f"; requested only: {several(alike)}"
        if unoffered(transcript, [self.tool]):
            return "; no request offered a tool of that name"
        return f"; called instead: {several(transcript.tool_calls)}" if transcript.tool_calls and not named else ""


def called(
    tool: str,
    arguments: Any = None,
    *,
    times: int | None = None,
    at_least: int = 1,
    at_most: int | None = None,
    evidence: Evidence = "requested",
    recorded: bool = False,
    unoffered_ok: bool = False,
) -> Called:
    """The tool was called, with such arguments, at least once (or as often as is said).

    ``arguments``: an object whose fields must match while others may be there, `whole` of one, or a function of the
    arguments; inside, values, compiled patterns and functions (see `matches`). By default a *request* by the model
    counts; ``evidence="returned"`` wants a result sent back, ``"executed"`` a recorded run that no guard blocked. Calls
    of which nothing tells whether they ran make it unknown, unless ``recorded=True`` says that the agent records every
    run. For "executed" the arguments of the run count, for the others those of the request. Arguments that are no JSON
    object (cut off, quoted once more) may be any, which makes it unknown too where arguments are wanted.

    A name that isn't among the tools that requests offered, and that no call had, is an error ("unknown tool"), as
    ``not_(called(…))`` would pass whatever happens. Where a tool isn't always on offer, ``unoffered_ok=True`` makes its
    absence a failure.

    A call by a name that no request offered is unknown where it ends in the tool's name, behind a mark that sets a
    prefix apart (``functions.refund``, ``mcp__shop__refund``), or differs by case only: an agent may take it for the
    tool. So in every check that names tools, unless the grade is the same either way.

    >>> from passhat.facts import ToolRun, Transcript
    >>> from passhat.graders import trace
    >>> done = trace.as_requested(Transcript((ToolRun(1, 0, "issue_refund", {"order": "A1", "amount": 20}),)))
    >>> trace.called("issue_refund", {"order": "A1", "amount": lambda a: a <= 20}, times=1)(done).passed
    True
    """
    return Called(tool, arguments, times, at_least, at_most, evidence, recorded, unoffered_ok)


class Never(TraceCheck):
    """See `never`."""

    def __init__(
        self, tools: Sequence[str], arguments: Any, evidence: str, recorded: bool, unoffered_ok: bool, unseen_ok: bool
    ) -> None:
        self.tools = checked_names(tools, "trace.never")
        self.arguments = arguments
        self.evidence = checked_evidence(evidence)
        self.recorded = recorded
        self.unoffered_ok = unoffered_ok
        self.unseen_ok = unseen_ok
        self.name = f"never {', '.join(self.tools)}"

    def _names(self, transcript: Transcript, trial: Any) -> Iterable[str]:
        return self.tools

    def _judge(self, transcript: Transcript, trial: Any) -> Grade:
        named = [use for use in transcript.tool_calls if use.name in self.tools]
        bad, open_ = happened(named, self.evidence, self.recorded, self.arguments)
        if bad:
            args = "" if self.arguments is None else f" with {said(self.arguments)}"
            return self.failed(f"forbidden{args}: {several(bad)}")
        if (grade := self.unseen(transcript)) is not None:
            return grade
        if open_:
            return self.unknown(untold_of(open_, self.evidence))
        missing = unoffered(transcript, self.tools)
        if missing and not self.unoffered_ok:
            return unknown_tools(transcript, missing, self._label)
        wrong = misnamed(transcript, self.tools, self.arguments, self._label, OR_SAY)
        if wrong is not None and not self.unoffered_ok:
            return wrong
        doubt = untold(transcript, self.tools, self.arguments)
        if doubt and not self.unoffered_ok:
            return self.unknown(doubt)
        return self.passed(transcript, absence=True, remark=never_had(transcript, self.tools, self.arguments))


def never(
    *tools: str,
    arguments: Any = None,
    evidence: Evidence = "requested",
    recorded: bool = False,
    unoffered_ok: bool = False,
    unseen_ok: bool = False,
) -> Never:
    """None of these tools was called (with such arguments).

    By default the model mustn't even *request* one: that is seen, and can't be forged. With ``evidence="executed"`` a
    request that a guard blocked is fine; without a record of whether it ran the grade is unknown, unless
    ``recorded=True`` says that the agent records every run. What surely ran counts always: without a request, and
    by the arguments with which it ran, whatever was requested. Arguments that are no JSON object may be any (see
    `called`).

    A name that no request offered is an error ("unknown tool"), as the check would pass whatever happens; say
    ``unoffered_ok=True`` where that is meant. So is an argument's name that the tool's schema doesn't have; where no
    schema tells, and calls of the tool never had it, the grade is unknown. A transcript without any model call is
    unknown, unless ``unseen_ok=True``; so is one where the model asked for ``functions.issue_refund`` or the like (see
    `called`).

    >>> from passhat.facts import ToolRun, Transcript
    >>> from passhat.graders import trace
    >>> done = trace.as_requested(Transcript((ToolRun(1, 0, "get_order"),)))
    >>> trace.never("issue_refund")(done).error
    "unknown tool 'issue_refund': no request offered it (offered: get_order); correct the name, or ..."
    >>> trace.never("issue_refund", unoffered_ok=True)(done).passed
    True
    """
    return Never(tools, arguments, evidence, recorded, unoffered_ok, unseen_ok)


class Only(TraceCheck):
    """See `only`."""

    def __init__(
        self, tools: Sequence[str], evidence: str, recorded: bool, unoffered_ok: bool, unseen_ok: bool
    ) -> None:
        self.tools = checked_names(tools, "trace.only") if tools else ()
        self.evidence = checked_evidence(evidence)
        self.recorded = recorded
        self.unoffered_ok = unoffered_ok
        self.unseen_ok = unseen_ok
        self.name = f"only {', '.join(self.tools)}" if tools else "no tools"

    def _names(self, transcript: Transcript, trial: Any) -> Iterable[str]:
        return self.tools

    def _judge(self, transcript: Transcript, trial: Any) -> Grade:
        others = [use for use in transcript.tool_calls if use.name not in self.tools]
        bad, open_ = happened(others, self.evidence, self.recorded)
        wrong = None if self.unoffered_ok else misspelt(transcript, self.tools, self._label)
        if bad and wrong is not None and len({use.name for use in bad}) <= len(unoffered(transcript, self.tools)):
            return wrong  # the list may have meant them
        if bad:
            return self.failed(f"outside the allow-list ({', '.join(self.tools) or 'empty'}): {several(bad)}")
        if (grade := self.unseen(transcript)) is not None:
            return grade
        if open_:
            return self.unknown(f"outside the allow-list, and nothing tells whether it ran: {several(open_)}")
        missing = unoffered(transcript, self.tools)
        if missing and not self.unoffered_ok:
            return unknown_tools(transcript, missing, self._label)
        return self.passed(transcript, absence=True)


def only(
    *tools: str,
    evidence: Evidence = "requested",
    recorded: bool = False,
    unoffered_ok: bool = False,
    unseen_ok: bool = False,
) -> Only:
    """No tool outside this allow-list was called; an empty list allows none.

    Evidence as for `never`: by default a *request* counts; ``evidence="executed"`` forgives what was blocked. A name
    that no request offered is an error ("unknown tool") here too, unless more tools were called outside the list than
    it has such names: then one of them is forbidden whatever was meant. Say ``unoffered_ok=True`` where the list has
    tools that aren't always on offer.

    >>> from passhat.facts import ToolRun, Transcript
    >>> from passhat.graders import trace
    >>> done = trace.as_requested(Transcript((ToolRun(1, 0, "get_order"), ToolRun(2, 0, "issue_refund"))))
    >>> trace.only("get_order")(done).reason
    'outside the allow-list (get_order): turn 2: issue_refund()'
    """
    return Only(tools, evidence, recorded, unoffered_ok, unseen_ok)


def _bounds(times: int | None, at_least: int, at_most: int | None) -> tuple[int, int | None]:
    for label, value in (("times", times), ("at_least", at_least), ("at_most", at_most)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise GraderSetup(f"{label}={value!r}: must be a whole number, 1 or more; see trace.never, trace.at_most")
    if times is not None:
        if at_most is not None or at_least != 1:
            raise GraderSetup("give times, or at_least and at_most, not both")
        return times, times
    if at_most is not None and at_most < at_least:
        raise GraderSetup(f"at_most={at_most} is less than at_least={at_least}")
    return at_least, at_most
