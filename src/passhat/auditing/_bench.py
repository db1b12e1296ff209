"""Playing something in the agent's place on one task of a suite, and grading what it left."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from passhat.auditing._state import State, state_of
from passhat.facts import ErrorInfo, Grade, Role, Status, Task, Transcript, derive_seed
from passhat.graders import grader_names
from passhat.running._inline import InlineExecutor, World
from passhat.running._models import Model
from passhat.running._plan import PlannedTrial
from passhat.running._verdict import judge

if TYPE_CHECKING:
    from passhat.gateway import Gateway
    from passhat.suite import Suite

Agent = Callable[[Any], Any]


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

    def why(self) -> str:
        """Why it didn't pass, in a line."""
        if self.error is not None:
            return " ".join(f"{self.error.type or self.error.kind}: {self.error.message}".split())
        reasons = [f"{grade.name}: {grade.error or grade.reason or 'failed'}" for grade in self.stopped_by]
        return " ".join("; ".join(reasons).split()) or self.status.value


class Bench:
    """Plays stand-ins on the tasks of a suite, in this process. No model answers: a request is an error."""

    def __init__(self, suite: Suite, gateway: Gateway, *, seed: int) -> None:
        from passhat.gateway import Script

        def silent(*trial: Any) -> Script:
            return Script([])

        self.suite = suite
        self.seed = seed
        self.plays = 0
        self.graders = grader_names(suite.graders)
        self._world = World(
            agents={},
            graders=tuple(suite.graders),
            grader_names=self.graders,
            prepare=suite.prepare,
            environment=suite.environment,
            template=suite.template_path(),
            limits=suite.limits,
            gateway=gateway,
            model=Model(silent, "scripted"),
            host=dict(os.environ),
            pass_env=tuple(suite.pass_env),
            set_env=suite.set_env,
        )

    async def play(self, task: Task, agent: Agent, *, number: int = 0, twice: bool = False) -> Played:
        """One trial of ``task`` by ``agent``, graded, and graded a second time when asked."""
        self.plays += 1
        executor = InlineExecutor(dataclasses.replace(self._world, agents={"": agent}))
        planned = PlannedTrial(task, number, "", derive_seed(self.seed, task.id, number), 0)
        try:
            acted = await executor.act(planned)
            try:
                state = state_of(acted.workspace)
                graded = acted.status not in (Status.ENVIRONMENT_ERROR, Status.PROVIDER_ERROR)
                grades = await executor.grade(planned, acted) if graded else ()
                again = await executor.grade(planned, acted) if graded and twice else ()
            finally:
                acted.release()
        finally:
            await executor.close()
        passed = judge(acted.status, grades, graded=bool(grades)).passed
        return Played(acted.status, acted.error, acted.output, acted.transcript, state, grades, passed, again)
