"""Whether a tool is chosen when it should be, left alone when it shouldn't, and given the right arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passhat.facts import MetricValue, ToolUse, Transcript
from passhat.graders._expected import expected_of
from passhat.graders.trace._evidence import Evidence, checked_evidence, checked_names, holds
from passhat.graders.trace._meant import fits
from passhat.metrics._gather import Gathered, Observed, checked_level, gather, mean_value

FAILED = "failed"
_WORDS = (("called", True), ("not called", False), ("failed", FAILED))


class ToolChoice:
    """See `tool_choice`."""

    def __init__(self, tool: str, should: Any, arguments: Any, evidence: str, recorded: bool, level: float) -> None:
        (self.tool,) = checked_names([tool], "metrics.tool_choice")
        self.name = f"tool choice {tool}"
        self.should = should
        self.arguments = arguments
        self.evidence = checked_evidence(evidence)
        self.recorded = recorded
        self.level = checked_level(level)

    def __call__(self, trials: Sequence[Any]) -> MetricValue:
        """Both ways over these trials."""
        trials = trials if isinstance(trials, Sequence) else list(trials)
        sides = {side: self._side(trials, side) for side in (True, False)}
        right = [
            Observed(task, unit, float(value is side)) for side in sides for task, unit, value in sides[side].observed
        ]
        parts = [
            self._part("called when it should be", sides[True], True),
            self._part("left alone when it shouldn't be", sides[False], False),
        ]
        if self.arguments is not None:
            asked = (trial for trial in trials if self._should(trial.task))
            well = gather(asked, self._well_called, lambda trial: None)
            parts.append(mean_value("right arguments when called", Gathered(well.observed, 0), self.level))
        choices = {
            name: {word: sum(item.value is value for item in sides[side].observed) for word, value in _WORDS}
            for name, side in (("should", True), ("should not", False))
        }
        both = Gathered(right, sum(side.missing for side in sides.values()))
        return mean_value(self.name, both, self.level, parts=tuple(parts), details={"choices": choices})

    def _side(self, trials: Sequence[Any], side: bool) -> Gathered:
        """Whether it was called, in the trials of tasks in which it should be (or shouldn't)."""
        mine = (trial for trial in trials if self._should(trial.task) is side)
        return gather(mine, self._called, lambda trial: FAILED)

    def _part(self, name: str, side: Gathered, wanted: bool) -> MetricValue:
        observed = [Observed(task, unit, float(value is wanted)) for task, unit, value in side.observed]
        return mean_value(name, Gathered(observed, side.missing), self.level)

    def _should(self, task: Any) -> bool:
        should = expected_of(self.should, task)
        if not isinstance(should, bool):
            raise ValueError(f"task {task.id!r}: should={should!r}: must be True or False")
        return should

    def _uses(self, trial: Any) -> list[ToolUse]:
        transcript: Transcript = trial.transcript
        return [use for use in transcript.tool_calls if use.name == self.tool]

    def _called(self, trial: Any) -> bool | None:
        evident = [holds(use, self.evidence, self.recorded) for use in self._uses(trial)]
        if True in evident:
            return True
        transcript: Transcript = trial.transcript
        unseen = not transcript.model_calls and not (self.evidence == "executed" and self.recorded)
        return None if None in evident or unseen or transcript.truncated else False

    def _well_called(self, trial: Any) -> bool | None:
        """Whether some call had the right arguments; None when it wasn't called at all."""
        uses = [use for use in self._uses(trial) if holds(use, self.evidence, self.recorded)]
        wanted = expected_of(self.arguments, trial.task)
        return any(fits(wanted, use, self.evidence) for use in uses) if uses else None


def tool_choice(
    tool: str,
    should: Any,
    *,
    arguments: Any = None,
    evidence: Evidence = "requested",
    recorded: bool = False,
    level: float = 0.95,
) -> ToolChoice:
    """How often the choice for or against a tool is right, in both directions.

    ``should`` says of a task whether the tool ought to be called: a key of ``task.expected`` that holds true or false,
    or a function of the task. ``arguments`` (a key or a function of the task) are those it ought to have, as in
    `trace.called`. The value is the share of right choices; ``parts`` are "called when it should be", "left alone when
    it shouldn't be" and "right arguments when called"; ``details["choices"]`` counts. A trial that failed is wrong both
    ways; one in which nothing tells is missing.

    >>> from passhat import FinishedTrial, Task
    >>> from passhat.facts import ToolRun, Transcript
    >>> from passhat.graders import trace
    >>> done = trace.as_requested(Transcript((ToolRun(1, 0, "issue_refund"),)))
    >>> tasks = Task("a", expected={"refund": True}), Task("b", expected={"refund": False})
    >>> trials = [FinishedTrial(task, "", done) for task in tasks]
    >>> tool_choice("issue_refund", "refund")(trials).value
    0.5
    """
    return ToolChoice(tool, should, arguments, evidence, recorded, level)
