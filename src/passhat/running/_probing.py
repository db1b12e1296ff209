"""Recorded trials put before one grader again, as they are or with another answer: nothing is written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from passhat.facts import Grade, Status, Task, Transcript, TrialRecord, Usage
from passhat.running._asked import Asked
from passhat.running._entrance import Entrance
from passhat.running._errors import RunError
from passhat.running._executor import Executor, Stored
from passhat.running._in_order import in_order
from passhat.running._plan import PlannedTrial
from passhat.running._setup import Setup, everything
from passhat.running._silence import nobody
from passhat.running._stored import StoredTrials, why_not_the_same
from passhat.trial import ModelAccess, led_to

if TYPE_CHECKING:
    from passhat.records import RunReader
    from passhat.suite import Suite

Told = Callable[[int], None] | None
_NONE = "an answer put in the place of the agent's has none"


@dataclass(frozen=True)
class Probed:
    """A trial to judge. With a ``transcript`` the agent is taken to have said ``answer``, and to have left nothing."""

    record: TrialRecord
    answer: Any = None
    transcript: Transcript | None = None


@dataclass(frozen=True)
class Probes:
    """One grade for each trial that was put before the grader, in order, and what judges spent."""

    grades: tuple[Grade, ...]
    judges: Usage


def probe(
    reader: RunReader,
    suite: Suite,
    grader: str,
    trials: Sequence[Probed],
    *,
    judge_model: str | None = None,
    cassette: Path | str | None = None,
    isolation: str | None = None,
    concurrency: int | None = None,
    told: Told = None,
    through: Entrance | None = None,
) -> Probes:
    """Have ``grader`` of the suite judge these trials of a run, each on its own. No agent runs, nothing is recorded.

    What can't be judged (the workspace is lost, the task asks something else now) is a grade with an error. Raises
    `RunError` for what can't be asked for, and KeyboardInterrupt on Ctrl-C, after the judging has stopped. ``told`` is
    called with the number of grades so far, on another thread.
    """
    from passhat.graders import grader_names
    from passhat.running._run import on_thread

    names = grader_names(suite.graders)
    if suite.name != reader.manifest.suite:
        raise RunError(
            f"{reader.run_id} is a run of the suite {reader.manifest.suite!r}, and this one is {suite.name!r}"
        )
    if grader not in names:
        raise RunError(f"grader {grader!r}: the suite has {', '.join(map(repr, names))}")
    asked = Asked(
        concurrency=concurrency,
        isolation=isolation or reader.manifest.isolation,
        judge_model=judge_model,
        cassette=cassette,
        through=through,
    )
    with ExitStack() as undo:
        setup = Setup(suite, asked, selected=everything, model=nobody(reader.manifest.model_requested))
        gateway = setup.gateway(undo)
        executor = setup.open_graders(gateway, undo, (grader,))
        bench = _Bench(reader, setup.tasks, executor, told)
        undo.callback(bench.stored.close)
        undo.enter_context(led_to(ModelAccess(gateway.base_url, gateway.process_key)))
        if on_thread(lambda: bench.go(trials, setup.concurrency), bench.interrupt):
            raise KeyboardInterrupt
    return Probes(tuple(bench.grades), bench.judges)


class _Bench:
    """The grader, open for one trial after the other."""

    def __init__(self, reader: RunReader, tasks: Sequence[Task], executor: Executor, told: Told) -> None:
        self.stored = StoredTrials(reader, tasks, executor)
        self.grades: list[Grade] = []
        self.judges = Usage()
        self._reader = reader
        self._tasks = {task.id: task for task in tasks}
        self._executor = executor
        self._told = told
        self._cut = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def interrupt(self) -> None:
        """Judge no further trial, and cut short what is being judged."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._cut.set)

    async def go(self, trials: Sequence[Probed], at_once: int) -> None:
        """Judge them all."""
        self._loop = asyncio.get_running_loop()
        try:
            async for _, (grade, spent) in in_order(self._judge, trials, at_once=at_once, cut=self._cut):
                self.grades.append(grade)
                self.judges = Usage.total([self.judges, spent])
                if self._told is not None:
                    self._told(len(self.grades))
        finally:
            await self._executor.close()

    async def _judge(self, trial: Probed) -> tuple[Grade, Usage]:
        return await (self._again(trial) if trial.transcript is None else self._instead(trial))

    async def _again(self, trial: Probed) -> tuple[Grade, Usage]:
        found = await self.stored.grade(trial.record)
        return (found.grades[0] if found.grades and not found.cannot else _unable(found.cannot)), found.judges

    async def _instead(self, trial: Probed) -> tuple[Grade, Usage]:
        record = trial.record
        task = self._tasks.get(record.task)
        problem = why_not_the_same(task, record.task, self._reader.manifest)
        if task is None or problem:
            return _unable(problem), Usage()
        kept = Stored(
            record=msgspec.structs.replace(record, output=trial.answer, error=None),
            status=Status.COMPLETED,
            transcript=trial.transcript or Transcript(),
            lost={"workspace": _NONE, "diff": _NONE},
        )
        planned = PlannedTrial(task, record.trial, record.arm, record.seed, record.order)
        left = self._executor.stored(planned, kept)
        try:
            graded = await self._executor.grade(planned, left)
        finally:
            await asyncio.to_thread(left.release)
        missed = "; ".join(f"it looks at the {part}" for part in graded.missed.values())
        return (graded.grades[0] if graded.grades and not missed else _unable(missed)), graded.judges


def _unable(why: str) -> Grade:
    return Grade(None, error=f"can't be judged: {why or 'no grade came of it'}")
