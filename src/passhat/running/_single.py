"""Single trials of a suite, in this process: nothing is planned, repeated or written."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from passhat.facts import Grade, ModelSource, Task, Transcript, TrialRecord, derive_seed
from passhat.running._asked import Asked
from passhat.running._entrance import Entrance
from passhat.running._executor import Executor
from passhat.running._inline import InlineExecutor
from passhat.running._own_loop import own_loop
from passhat.running._plan import PlannedTrial
from passhat.running._recorded import graded_record
from passhat.running._setup import Setup, everything
from passhat.running._silence import nobody
from passhat.running._verdict import is_graded

if TYPE_CHECKING:
    from passhat.running._service_host import ServiceHost
    from passhat.suite import Suite

Answers = Literal["as in a run", "nobody"]


@dataclasses.dataclass(frozen=True)
class SingleTrial:
    """One trial that was acted and graded. ``again`` are the grades of a second grading, where one was asked for."""

    record: TrialRecord
    transcript: Transcript
    again: tuple[Grade, ...] = ()


class SingleTrials:
    """A suite that is open for single trials, in this process, inside an `entrance`. Close it at the end.

    ``answers="as in a run"``: the model that a run would have answers, ``model`` and ``judge_model`` (PROVIDER/NAME)
    before the suite's own. "nobody": a request of the agent is an error, judges are simulated or fail, and nothing can
    be spent. ``unjudged`` says why judges alone are kept from spending, if they are. A trial's seed is that of the
    same trial in a run with this ``seed``. Raises `PasshatError` for what no run could have.

    >>> from passhat import Suite, Task
    >>> from passhat.running import entrance
    >>> task = Task("t", input=2, expected=4)
    >>> right = lambda trial: trial.output == trial.task.expected
    >>> suite = Suite("s", tasks=[task], agent=lambda trial: trial.input * 2, graders=[right])
    >>> with entrance() as through:
    ...     trials = SingleTrials(suite, through)
    ...     own, other = trials.run(task), trials.run(task, agent=lambda trial: 5)
    ...     trials.close()
    >>> own.record.passed, other.record.passed, other.record.output
    (True, False, 5)
    """

    def __init__(
        self,
        suite: Suite,
        through: Entrance,
        *,
        model: str | None = None,
        judge_model: str | None = None,
        answers: Answers = "as in a run",
        seed: int = 0,
        unjudged: str = "",
    ) -> None:
        self._through = through
        self._seed = seed
        self._graded = bool(suite.graders)
        asked = Asked(model=model, judge_model=judge_model, through=through)
        silent = answers == "nobody"
        model_of_agent = nobody() if silent else None
        self._setup = Setup(suite, asked, selected=everything, model=model_of_agent, silent=unjudged or silent)
        self._world = self._setup.world(through.gateway, {})
        self._own: Executor | None = None
        self._host: ServiceHost | None = None

    @property
    def source(self) -> ModelSource:
        """Who is to answer for the model."""
        return self._setup.model.source

    async def run_async(
        self,
        task: Task,
        number: int = 0,
        *,
        agent: Callable[[Any], Any] | None = None,
        arm: str = "",
        look: Callable[[Path | None], None] | None = None,
        grade_twice: bool = False,
    ) -> SingleTrial:
        """One trial of ``task``; ``number`` counts from 0. Never raises for what user code does.

        ``agent`` acts in place of the suite's own (which is then not even imported), else the one called ``arm``.
        ``look(workspace)`` is called before grading with the directory that the agent left, None when it had none.
        """
        executor = self._of_suite() if agent is None else self._with({arm: agent})
        planned = PlannedTrial(task, number, arm, derive_seed(self._seed, task.id, number), number)
        try:
            acted = await executor.act(planned)
            try:
                if look is not None:
                    look(acted.workspace)
                record, _ = await graded_record(executor, planned, acted, graded=self._graded)
                again: tuple[Grade, ...] = ()
                if grade_twice and is_graded(acted.status):
                    second, _ = await graded_record(executor, planned, acted, graded=self._graded)
                    again = second.grades
            finally:
                acted.release()
        finally:
            if agent is not None:
                await executor.close()
        return SingleTrial(record, acted.transcript, again)

    def run(
        self,
        task: Task,
        number: int = 0,
        *,
        agent: Callable[[Any], Any] | None = None,
        arm: str = "",
        look: Callable[[Path | None], None] | None = None,
        grade_twice: bool = False,
    ) -> SingleTrial:
        """`run_async`, waiting; not inside a running event loop."""
        with own_loop() as runner:
            return runner.run(self.run_async(task, number, agent=agent, arm=arm, look=look, grade_twice=grade_twice))

    def close(self) -> None:
        """Remove what is left of the trials; more than once is fine."""
        if self._own is not None:
            own, self._own = self._own, None
            asyncio.run(own.close())
        if self._host is not None:
            self._host.shut()

    def _of_suite(self) -> Executor:
        """The executor of the suite's own agents, which are imported now."""
        if self._own is None:
            self._own, _ = self._setup.open(self._through.gateway, ExitStack())
        return self._own

    def _with(self, agents: dict[str, Callable[[Any], Any]]) -> Executor:
        executor = InlineExecutor(dataclasses.replace(self._world, agents=agents))
        if not self._setup.suite.services:
            return executor
        from passhat.running._with_services import WithServices

        if self._host is None:
            self._host = self._setup.service_host(self._world)
        return WithServices(executor, self._host, ends_host=False)
