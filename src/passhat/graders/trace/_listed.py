"""Lists of calls that were to be made, each by a call of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from passhat.facts import Grade, ToolUse, Transcript
from passhat.graders._expected import checked, expected_of
from passhat.graders._matching import best_pairs
from passhat.graders._names import GraderSetup
from passhat.graders.trace._arguments import said
from passhat.graders.trace._evidence import Evidence, TraceCheck, checked_evidence, holds, several, told
from passhat.graders.trace._keys import no_such
from passhat.graders.trace._meant import counts, fits, happened, untold_of


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

    def _names(self, transcript: Transcript, trial: Any) -> Iterable[str]:
        return [_wish(item)[0] for item in expected_of(self.expect, getattr(trial, "task", None))]

    def _judge(self, transcript: Transcript, trial: Any) -> Grade:
        wishes = [_wish(item) for item in expected_of(self.expect, getattr(trial, "task", None))]
        if (grade := self.unseen(transcript)) is not None:
            return grade
        every = transcript.tool_calls
        uses = [use for use in every if holds(use, self.evidence, self.recorded) is not False]
        sure = [use for use in uses if holds(use, self.evidence, self.recorded)]
        pairs = self._pairs(wishes, sure)
        missing = [wish for index, wish in enumerate(wishes) if index not in pairs]
        if missing and len(self._pairs(wishes, uses, perhaps=True)) > len(pairs):
            return self.unknown(untold_of(self._doubtful(wishes, uses), self.evidence))
        paired = [id(sure[index]) for index in pairs.values()]
        others = [] if self.extras else [use for use in every if id(use) not in paired]
        extra, open_ = happened(others, self.evidence, self.recorded)
        problems = [f"missing {name}{'' if args is None else f' with {said(args)}'}" for name, args in missing]
        problems += [f"unexpected {told(use)}" for use in extra]
        score = len(pairs) / len(wishes) if wishes else 1.0
        if not problems and open_:
            return self.unknown(untold_of(open_, self.evidence))
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

    def _doubtful(self, wishes: Sequence[tuple[str, Any]], uses: Sequence[ToolUse]) -> list[ToolUse]:
        """Calls of which nothing tells whether they are one of those that are wanted."""
        mine = [(use, [args for name, args in wishes if name == use.name]) for use in uses]
        return [
            use for use, wanted in mine if any(counts(w, use, self.evidence, self.recorded) is None for w in wanted)
        ]

    def _pairs(
        self, wishes: Sequence[tuple[str, Any]], uses: Sequence[ToolUse], *, perhaps: bool = False
    ) -> dict[int, int]:
        def good(wish: tuple[str, Any], use: ToolUse) -> bool:
            fit = wish[0] == use.name and fits(wish[1], use, self.evidence)
            return perhaps if fit is None else fit

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
    may lie between; ``extras=False`` allows no others, and none that ran without a request. Arguments as for `called`.
    The score is the share of the wishes that were met. Where all
    that is missing are calls of tools that no request offered, that is an error, as for `called`.

    >>> from passhat.facts import ToolRun, Transcript
    >>> from passhat.graders import trace
    >>> runs = ToolRun(1, 0, "get_order", {"id": "A1"}), ToolRun(2, 0, "issue_refund")
    >>> done = trace.as_requested(Transcript(runs))
    >>> trace.calls([("get_order", {"id": "A1"}), "issue_refund"], ordered=True)(done).passed
    True
    """
    return Calls(expect, ordered, extras, evidence, recorded, unoffered_ok)


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
