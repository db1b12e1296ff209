"""A run that is set up and ready to go, and its life from the first trial to the last write."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from passhat.facts import Attempt
from passhat.running._data_files import DataFiles
from passhat.running._grading_again import GradingAgain
from passhat.running._measuring import Measuring, changes
from passhat.running._progress import Board
from passhat.running._runner import Rules, Runner
from passhat.running._seen import Seen
from passhat.running._stopping import Stopping
from passhat.running._working_folder import same_folder_after
from passhat.trial import ModelAccess, led_to

if TYPE_CHECKING:
    from passhat.gateway import Gateway
    from passhat.records import RunWriter, WorkspaceStore
    from passhat.running._executor import Executor
    from passhat.running._plan import PlannedTrial
    from passhat.running._runner import State


@dataclass(kw_only=True)
class Job:
    """Everything a run needs. `go` runs it; `interrupt` ends it early, from any thread."""

    writer: RunWriter
    executor: Executor
    gateway: Gateway
    own_gateway: bool
    todo: list[PlannedTrial]
    rules: Rules
    board: Board
    seen: Seen
    store: WorkspaceStore | None
    earlier: Mapping[tuple[str, str, int], tuple[Attempt, ...]] = field(default_factory=dict)
    seconds_before: float = 0.0
    stopping: Stopping | None = None
    measuring: Measuring | None = None
    data: DataFiles | None = None
    again: GradingAgain | None = None
    answered: set[str] = field(default_factory=set)  # arms whose model answered before
    runner: Runner | None = None
    interrupted: bool = False

    def interrupt(self) -> None:
        """Start nothing more, and cut short what runs."""
        self.interrupted = True
        if self.runner is not None:
            self.runner.interrupt()

    async def go(self) -> State:
        """Run the trials and write the end of the run; the run directory can be resumed whatever happens."""
        began = self.rules.clock()
        self.runner = Runner(
            self.executor,
            self.writer,
            self.todo,
            rules=self.rules,
            board=self.board,
            seen=self.seen,
            store=self.store,
            earlier=self.earlier,
            stopping=self.stopping,
            again=self.again,
            answered=self.answered,
        )
        if self.interrupted:
            self.runner.interrupt()
        with contextlib.ExitStack() as last:
            if self.own_gateway:
                last.callback(self.gateway.close)
            last.callback(self.writer.close)
            last.enter_context(same_folder_after())
            last.enter_context(led_to(ModelAccess(self.gateway.base_url, self.gateway.process_key)))
            if begins := changes(self.measuring, self.writer.manifest):
                self.writer.update_manifest(**begins)
            try:
                await self.runner.run()
            except asyncio.CancelledError:
                self._finish(began)
                raise
            finally:
                await self.executor.close()
            state = self._finish(began, await self._measured())
        self.board.ended(state)
        return state

    async def _measured(self) -> dict[str, Any]:
        """What the suite's metrics say of the run; an interrupted one is measured when it has been resumed."""
        if self.measuring is None or self.interrupted:
            return {}
        from passhat.records import RunReader

        return {"metrics": await self.measuring.values(RunReader(self.writer.path))}

    def _finish(self, began: float, measured: Mapping[str, Any] | None = None) -> State:
        """Write how the run ended. Who answered is known for certain only once all trials ran."""
        assert self.runner is not None
        state, reason = self.runner.ending
        ends: dict[str, Any] = {**self.seen.fields(), **(measured or {}), "stop_reason": reason}
        if state == "finished":
            ends["model_source"] = self.seen.source
        written = self.writer.manifest
        ends["isolation_notes"] = tuple(dict.fromkeys((*written.isolation_notes, *self.executor.notes)))
        if self.data is not None:
            ends["data_changed"] = tuple(sorted({*written.data_changed, *self.data.changed_since(written.data)}))
        seconds = self.seconds_before + self.rules.clock() - began
        self.writer.finish(state, seconds=seconds, **ends)
        return state
