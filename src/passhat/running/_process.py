"""Process isolation: each trial, and each grading, in a process of its own that can be killed and proved gone."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from passhat.facts import FELL_BACK, shortened
from passhat.isolation import (
    ImportFailed,
    IsolationError,
    ServerReport,
    ServerSpec,
    capabilities,
    end_leftovers,
    remove_tree,
    trial_environ,
)
from passhat.isolation._importable import Importable
from passhat.isolation._late import guard_imports, refusals
from passhat.isolation._leftovers import make_scratch, remove_scratch, remove_scratches_of_the_dead
from passhat.running._changed_code import found_files, whose_change
from passhat.running._errors import RunError
from passhat.running._executor import Acted, Graded, Stored, as_acted
from passhat.running._judges import bench
from passhat.running._moved_data import unbelieved, who_moved
from passhat.running._passed_over import passed_over
from passhat.running._plan import PlannedTrial
from passhat.running._process_grading import ProcessGrading
from passhat.running._process_left import Left, led_environ
from passhat.running._process_orders import SuiteAddress
from passhat.running._process_place import TrialFolder
from passhat.running._process_server import Ending, ServerThread
from passhat.running._process_trial import LIMIT_GRACE, ProcessTrial
from passhat.running._spans import Span, Spans
from passhat.trial import ModelAccess

if TYPE_CHECKING:
    from passhat.running._inline import World

_PRELOAD = ("passhat.running._process_child", "passhat.suite", "passhat.graders", "asyncio")
_WARM_UP = "passhat.running._warm_up:warm_up"
_MOST_LATE = 50  # names of modules that the run's notes hold: a trial says what they are
_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")


class ProcessExecutor:
    """Runs each trial in a process of its own, forked warm where that is safe, else in a fresh interpreter."""

    def __init__(
        self,
        world: World,
        suite: SuiteAddress,
        *,
        concurrency: int,
        mode: Literal["auto", "spawn"] = "auto",
        acting: bool = True,
        since: int = 0,
        then: Mapping[str, dict[str, str]] | None = None,
        waiting: Callable[[str], object] | None = None,
    ) -> None:
        """Start the server: the suite is imported once in a process that is thrown away, and whatever makes isolation
        impossible is raised as `RunError`. ``since``: when the run began that goes on (nanoseconds since the epoch).
        ``then``: what could be imported at that time (see `Importable`).
        ``waiting`` is told what it waits for, where that takes long."""
        if world.confine and not capabilities().guard:
            raise RunError(
                f"confine=True needs Landlock, and here is {'; '.join(capabilities().missing) or 'none'}. Without it a "
                "container can do the same: see docs/isolation.md"
            )
        self._world = world
        self._suite = suite
        self._late: set[str] = set()
        self._taken: list[Path] = []
        self._spans = Spans()
        self._variables = host_variables(world)
        end_leftovers()
        access = ModelAccess(world.gateway.base_url, world.gateway.process_key)
        spec = ServerSpec(
            entry_file=suite.file,
            loader=f"passhat.running._process_child:{'load' if acting else 'load_graders'}",
            load_payload={"file": suite.file, "name": suite.name},
            preload=(*_PRELOAD, *(() if world.judges is None else world.judges.modules())),
            warm_up=_WARM_UP,
            environ=led_environ(self._variables, access.environ()),
            sentinels=_KEYS,
            slots=concurrency,
            mode=mode,
            since=since,
            then=dict(then or {}),
        )
        self._server = ServerThread(spec, waiting)
        try:
            self.report = self._server.start()
        except ImportFailed as error:
            raise RunError(_not_importable(suite, error)) from error
        except IsolationError as error:
            raise RunError(str(error)) from error
        self.isolation: str = self.report.mode
        self.containment: str = self.report.containment
        self.guard = ("confine" if world.confine else "guard") if self.report.guard else "none"
        self.imported: Mapping[str, str] | None = self.report.files
        self.importable: Sequence[str] = [
            os.path.join(folder, file) for folder, files in self.report.then.items() for file in files
        ]
        self._passed_over = passed_over(suite.file, self.report.files)
        self._folder = _closed_scratch()
        self._unguarded = guard_imports(since, Importable(self.report.then))

    @property
    def notes(self) -> Sequence[str]:
        """Why isolation isn't what was asked for, and what isn't warm or not part of the snapshot, as far as known."""
        return [*_notes(self.report, sorted(self._late)), *map(_is_passed_over, self._passed_over), *refusals()]

    async def act(self, planned: PlannedTrial) -> Acted:
        """Run the agent of a trial once; when this returns, everything that it started is gone."""
        span = self._spans.begin(planned.key)
        try:
            return await self._act(planned, span)
        except BaseException:
            self._spans.forget(span)
            raise

    async def _act(self, planned: PlannedTrial, span: Span) -> Acted:
        world = self._world
        beside = world.prepare is not None or world.environment is not None or bool(planned.services)
        span.alone = not (beside or world.moved())
        trial = ProcessTrial(self._world, planned, self._new_folder, self._suite, self._variables, span, self._spans)
        try:
            ending = Ending(lambda: trial.goes_on)
            trial.session.at_limit = lambda: self._server.end_after(LIMIT_GRACE, ending, "limit")
            ended = await self._server.run("act", trial.job(), trial.hear, ending)
        except IsolationError as error:
            trial.stop()
            trial.clear()
            raise RunError(f"process isolation broke down: {error}") from error
        except BaseException:
            trial.stop()
            with contextlib.suppress(OSError):
                trial.clear()
            raise
        self._note_late(ended.from_disk)

        def release() -> None:
            self._spans.forget(span)
            with contextlib.suppress(OSError):
                trial.clear()

        try:
            if trial.has_workspace:  # there is something to walk through
                return await asyncio.to_thread(trial.settle, ended, release)
            return trial.settle(ended, release)
        except BaseException:
            release()
            raise

    def _note_late(self, names: Sequence[str]) -> None:
        self._late.update(names[: max(0, _MOST_LATE + 1 - len(self._late))])

    def _new_folder(self) -> TrialFolder:
        """A trial's own directory; in a new place when an agent took away the one that there was."""
        try:
            return TrialFolder(self._folder)
        except OSError:
            self._taken.append(self._folder)
            self._folder = _closed_scratch()
            return TrialFolder(self._folder)

    async def grade(self, planned: PlannedTrial, acted: Acted) -> Graded:
        """Grade a trial in another process, each grader on its own copy of what the agent left."""
        if not self._world.graders:
            return Graded()
        world = self._world
        moved = {*world.moved()}
        with bench(world.judges, world.gateway, planned, world.limits) as judging:
            grading = ProcessGrading(self._server, acted, acted.final, judging)
            try:
                with self._spans.during(planned.key):
                    grades = await grading.run()
            except IsolationError as error:
                raise RunError(f"process isolation broke down: {error}") from error
        self._note_late(tuple(grading.from_disk))
        found, grades = grades, unbelieved(grades, moved.union(world.moved()))
        graded = Graded(grades, missed=grading.missed) if judging is None else judging.graded(grades, grading.missed)
        late = found_files(grading.from_disk, [os.path.dirname(self._suite.file), *sys.path])
        spoilt, notes = whose_change(found, acted.final.span, self._spans)
        spoilt = spoilt or who_moved(moved, acted.final.span, self._spans)
        return replace(graded, late=late, spoilt=spoilt, notes=notes)

    def stored(self, planned: PlannedTrial, kept: Stored) -> Acted:
        """A trial of the record, for ``grade``."""
        left = Left(self._world, planned, self._suite, self._variables, diff=kept.diff, lost=kept.lost)

        def release() -> None:
            if kept.workspace is not None:
                with contextlib.suppress(OSError):
                    remove_tree(kept.workspace)

        return as_acted(kept, left, release)

    async def close(self) -> None:
        """End all processes and remove all workspaces."""
        await asyncio.to_thread(self.shut)

    def shut(self) -> None:
        """`close`, waiting."""
        self._unguarded()
        self._server.stop()
        for folder in (*self._taken, self._folder):
            with contextlib.suppress(OSError):
                remove_scratch(folder)
        with contextlib.suppress(OSError):
            remove_scratches_of_the_dead()


def _closed_scratch() -> Path:
    """A directory for those of trials, in which they can be found by name only."""
    folder = Path(make_scratch()).resolve()
    folder.chmod(0o300)
    return folder


def host_variables(world: World) -> dict[str, str]:
    """The variables of every process of the run; RunError for one that a suite can't set."""
    try:
        return trial_environ(host=world.host, pass_env=world.pass_env, set_env=world.set_env or {})
    except ValueError as error:
        raise RunError(str(error)) from error


def _not_importable(suite: SuiteAddress, error: ImportFailed) -> str:
    trace = error.error.traceback if error.error is not None else ""
    hint = (
        "Trials see few of the host's variables: name those that the suite needs in pass_env=[…]. "
        "To run it in this process instead: isolation='inline', on the command line --isolation inline"
    )
    return f"{error}. {hint}" + (f"\n{trace}" if trace else "")


def _is_passed_over(file: str) -> str:
    return f"{shortened(file, 300)} isn't what an import gets: the standard library has that name. Give it another"


def _notes(report: ServerReport, late: Sequence[str]) -> Sequence[str]:
    notes = []
    if report.mode == "spawn" and report.reason not in ("", "asked for"):
        notes.append(f"{FELL_BACK}{report.reason}")
    if not report.seccomp:
        notes.append("there are no seccomp filters: nothing kept a trial from setting the limits of other processes")
    notes += [f"{name} is imported anew in each trial: {reason}" for name, reason in sorted(report.left_out.items())]
    notes += [f"{name} has no Python source and is read from disk in each trial" for name in report.unreadable]
    shown = [shortened(name, 100) for name in late[:_MOST_LATE]]
    notes += [f"{name} was first imported during a trial, from disk: its hash is not in the manifest" for name in shown]
    if len(late) > _MOST_LATE:
        notes.append(f"more than {_MOST_LATE} modules were first imported during trials, from disk")
    return notes
