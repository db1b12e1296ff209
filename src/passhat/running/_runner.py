"""The runner: starts trials, a bounded number at once, and records each as it ends."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from passhat.facts import Attempt, Limits, Status, TrialRecord
from passhat.running._executor import Acted, Executor
from passhat.running._grading_again import GradingAgain
from passhat.running._keys_refused import AgentRefusals, JudgeRefusals
from passhat.running._plan import PlannedTrial
from passhat.running._progress import Board
from passhat.running._recorded import graded_record, not_needed, unrecordable
from passhat.running._seen import Seen
from passhat.running._stopping import Stopping
from passhat.running._verdict import runs_again

if TYPE_CHECKING:
    from passhat.records import KeptWorkspace, RunWriter, WorkspaceStore

State = Literal["finished", "interrupted", "stopped"]
RETRIES = 2
_DEFAULTS = Limits()


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How a runner goes about its work.

    ``retries`` are the bounded re-runs that the status table speaks of. After a failure of the provider a re-run waits
    ``retry_wait`` seconds, twice as long each time.
    """

    concurrency: int = 1
    limits: Limits = _DEFAULTS
    graded: bool = True
    retries: int = RETRIES
    retry_wait: float = 1.0
    clock: Callable[[], float] = time.monotonic

    def wait(self, status: Status, retry: int) -> float:
        """Seconds to wait before a trial that ended so runs again for the ``retry``-th time."""
        return self.retry_wait * 2.0 ** (retry - 1) if status is Status.PROVIDER_ERROR else 0.0


class Runner:
    """Runs the trials of one run. It alone writes to the run directory, and only whole trials.

    A trial that is cut short by Ctrl-C or by the run's own limits leaves no record, so that a resume runs it.
    """

    def __init__(
        self,
        executor: Executor,
        writer: RunWriter,
        todo: Iterable[PlannedTrial],
        *,
        rules: Rules,
        board: Board,
        seen: Seen,
        store: WorkspaceStore | None = None,
        earlier: Mapping[tuple[str, str, int], tuple[Attempt, ...]] | None = None,
        stopping: Stopping | None = None,
        again: GradingAgain | None = None,
        answered: Collection[str] = (),
    ) -> None:
        """``answered``: the arms whose model has answered in an earlier part of the run."""
        self._executor = executor
        self._writer = writer
        self._todo = iter(todo)
        self._rules = rules
        self._board = board
        self._seen = seen
        self._store = store
        self._earlier = earlier or {}
        self._stopping = stopping
        self._again = again
        self._judge_refusals = JudgeRefusals()
        named = writer.manifest.model_requested is not None
        self._agent_refusals = AgentRefusals(named=named, answered=answered)
        self._state: State = "finished"
        self._reason: str | None = None
        self._cut = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._tokens_before = board.bill.tokens or 0
        self._dollars_before = board.bill.dollars or 0.0

    def interrupt(self) -> None:
        """Start nothing more and cut short what runs. Safe to call from any thread, and after the end."""
        with suppress(RuntimeError):  # the loop is closed: the run is over
            self._loop.call_soon_threadsafe(self._end, "interrupted", "interrupted by the user", True)

    async def run(self) -> tuple[State, str | None]:
        """All trials; how the run ended, and why if it ended early. Raises what makes recording impossible."""
        limits = self._rules.limits
        timer = None
        if limits.run_seconds is not None:
            why = f"the run's limit of {limits.run_seconds:g} seconds was reached"
            timer = self._loop.call_later(limits.run_seconds, self._end, "stopped", why, True)
        workers = [asyncio.create_task(self._work()) for _ in range(self._rules.concurrency)]
        watch = asyncio.create_task(self._cut.wait())
        try:
            await self._all_done(workers, watch)
        except asyncio.CancelledError:
            self._end("interrupted", "the task that ran it was cancelled", True)
            raise
        finally:
            if timer is not None:
                timer.cancel()
            for task in (*workers, watch):
                task.cancel()
            await asyncio.gather(*workers, watch, return_exceptions=True)
            if self._again is not None:
                self._again.trials.close()
                self._writer.take_over()
        return self._state, self._reason

    @property
    def ending(self) -> tuple[State, str | None]:
        """How the run ended, so far as it has."""
        return self._state, self._reason

    async def _all_done(self, workers: list[asyncio.Task[None]], watch: asyncio.Task[bool]) -> None:
        open_ones: set[asyncio.Task[None]] = set(workers)
        while open_ones and not watch.done():
            done, _ = await asyncio.wait({*open_ones, watch}, return_when=asyncio.FIRST_COMPLETED)
            for task in open_ones & done:
                task.result()
            open_ones -= done

    def _end(self, state: State, reason: str, cut: bool) -> None:
        """Start no further trial; ``cut`` ends those that run, too. The first reason stands, but Ctrl-C beats it."""
        if self._state == "finished" or state == "interrupted":
            self._state, self._reason = state, reason
        if self._stopping is not None:
            self._stopping.give_up()
        if cut:
            self._cut.set()

    async def _work(self) -> None:
        for old in self._again.records if self._again is not None else ():
            await self._grade_again(old)
            self._check_spending()
            if self._state != "finished":
                return
        for planned in self._todo:
            if self._stopping is not None:
                await self._stopping.ready(planned)
                if self._state != "finished":
                    return
            if self._stopping is not None and self._stopping.decided:
                self._board.finished(self._writer.append(not_needed(planned), None))
                continue
            with ExitStack() as kept:
                self._board.started(planned)
                try:
                    record = await self._trial(planned, kept)
                finally:
                    self._board.left()
                self._board.finished(record)
            if self._stopping is not None:
                self._stopping.see(record)
            self._check_spending()
            if self._state != "finished":
                return

    async def _grade_again(self, old: TrialRecord) -> None:
        """Give a recorded trial other grades; its line stays until all are through."""
        assert self._again is not None
        self._board.begun()
        try:
            record, judges, refused = await self._again.grade(old)
            written = self._writer.grade_again(record)
            self._check_judges(refused)
        finally:
            self._board.left()
        if self._store is not None and written.passed and written.workspace:
            self._store.now_passed(written.workspace)
        self._board.finished(msgspec.structs.replace(written, judge_usage=judges))
        if self._stopping is not None:
            self._stopping.see(written)

    async def _trial(self, planned: PlannedTrial, kept: ExitStack) -> TrialRecord:
        """One trial, run again as often as its status and the rules allow, graded and recorded.

        ``kept`` removes what it leaves: that can wait until its record is written.
        """
        attempts = list(self._earlier.get(planned.key, ()))
        retry = 0
        while True:
            acted = await self._executor.act(planned)
            kept.callback(acted.release)
            acted = self._let_in(planned.arm, acted)
            self._board.spent(acted.usage)
            self._check_spending()
            retry += 1
            may = acted.again and runs_again(acted.status) and retry <= self._rules.retries
            if not may or self._state != "finished":
                return await self._finish(planned, acted, attempts)
            kept.close()
            attempts.append(Attempt(acted.status, acted.error, acted.seconds, acted.usage))
            await asyncio.sleep(self._rules.wait(acted.status, retry))

    async def _finish(self, planned: PlannedTrial, acted: Acted, attempts: list[Attempt]) -> TrialRecord:
        record, refused = await graded_record(
            self._executor, planned, acted, graded=self._rules.graded, attempts=attempts
        )
        self._check_judges(refused)
        record = await self._keep_workspace(record, acted)
        try:
            written = self._writer.append(record, acted.transcript)
        except ValueError as error:  # something in it that no file can hold
            written = self._writer.append(unrecordable(record, error), None)
        else:
            self._seen.add(acted.transcript)
        return written

    async def _keep_workspace(self, record: TrialRecord, acted: Acted) -> TrialRecord:
        if self._store is None or acted.workspace is None or not acted.workspace.is_dir():
            return record
        over = threading.Event()
        try:
            kept = await asyncio.to_thread(_keep, self._store, record, acted.workspace, acted.diff, over.is_set)
        finally:
            over.set()
        notes = record.notes if kept.name else (*record.notes, f"workspace not kept: {kept.reason}")
        return msgspec.structs.replace(record, workspace=kept.name, notes=notes)

    def _let_in(self, arm: str, acted: Acted) -> Acted:
        """Start no further trial once it is certain that the agent's provider lets nobody in."""
        acted, reason = self._agent_refusals.look(arm, acted)
        if reason is not None:
            self._end("stopped", reason, False)
        return acted

    def _check_judges(self, refused: int | None) -> None:
        """Pay for no further agent once it is certain that the judge's key opens nothing."""
        usage = self._writer.tally.judge_usage
        reason = self._judge_refusals.reason(refused, answered=usage is not None and bool(usage.output_tokens))
        if reason is not None:
            self._end("stopped", reason, False)

    def _check_spending(self) -> None:
        limits, usage = self._rules.limits, self._board.bill
        tokens = (usage.tokens or 0) - self._tokens_before
        dollars = (usage.dollars or 0.0) - self._dollars_before
        if limits.run_tokens is not None and tokens >= limits.run_tokens:
            self._end("stopped", f"the run's limit of {limits.run_tokens} tokens was reached: {tokens} used", False)
        if limits.run_dollars is not None and dollars >= limits.run_dollars:
            why = f"the run's limit of {limits.run_dollars:g} dollars was reached: {dollars:.4g} spent"
            self._end("stopped", why, False)


def _keep(
    store: WorkspaceStore,
    record: TrialRecord,
    workspace: Path,
    diff: Callable[[], Mapping[str, str]] | None,
    stop: Callable[[], bool],
) -> KeptWorkspace:
    """Archive a trial's workspace, with what changed in it: a grader may ask for that again."""
    changed = None
    if diff is not None:
        with suppress(OSError):  # a template that has gone: the state is kept all the same
            changed = diff()
    return store.keep(
        workspace,
        task=record.task,
        trial=record.trial,
        passed=record.passed is True,
        arm=record.arm,
        diff=changed,
        stop=stop,
    )
