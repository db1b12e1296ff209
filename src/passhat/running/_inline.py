"""Inline isolation: agents and graders run in this process. Quick, and it promises little.

A sync agent runs on a daemon thread of its trial, together with ``prepare`` and ``environment``, so that what one opens
the others can use. A deadline ends the wait; it can't stop the thread.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from passhat.facts import Limits
from passhat.isolation import host_environ, remove_tree
from passhat.running._executor import Acted, Graded, Stored, as_acted
from passhat.running._exits import no_exit
from passhat.running._grading import FinalState, grade_all
from passhat.running._inline_trial import InlineTrial
from passhat.running._judges import Judges, bench
from passhat.running._models import Model
from passhat.running._moved_data import unbelieved
from passhat.running._plan import PlannedTrial
from passhat.trial import Workspace

if TYPE_CHECKING:
    from passhat.gateway import Gateway


@dataclass(frozen=True, kw_only=True)
class World:
    """What all trials of a run share: the suite's parts, the gateway and the limits."""

    agents: Mapping[str, Callable[..., Any]]
    graders: Sequence[Callable[..., Any]]
    grader_names: Sequence[str]
    prepare: Callable[..., Any] | None
    environment: Callable[..., Any] | None
    template: Path | None
    template_stamp: int  # when it was last changed before the run: `last_change`
    limits: Limits
    gateway: Gateway
    model: Model
    host: Mapping[str, str]
    judges: Judges | None = None
    pass_env: Sequence[str] = ()
    set_env: Mapping[str, str] | None = None
    confine: bool = False
    moved: Callable[[], Collection[str]] = tuple  # data in whose place there is something else: `DataFiles.moved`
    clock: Callable[[], float] = time.monotonic

    def variables(self) -> dict[str, str]:
        """Variables for an agent's subprocess, without those of the model: an allowlist, and what the suite lets in."""
        return host_environ(host=self.host, pass_env=self.pass_env, set_env=self.set_env)


class InlineExecutor:
    """Runs trials in this process."""

    isolation = "inline"
    containment = "none"
    guard = "none"
    notes: Sequence[str] = ()
    imported: Mapping[str, str] | None = None
    importable: Sequence[str] = ()

    def __init__(self, world: World) -> None:
        self._world = world
        if world.judges is not None:
            world.judges.load()
        self._folder: Path | None = None

    async def act(self, planned: PlannedTrial) -> Acted:
        """Run the agent of a trial once."""
        with no_exit():
            return await InlineTrial(self._world, planned, self._make_folder).run()

    async def grade(self, planned: PlannedTrial, acted: Acted) -> Graded:
        """Grade a trial, each grader on its own copy of what the agent left."""
        assert isinstance(acted.final, FinalState)
        world = self._world
        moved = {*world.moved()}
        with no_exit(), bench(world.judges, world.gateway, planned, world.limits) as judging:
            grades = await grade_all(
                world.graders, acted.final, world.limits.grade_seconds, names=world.grader_names, bench=judging
            )
        missed = acted.final.missed
        grades = unbelieved(grades, moved.union(world.moved()))
        return Graded(grades, missed=missed) if judging is None else judging.graded(grades, missed)

    def stored(self, planned: PlannedTrial, kept: Stored) -> Acted:
        """A trial of the record, for ``grade``."""
        world, record = self._world, kept.record
        if kept.workspace is None:
            workspace = Workspace(self._make_folder, world.template, world.template_stamp)
        else:
            workspace = Workspace.at(kept.workspace)
        final = FinalState(
            planned,
            output=record.output,
            transcript=kept.transcript,
            workspace=workspace,
            make_folder=self._make_folder,
            status=kept.status,
            error=record.error,
            usage=record.usage,
            seconds=record.seconds,
            environment=world.environment,
            template=world.template,
            template_stamp=world.template_stamp,
            diff=kept.diff,
            lost=kept.lost,
        )

        def release() -> None:
            if workspace.made is not None:
                with contextlib.suppress(OSError):
                    remove_tree(workspace.made)

        return as_acted(kept, final, release)

    async def close(self) -> None:
        """Remove all workspaces."""
        if self._folder is not None:
            with contextlib.suppress(OSError):
                remove_tree(self._folder)

    def _make_folder(self) -> Path:
        if self._folder is None or not self._folder.is_dir():
            self._folder = Path(tempfile.mkdtemp(prefix="passhat-"))
        return Path(tempfile.mkdtemp(dir=os.path.realpath(self._folder)))
