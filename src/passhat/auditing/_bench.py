"""Playing something in the agent's place on one task of a suite, and grading what it left."""

from __future__ import annotations

import dataclasses
import re
import tempfile
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from passhat.auditing._state import State, state_of
from passhat.facts import ErrorInfo, Grade, Role, Status, Task, ToolRun, Transcript, decide
from passhat.graders import grader_names
from passhat.graders.judge import judges_in
from passhat.running import SingleTrials

if TYPE_CHECKING:
    from passhat.running import Entrance
    from passhat.suite import Suite

Agent = Callable[[Any], Any]
_WORKSPACE = re.compile(rf"{re.escape(tempfile.gettempdir())}/passhat-[^/\s'\"]+/(?:tmp[^/\s'\"]+/)?")


@dataclass(frozen=True)
class Played:
    """What came of one play: how it ended, what it left, and what the graders said. ``again``: a second grading."""

    status: Status
    error: ErrorInfo | None
    output: Any
    transcript: Transcript
    state: State
    grades: tuple[Grade, ...]
    passed: bool | None
    again: tuple[Grade, ...] = ()

    @property
    def ran(self) -> bool:
        """Whether it came to an end that is graded as usual."""
        return self.status not in (Status.AGENT_ERROR, Status.ENVIRONMENT_ERROR, Status.TIMEOUT, Status.LIMIT)

    @property
    def stopped_by(self) -> tuple[Grade, ...]:
        """The grades that decide and aren't a pass."""
        return tuple(grade for grade in self.grades if grade.role is not Role.ADVISORY and grade.passed is not True)

    def without(self, ignored: Collection[str]) -> Played:
        """The same play, as if some graders weren't there."""
        grades = tuple(grade for grade in self.grades if grade.name not in ignored)
        if len(grades) == len(self.grades):
            return self
        again = tuple(grade for grade in self.again if grade.name not in ignored)
        if self.status not in (Status.COMPLETED, Status.UNRESOLVED, Status.GRADER_ERROR):
            return dataclasses.replace(self, grades=grades, again=again)
        verdict = decide(grades)
        return dataclasses.replace(self, grades=grades, again=again, passed=verdict.passed, status=verdict.status)

    def why(self) -> str:
        """Why it didn't pass, in a line."""
        if self.error is not None:
            return _placed(" ".join(f"{self.error.type or self.error.kind}: {self.error.message}".split()))
        reasons = [f"{grade.name}: {_in_a_line(grade.error or grade.reason or 'failed')}" for grade in self.stopped_by]
        return _placed(" ".join("; ".join(reasons).split())) or self.status.value

    @property
    def before_the_agent(self) -> bool:
        """Whether it failed before anything was played: a service or the task's preparation did."""
        acted = any(isinstance(event, ToolRun) for event in self.transcript.events)
        return self.status is Status.ENVIRONMENT_ERROR and not acted


def _placed(text: str) -> str:
    """Without the random part of a trial's directories, so that what happens in many of them reads the same."""
    return _WORKSPACE.sub("…/", text)


def _in_a_line(reason: str) -> str:
    """The lines of a reason, a semicolon between those that don't lead to the next."""
    lines = [line.strip() for line in reason.splitlines() if line.strip()]
    return " ".join(line if line.endswith((":", ";", ",")) else f"{line};" for line in lines).rstrip(";")


class Bench:
    """Plays stand-ins on the tasks of a suite, in this process. No model answers: a request is an error."""

    def __init__(self, suite: Suite, through: Entrance, *, seed: int) -> None:
        by_code = self.by_code(suite)
        named = zip(grader_names(suite.graders), suite.graders, strict=True)
        self.left_out = tuple(name for name, grader in named if grader not in by_code)
        suite = suite.replace(graders=by_code) if self.left_out else suite
        self.suite = suite
        self.seed = seed
        self.plays = 0
        self.graders = grader_names(suite.graders)
        judging = zip(self.graders, suite.graders, strict=True)
        self.judges = frozenset(name for name, grader in judging if tuple(judges_in([grader])))  # simulated
        self._trials = SingleTrials(suite, through, answers="nobody", seed=seed)

    @staticmethod
    def by_code(suite: Suite) -> list[Any]:
        """The graders that ask no model: a judge's opinion of a stand-in costs money and proves nothing."""
        if suite.judge_simulation is not None:
            return list(suite.graders)
        return [grader for grader in suite.graders if not tuple(judges_in([grader]))]

    async def play(self, task: Task, agent: Agent, *, number: int = 0, twice: bool = False) -> Played:
        """One trial of ``task`` by ``agent``, graded, and graded a second time when asked."""
        self.plays += 1
        state: State = {}

        def look(workspace: Path | None) -> None:
            nonlocal state
            state = state_of(workspace)

        tried = await self._trials.run_async(task, number, agent=agent, look=look, grade_twice=twice)
        record = tried.record
        return Played(
            status=record.status,
            error=record.error,
            output=record.output,
            transcript=tried.transcript,
            state=state,
            grades=record.grades,
            passed=record.passed,
            again=tried.again,
        )
