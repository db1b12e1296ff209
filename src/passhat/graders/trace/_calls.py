"""Which tools were called, which weren't, and with what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from passhat.facts import Grade, ToolUse, Transcript
from passhat.graders._expected import checked, expected_of
from passhat.graders._matching import best_pairs
from passhat.graders._names import GraderSetup
from passhat.graders.trace._arguments import fits, said
from passhat.graders.trace._evidence import (
    Evidence,
    TraceCheck,
    checked_evidence,
    checked_names,
    holds,
    misspelt,
    several,
    told,
    unknown_tools,
    unoffered,
)
from passhat.graders.trace._keys import OR_SAY, misnamed, never_had, no_such, untold


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

    def _judge(self, transcript: Transcript, trial: Any) -> Grade:
        if (grade := self.unseen(transcript)) is not None:
            return grade
        named = [use for use in transcript.tool_calls if use.name == self.tool]
        alike = [use for use in named if fits(self.arguments, use.arguments)]
        sure = [use for use in alike if holds(use, self.evidence, self.recorded)]
        open_ = [use for use in alike if holds(use, self.evidence, self.recorded) is None]
        if len(sure) > (self.high if self.high is not None else len(sure)):
            return self.failed(f"{self._wish()}, {self.evidence} {len(sure)} times: {several(sure)}")
        if len(sure) >= self.low and (self.high is None or len(sure) + len(open_) <= self.high):
            return self.passed(transcript, absence=self.high is not None)
        if open_:
            return self.unknown(f"nothing tells whether it ran ({several(open_)}); record runs with @passhat.tool")
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
    run.

    A name that isn't among the tools that requests offered, and that no call had, is an error ("unknown tool"), as
    ``not_(called(…))`` would pass whatever happens. Where a tool isn't always on offer, ``unoffered_ok=True`` makes its
    absence a failure.

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

    def _judge(self, transcript: Transcript, trial: Any) -> Grade:
        named = [use for use in transcript.tool_calls if use.name in self.tools and fits(self.arguments, use.arguments)]
        bad, open_ = happened(named, self.evidence, self.recorded)
        if bad:
            args = "" if self.arguments is None else f" with {said(self.arguments)}"
            return self.failed(f"forbidden{args}: {several(bad)}")
        if (grade := self.unseen(transcript)) is not None:
            return grade
        if open_:
            return self.unknown(
                f"requested, and nothing tells whether it ran: {several(open_)}; record runs with @passhat.tool, "
                "and say recorded=True where every run is recorded"
            )
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
    ``recorded=True`` says that the agent records every run. What ran without a request counts always.

    A name that no request offered is an error ("unknown tool"), as the check would pass whatever happens; say
    ``unoffered_ok=True`` where that is meant. So is an argument's name that the tool's schema doesn't have; where no
    schema tells, and calls of the tool never had it, the grade is unknown. A transcript without any model call is
    unknown, unless ``unseen_ok=True``.

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


class Calls(TraceCheck):
    """See `calls`."""

    def __init__(
        self, expect: Any, ordered: bool, extras: bool, evidence: str, recorded: bool, unoffered_ok: bool
    ) -> None:
        self.expect = checked(expect, "trace.calls")
        if extras and isinstance(expect, list | tuple) and not expect:
            raise GraderSetup("trace.calls([]) passes whatever is called; for no calls at all write trace.only()")
        self.ordered = ordered
        self.extras = extras
        self.evidence = checked_evidence(evidence)
        self.recorded = recorded
        self.unoffered_ok = unoffered_ok
        self.name = "calls"

    def _judge(self, transcript: Transcript, trial: Any) -> Grade:
        wishes = [_wish(item) for item in expected_of(self.expect, getattr(trial, "task", None))]
        if (grade := self.unseen(transcript)) is not None:
            return grade
        uses = [use for use in transcript.tool_calls if holds(use, self.evidence, self.recorded) is not False]
        sure = [use for use in uses if holds(use, self.evidence, self.recorded)]
        pairs = self._pairs(wishes, sure)
        missing = [wish for index, wish in enumerate(wishes) if index not in pairs]
        extra = [use for index, use in enumerate(sure) if index not in pairs.values()]
        if missing and len(self._pairs(wishes, uses)) > len(pairs):
            return self.unknown(f"nothing tells whether they ran: {several([use for use in uses if use not in sure])}")
        problems = [f"missing {name}{'' if args is None else f' with {said(args)}'}" for name, args in missing]
        problems += [] if self.extras else [f"unexpected {told(use)}" for use in extra]
        score = len(pairs) / len(wishes) if wishes else 1.0
        if not problems:
            return self.passed(transcript, absence=not self.extras)
        if missing and transcript.truncated:
            return self.unknown(f"not seen, but the transcript is cut ({transcript.truncated})")
        if (wrong := self._wrong(transcript, missing)) is not None:
            return wrong
        order = " (in this order)" if self.ordered else ""
        seen = f"\nseen: {several(sure)}" if sure else "\nno tool was called"
        return self.failed(f"{'; '.join(problems[:8])}{order}{seen}", score=min(score, 1.0 if missing else 0.0))

    def _wrong(self, transcript: Transcript, missing: Sequence[tuple[str, Any]]) -> Grade | None:
        """The error where all that is missing has a name that isn't there: one other missing call decides."""
        found = [no_such(transcript, name, arguments, self._label) for name, arguments in missing]
        return None if self.unoffered_ok or not found or None in found else found[0]

    def _pairs(self, wishes: Sequence[tuple[str, Any]], uses: Sequence[ToolUse]) -> dict[int, int]:
        def good(wish: tuple[str, Any], use: ToolUse) -> bool:
            return wish[0] == use.name and fits(wish[1], use.arguments)

        if not self.ordered:
            return best_pairs(wishes, uses, good)
        return longest_common(wishes, uses, good)


def calls(
    expect: Any,
    *,
    ordered: bool = False,
    extras: bool = True,
    evidence: Evidence = "requested",
    recorded: bool = False,
    unoffered_ok: bool = False,
) -> Calls:
    """All of these calls were made, each one by a call of its own, in any order.

    ``expect`` is a list of tool names, ``(name, arguments)`` pairs or ``{"name": …, "arguments": …}`` objects; a key of
    ``task.expected``; or a function of the task. Calls are paired with wishes as well as possible, so that a wish
    without arguments never takes the call that a stricter one needs. ``ordered=True`` wants them in this order, others
    may lie between; ``extras=False`` allows no others. The score is the share of the wishes that were met. Where all
    that is missing are calls of tools that no request offered, that is an error, as for `called`.

    >>> from passhat.facts import ToolRun, Transcript
    >>> from passhat.graders import trace
    >>> runs = ToolRun(1, 0, "get_order", {"id": "A1"}), ToolRun(2, 0, "issue_refund")
    >>> done = trace.as_requested(Transcript(runs))
    >>> trace.calls([("get_order", {"id": "A1"}), "issue_refund"], ordered=True)(done).passed
    True
    """
    return Calls(expect, ordered, extras, evidence, recorded, unoffered_ok)


def happened(uses: Sequence[ToolUse], evidence: str, recorded: bool) -> tuple[list[ToolUse], list[ToolUse]]:
    """Calls that count against a ban, and those of which nothing tells. What surely ran counts at every level."""
    bad = [use for use in uses if holds(use, evidence, recorded) or use.executed]
    open_ = [use for use in uses if use not in bad and holds(use, evidence, recorded) is None]
    return bad, open_


def longest_common(wishes: Sequence[Any], uses: Sequence[Any], good: Any) -> dict[int, int]:
    """The most wishes that are met in order, as pairs of indices."""
    rows, columns = len(wishes), len(uses)
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    fit = [[good(wish, use) for use in uses] for wish in wishes]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            best[i][j] = 1 + best[i + 1][j + 1] if fit[i][j] else max(best[i + 1][j], best[i][j + 1])
    pairs: dict[int, int] = {}
    i = j = 0
    while i < rows and j < columns:
        if fit[i][j] and best[i][j] == 1 + best[i + 1][j + 1]:
            pairs[i] = j
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


def _wish(item: Any) -> tuple[str, Any]:
    if isinstance(item, str):
        return item, None
    if isinstance(item, Mapping) and isinstance(item.get("name"), str) and set(item) <= {"name", "arguments"}:
        return item["name"], item.get("arguments")
    if isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[0], str):
        return item[0], item[1]
    raise GraderSetup(f"trace.calls: {item!r} is no call; write 'name', ('name', arguments) or {{'name': …}}")


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
