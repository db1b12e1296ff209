"""`regrade`: the recorded trials of a run, judged by the graders as they are now. No agent runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from passhat.facts import Grade, Limits, Manifest, Status, TrialRecord, Usage
from passhat.running._asked import Asked
from passhat.running._changed_code import ChangedCode
from passhat.running._entrance import Entrance
from passhat.running._errors import RegradeInterrupted, RunError
from passhat.running._in_order import in_order
from passhat.running._measuring import measured_again
from passhat.running._progress import Board, Progress
from passhat.running._regraded import Changes, Regraded, grader_words, rates_of
from passhat.running._setup import Setup, everything
from passhat.running._silence import nobody
from passhat.running._stored import GradedAgain, StoredTrials, is_regradable
from passhat.running._verdict import judge
from passhat.running._working_folder import same_folder_after
from passhat.trial import ModelAccess, led_to

if TYPE_CHECKING:
    from passhat.gateway import Gateway
    from passhat.records import RegradeWriter, RunReader
    from passhat.running._executor import Executor
    from passhat.suite import Suite


def regrade(
    which: Path | str,
    suite: Suite,
    *,
    root: Path | str = ".passhat",
    graders: Sequence[str] = (),
    concurrency: int | None = None,
    isolation: str | None = None,
    judge_model: str | None = None,
    cassette: Path | str | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
    through: Entrance | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Regraded:
    """Judge the recorded trials of a run by the suite's graders as they are now, and say what that changes.

    ``which`` is the run's path, its id or a unique part of it, or "last". ``graders`` names those to ask, all unless
    given; the others keep the grades that they gave in the run. No agent runs and the run stays as it is: the new
    grades are in a file of their own in ``regrades/``, with what the suite's metrics say now, and `passhat report RUN
    --grades ID` shows the run by them. A trial whose workspace or transcript is lost is judged by graders that don't
    look at it; where one does, and where what the task asks has changed, the trial can't be judged again and has no
    verdict.

    ``isolation`` is the run's unless given; ``judge_model`` is PROVIDER/NAME. ``cassette`` replays recorded answers of
    judges. Ctrl-C keeps what was judged so far and raises `RegradeInterrupted`, which has the result. Raises `RunError`
    for what can't be asked for, and `passhat.records.RecordError` when the run can't be read or the file not written.

    >>> import tempfile
    >>> from passhat import Suite, Task, run
    >>> right = lambda trial: trial.output == trial.task.expected
    >>> tasks = [Task("t", input=2, expected=4)]
    >>> suite = Suite("sums", tasks=tasks, agent=lambda trial: trial.input * 2, graders=[right])
    >>> folder = tempfile.TemporaryDirectory()
    >>> done = run(suite, root=folder.name, trials=3, isolation="inline")
    >>> strict = suite.replace(graders=[lambda trial: trial.output > 4])
    >>> regrade(done.path, strict).judged
    3
    >>> folder.cleanup()
    """
    from passhat.records import RunReader, find_run
    from passhat.running._run import on_thread

    reader = RunReader(find_run(str(which), root).absolute())  # a grader may go elsewhere
    asked = Asked(
        concurrency=concurrency,
        isolation=isolation or reader.manifest.isolation,
        judge_model=judge_model,
        cassette=cassette,
        limits=limits,
        progress=progress,
        through=through,
        clock=clock,
    )
    job = _job(reader, suite, asked, graders)
    interrupted = on_thread(job.go, job.interrupt)
    found = job.result()
    if interrupted:
        raise RegradeInterrupted(found)
    return found


def _job(reader: RunReader, suite: Suite, asked: Asked, graders: Sequence[str]) -> RegradeJob:
    """Check what was asked for, and set all up; the file of grades exists afterwards, nothing is judged."""
    from passhat.graders import grader_names, source_version
    from passhat.records import RegradeWriter

    manifest = reader.manifest
    now = {name: source_version(each) for name, each in zip(grader_names(suite.graders), suite.graders, strict=True)}
    chosen = _chosen(manifest, suite, now, graders)
    setup = Setup(suite, asked, selected=everything, model=nobody(manifest.model_requested))
    with ExitStack() as undo:
        gateway = setup.gateway(undo)
        executor = setup.open_graders(gateway, undo, chosen)
        trials = StoredTrials(reader, setup.tasks, executor, services=bool(suite.services))
        undo.callback(trials.close)
        used = {**manifest.graders, **{name: now[name] for name in chosen}} if chosen else now
        writer = RegradeWriter.create(
            reader.path,
            manifest.run_id,
            used,
            only=chosen,
            isolation=executor.isolation,
            judge_models=() if setup.judges is None else setup.judges.names,
            metrics=measured_again(reader, suite, setup.tasks),
            redact=setup.secrets,
        )
        undo.callback(writer.close)
        job = RegradeJob(
            reader=reader,
            writer=writer,
            trials=trials,
            executor=executor,
            gateway=gateway,
            own_gateway=asked.through is None,
            suite=suite,
            now=now,
            chosen=chosen,
            concurrency=setup.concurrency,
            board=Board(sum(map(is_regradable, reader.trials())), asked.progress, asked.clock),
            other_answers=_other_answers(setup, manifest),
            changed=ChangedCode(setup, manifest, executor),
        )
        undo.pop_all()
        return job


def _chosen(manifest: Manifest, suite: Suite, now: dict[str, str], graders: Sequence[str]) -> tuple[str, ...]:
    if suite.name != manifest.suite:
        raise RunError(f"{manifest.run_id} is a run of the suite {manifest.suite!r}, and this one is {suite.name!r}")
    if not suite.graders:
        raise RunError(f"Suite({suite.name!r}) has no graders, so there is nothing to judge by; give it graders=[…]")
    for name in graders:
        if name not in now:
            raise RunError(f"grader {name!r}: the suite has {', '.join(map(repr, now))}")
    return tuple(name for name in now if name in graders)


def _other_answers(setup: Setup, manifest: Manifest) -> tuple[str, ...]:
    """Tasks that ask what they asked in the run, and are judged by another answer now."""
    return tuple(
        task.id
        for task in setup.tasks
        if manifest.task_hashes.get(task.id, task.hash) != task.hash
        and manifest.input_hashes.get(task.id) == task.input_hash
    )


@dataclass(kw_only=True)
class RegradeJob:
    """A regrade that is set up. `go` does it; `interrupt` ends it early, from any thread; `result` is what it says."""

    reader: RunReader
    writer: RegradeWriter
    trials: StoredTrials
    executor: Executor
    gateway: Gateway
    own_gateway: bool
    suite: Suite
    now: dict[str, str]
    chosen: tuple[str, ...]
    concurrency: int
    board: Board
    other_answers: tuple[str, ...]
    changed: ChangedCode
    changes: Changes = field(default_factory=Changes)
    judges: Usage = field(default_factory=Usage)
    interrupted: bool = False
    loop: asyncio.AbstractEventLoop | None = None
    cut: asyncio.Event = field(default_factory=asyncio.Event)

    def interrupt(self) -> None:
        """Judge no further trial, and cut short what is being judged."""
        self.interrupted = True
        if self.loop is not None:
            with suppress(RuntimeError):  # the loop is closed: all is over
                self.loop.call_soon_threadsafe(self.cut.set)

    async def go(self) -> None:
        """Judge one trial after the other, and write each verdict in the order of the run's own records."""
        self.loop = asyncio.get_running_loop()
        if self.interrupted:
            self.cut.set()
        with ExitStack() as last:
            if self.own_gateway:
                last.callback(self.gateway.close)
            last.callback(self.trials.close)
            last.callback(self.writer.close)
            last.enter_context(same_folder_after())
            last.enter_context(led_to(ModelAccess(self.gateway.base_url, self.gateway.process_key)))
            try:
                async for record, again in in_order(self._grade, self._todo(), at_once=self.concurrency, cut=self.cut):
                    self._take(record, again)
            finally:
                await self.executor.close()
        self.board.ended("interrupted" if self.interrupted else "finished")

    def _todo(self) -> Iterator[TrialRecord]:
        for record in self.reader.trials():
            if is_regradable(record):
                yield record
            else:
                self.changes.without += record.counts

    async def _grade(self, record: TrialRecord) -> GradedAgain:
        self.board.begun()
        try:
            return await self.trials.grade(record)
        finally:
            self.board.left()

    def _take(self, record: TrialRecord, again: GradedAgain) -> None:
        from passhat.records import Regrade

        self.judges = Usage.total([self.judges, again.judges])
        if again.cannot:
            self.changes.cannot(record, again.cannot)
            status, passed = _without_verdict(again.acted)
            new = msgspec.structs.replace(record, status=status, passed=passed, score=None, grades=())
        else:
            new = self._judged(record, again)
            self.changes.see(record, new)
        self.writer.append(
            Regrade(
                record.task,
                record.trial,
                new.status,
                new.passed,
                arm=record.arm,
                score=new.score,
                grades=new.grades,
                cannot=again.cannot,
                changed=() if again.cannot else self.changed.see(again.late),
            )
        )
        self.board.finished(msgspec.structs.replace(new, judge_usage=again.judges))

    def _judged(self, record: TrialRecord, again: GradedAgain) -> TrialRecord:
        grades = again.grades if not self.chosen else _mixed(record.grades, again.grades)
        verdict = judge(again.acted, grades, graded=True, torn=again.torn)
        return msgspec.structs.replace(
            record, status=verdict.status, passed=verdict.passed, score=verdict.score, grades=grades
        )

    def result(self) -> Regraded:
        """What the regrade says so far."""
        manifest, changes = self.reader.manifest, self.changes
        changes.sort(manifest.task_ids)
        done = changes.judged + len(changes.not_judged)
        return Regraded(
            id=self.writer.head.id,
            run=manifest.run_id,
            suite=manifest.suite,
            file=str(self.writer.path),
            isolation=self.executor.isolation,
            graders=grader_words(manifest.graders, self.now, self.chosen),
            judged=changes.judged,
            without=changes.without,
            unreached=max(0, self.board.planned - done),  # a run that goes on has more by now
            flips=tuple(changes.flips),
            by_task=changes.by_task(),
            scores_changed=changes.scores,
            not_judged=tuple(changes.not_judged),
            other_answers=self.other_answers,
            files_changed=tuple(sorted(self.changed.files)),
            changed_at=dict(sorted(self.changed.files.items())),
            rates=rates_of(self.reader, self.writer.head.id),
            judge_models=self.writer.head.judge_models,
            judge_models_then=manifest.judge_models,
            judge_calls=self.judges.model_calls,
            dollars=self.judges.dollars,
            interrupted=self.interrupted,
        )


def _mixed(before: Sequence[Grade], after: Sequence[Grade]) -> tuple[Grade, ...]:
    """The run's grades with those of the chosen graders in their places; a new grader's come last."""
    new = {grade.name: grade for grade in after}
    kept = [new.pop(grade.name, grade) for grade in before]
    return (*kept, *new.values())


def _without_verdict(acted: Status) -> tuple[Status, bool | None]:
    """A trial that can't be judged again: a time-out stays a failure, what was to be judged has no verdict."""
    if acted is Status.COMPLETED:
        return Status.UNRESOLVED, None
    return acted, False
