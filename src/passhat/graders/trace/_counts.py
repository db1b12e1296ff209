"""Budgets: how many requests, turns, tool calls, repeats and tokens."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from passhat.facts import Grade, ToolUse, Transcript, plural
from passhat.graders._compare import close, is_list, is_number, same
from passhat.graders._names import GraderSetup
from passhat.graders.trace._evidence import (
    TraceCheck,
    call_text,
    checked_names,
    misspelt,
    several,
    unknown_tools,
    unoffered,
)
from passhat.graders.trace._meant import is_free_text, readable, unread

UNITS = {
    "model_calls": ("request to the model", "requests to the model"),
    "turns": ("answer of the model", "answers of the model"),
    "tool_calls": ("tool call", "tool calls"),
    "repeats": ("repeated tool call", "repeated tool calls"),
    "tokens": ("token", "tokens"),
}


class Counts(TraceCheck):
    """See `at_most` and `exactly`."""

    def __init__(self, word: str, bounds: dict[str, Any], of: str | None, unoffered_ok: bool, unseen_ok: bool) -> None:
        where = f"trace.{word.replace(' ', '_')}"
        self.bounds = {unit: _bound(value, unit, where) for unit, value in bounds.items() if value is not None}
        if not self.bounds:
            raise GraderSetup(f"{where} needs a number of {', '.join(bounds)}")
        if of is not None:
            checked_names([of], where)
            if not set(self.bounds) <= {"tool_calls", "repeats"}:
                raise GraderSetup(f"{where}: of={of!r} is for tool_calls and repeats only")
        self.word = word
        self.of = of
        self.unoffered_ok = unoffered_ok
        self.unseen_ok = unseen_ok
        parts = [f"{value} {plural(value, *UNITS[unit])}" for unit, value in self.bounds.items()]
        self.name = f"{word} {', '.join(parts)}{f' of {of}' if of else ''}"

    def _names(self, transcript: Transcript, trial: Any) -> Iterable[str]:
        return (self.of,) if self.of is not None else transcript.offered if "repeats" in self.bounds else ()

    def _judge(self, transcript: Transcript, trial: Any) -> Grade:
        if (grade := self.unseen(transcript)) is not None:
            return grade
        problems: list[str] = []
        unknown: list[str] = []
        for unit, bound in self.bounds.items():
            count, told = self._count(transcript, unit)
            more = unread_repeats(self._uses(transcript)) if unit == "repeats" else 0
            if more and count is not None and count <= bound < count + more + (self.word == "exactly"):
                why = unread(self._uses(transcript), "requested")
                unknown.append(f"the number of {UNITS[unit][1]} isn't known: {why}")
            elif count is None or (count < bound and transcript.truncated):
                unknown.append(f"the number of {UNITS[unit][1]} isn't known")
            elif count > bound or (count < bound and self.word == "exactly"):
                unit_text = plural(count, *UNITS[unit]) + (f" of {self.of}" if self.of else "")
                problems.append(f"{count} {unit_text}, {self.word} {bound} expected{told}")
        if problems:
            wrong = misspelt(transcript, [self.of], self._label) if self.of and not self.unoffered_ok else None
            return self.failed("; ".join(problems)) if wrong is None else wrong
        if unknown:
            return self.unknown("; ".join(unknown))
        if self.of and not self.unoffered_ok and (missing := unoffered(transcript, [self.of])):
            return unknown_tools(transcript, missing, self._label)
        return self.passed(transcript, absence=True)

    def _count(self, transcript: Transcript, unit: str) -> tuple[int | None, str]:
        """How many, and which ones as far as that helps."""
        if unit == "model_calls":
            retries = sum(call.retry > 0 for call in transcript.model_calls)
            return len(transcript.model_calls), f" ({retries} of them retries by the client)" if retries else ""
        if unit == "turns":
            return len(transcript.replies), ""
        if unit == "tokens":
            usage = transcript.usage
            known = usage.tokens is not None and not usage.partial
            over = usage.tokens is not None and usage.tokens > self.bounds["tokens"]
            return usage.tokens if known or over else None, " (a partial sum)" if usage.partial else ""
        uses = self._uses(transcript)
        if unit == "tool_calls":
            return len(uses), f": {several(uses)}" if uses else ""
        return repeats(uses)

    def _uses(self, transcript: Transcript) -> list[ToolUse]:
        return [use for use in transcript.tool_calls if self.of in (None, use.name)]


def unread_repeats(uses: Sequence[ToolUse]) -> int:
    """How many more calls may repeat another one of the tool, since their arguments can't be read."""
    kinds: dict[str, list[bool]] = {}
    for first, *_ in alike(uses):
        kinds.setdefault(first.name, []).append(readable(first) or is_free_text(first.arguments))
    return sum(min(told.count(False), len(told) - 1) for told in kinds.values())


def repeats(uses: Sequence[ToolUse]) -> tuple[int, str]:
    """How many calls say again what an earlier one said, name and arguments alike, and which one most often."""
    groups = alike(uses)
    again = len(uses) - len(groups)
    if not again:
        return 0, ""
    most = max(groups, key=len)
    return again, f": {call_text(most[0].name, most[0].arguments)} was called {len(most)} times"


def alike(uses: Sequence[ToolUse]) -> list[list[ToolUse]]:
    """The calls by name and arguments, equal as everywhere: 20 is 20.0, and 0.3 is 0.1 + 0.2.

    >>> [len(each) for each in alike([ToolUse("a", {"n": 20}, 0), ToolUse("a", {"n": 20.0}, 1), ToolUse("b", {}, 2)])]
    [2, 1]
    """
    groups: dict[tuple[str, str], list[list[ToolUse]]] = {}
    for use in uses:
        near = groups.setdefault((use.name, json.dumps(_coarse(use.arguments), sort_keys=True, default=str)), [])
        text = _text(use)
        found = (group for group in near if text == _text(group[0]) or same(group[0].arguments, use.arguments))
        group = next(found, None)
        if group is None:
            near.append([use])
        else:
            group.append(use)
    return [group for near in groups.values() for group in near]


def _coarse(value: Any) -> Any:
    """A value without what may differ in equal ones: what kind of number it is, and the digits of fractions."""
    if is_number(value):
        return round(value) if math.isfinite(value) and close(value, round(value)) else "a fraction"
    if isinstance(value, Mapping):
        return {str(key): _coarse(item) for key, item in value.items()}
    return [_coarse(item) for item in value] if is_list(value) else value


def _text(use: ToolUse) -> str:
    return json.dumps(use.arguments, sort_keys=True, default=str)


def at_most(
    *,
    model_calls: int | None = None,
    turns: int | None = None,
    tool_calls: int | None = None,
    repeats: int | None = None,
    tokens: int | None = None,
    of: str | None = None,
    unoffered_ok: bool = False,
    unseen_ok: bool = False,
) -> Counts:
    """No more than so many requests to the model (retries and failures included), turns (answers), and so on.

    ``tool_calls`` are those the model requested and those that ran without a request; ``repeats`` are calls that say
    again what an earlier one said, numbers compared as numbers (0 forbids any); arguments that are no JSON object may
    say what others do, which leaves the number open. ``of`` names one tool for these two. Unknown token counts make the
    grade unknown. A transcript without any model call is unknown, unless ``unseen_ok=True``.

    >>> from passhat.facts import ToolRun, Transcript
    >>> from passhat.graders import trace
    >>> done = trace.as_requested(Transcript((ToolRun(1, 0, "get_order"), ToolRun(2, 0, "issue_refund"))))
    >>> trace.at_most(tool_calls=2, repeats=0)(done).passed, trace.at_most(model_calls=2)(done).reason
    (True, '3 requests to the model, at most 2 expected')
    """
    bounds = {
        "model_calls": model_calls,
        "turns": turns,
        "tool_calls": tool_calls,
        "repeats": repeats,
        "tokens": tokens,
    }
    return Counts("at most", bounds, of, unoffered_ok, unseen_ok)


def exactly(
    *,
    model_calls: int | None = None,
    turns: int | None = None,
    tool_calls: int | None = None,
    repeats: int | None = None,
    of: str | None = None,
    unoffered_ok: bool = False,
    unseen_ok: bool = False,
) -> Counts:
    """Exactly so many: the cheap path makes ``exactly(model_calls=2)``. As `at_most`.

    ``exactly(model_calls=0, unseen_ok=True)`` is for code that must not ask a model at all.

    >>> from passhat.facts import ToolRun, Transcript
    >>> from passhat.graders import trace
    >>> done = trace.as_requested(Transcript((ToolRun(1, 0, "get_order"),)))
    >>> trace.exactly(model_calls=2)(done).passed
    True
    """
    bounds = {"model_calls": model_calls, "turns": turns, "tool_calls": tool_calls, "repeats": repeats}
    return Counts("exactly", bounds, of, unoffered_ok, unseen_ok)


def _bound(value: Any, unit: str, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise GraderSetup(f"{where}({unit}={value!r}): must be a whole number, 0 or more")
    return value
