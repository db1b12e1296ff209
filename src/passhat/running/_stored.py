"""Recorded trials, graded again: the agent doesn't run, and what can't be judged any more is said by name."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from passhat.facts import RULES, ErrorInfo, Grade, Grading, Manifest, Status, Task, Transcript, TrialRecord, Usage
from passhat.facts._grades import Verdict
from passhat.isolation._leftovers import make_scratch, remove_scratch
from passhat.running._executor import Executor, Stored
from passhat.running._plan import PlannedTrial
from passhat.running._verdict import judge

if TYPE_CHECKING:
    from passhat.records import RunReader


@dataclass(frozen=True)
class GradedAgain:
    """What a second grading says of a trial; ``cannot`` is why it can't be judged again, empty when it was.

    ``acted`` is how the agent's part had ended. ``judges`` is what judges spent on it now. ``refused`` is the HTTP
    status by which a judge's provider refused the key. ``late`` are files of modules that graders first imported then.
    ``torn``: closing its environment had failed.
    """

    acted: Status
    grades: tuple[Grade, ...] = ()
    judges: Usage = field(default_factory=Usage)
    cannot: str = ""
    refused: int | None = None
    late: tuple[str, ...] = ()
    torn: bool = False

    @property
    def verdict(self) -> Verdict:
        """Passed, score and status by these grades."""
        return judge(self.acted, self.grades, graded=True, torn=self.torn)


def is_regradable(record: TrialRecord) -> bool:
    """Whether graders look at a trial that ended so."""
    return RULES[record.status].grading is not Grading.NO


def acted_status(status: Status) -> Status:
    """How the agent's part of a recorded trial had ended: what grading made of it is taken away."""
    return Status.COMPLETED if RULES[status].grading is Grading.ALREADY else status


class StoredTrials:
    """The trials of a run directory, for graders as they are now. ``close`` removes what was unpacked."""

    def __init__(self, reader: RunReader, tasks: Sequence[Task], executor: Executor, *, services: bool = False) -> None:
        """``services``: the suite has some, which ended with the trials."""
        self._reader = reader
        self._tasks = {task.id: task for task in tasks}
        self._executor = executor
        self._services = services
        self._folder = Path(make_scratch()).resolve()

    async def grade(self, record: TrialRecord) -> GradedAgain:
        """Have one trial graded. What user code does wrong is in the grades."""
        acted = acted_status(record.status)
        task = self._tasks.get(record.task)
        problem = why_not_the_same(task, record.task, self._reader.manifest)
        if task is None or problem:
            return GradedAgain(acted, cannot=problem)
        planned = PlannedTrial(task, record.trial, record.arm, record.seed, record.order)
        kept = await asyncio.to_thread(self._stored, record, acted)
        left = self._executor.stored(planned, kept)
        try:
            graded = await self._executor.grade(planned, left)
        finally:
            await asyncio.to_thread(left.release)
        cannot = "; ".join(f"{name} looks at what is lost: {why}" for name, why in graded.missed.items())
        torn = record.error is not None and record.error.kind == "tear-down"
        return GradedAgain(acted, graded.grades, graded.judges, cannot, graded.refused, graded.late, torn)

    def close(self) -> None:
        """Remove what was unpacked."""
        with contextlib.suppress(OSError):
            remove_scratch(self._folder)

    def _stored(self, record: TrialRecord, acted: Status) -> Stored:
        lost: dict[str, str] = {"services": "its services ended with it"} if self._services else {}
        transcript = self._transcript(record, lost)
        workspace, diff = self._workspace(record, lost)
        return Stored(record=record, status=acted, transcript=transcript, workspace=workspace, diff=diff, lost=lost)

    def _transcript(self, record: TrialRecord, lost: dict[str, str]) -> Transcript:
        from passhat.records import RecordError

        try:
            found = self._reader.transcript(record)
        except RecordError as error:
            lost["transcript"] = str(error)
        else:
            if found is not None:
                return found
            lost["transcript"] = "no transcript was recorded"
        return Transcript()

    def _workspace(self, record: TrialRecord, lost: dict[str, str]) -> tuple[Path | None, Mapping[str, str] | None]:
        """The unpacked workspace and its changes. A trial whose agent made none gets a fresh one, as it did then."""
        from passhat.records import RecordError, unpack_workspace

        if record.workspace is None and record.had_workspace is False:
            return None, {}
        archive = self._reader.workspace(record)
        if archive is None:
            lost["workspace"] = lost["diff"] = _why_not_kept(record)
            return None, None
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        try:
            diff = unpack_workspace(archive, folder)
        except RecordError as error:
            shutil.rmtree(folder, ignore_errors=True)
            lost["workspace"] = lost["diff"] = str(error)
            return None, None
        if diff is None:
            lost["diff"] = "what the agent changed in its workspace wasn't recorded"
        return folder, diff


def _why_not_kept(record: TrialRecord) -> str:
    if record.workspace is not None:
        return "its workspace made room for another one"
    said = next((note for note in record.notes if note.startswith("workspace not kept")), "")
    return said or "its workspace wasn't kept"


def why_not_the_same(task: Task | None, name: str, manifest: Manifest) -> str:
    """Why a task as it is now can't judge what was done for it then; empty when it can.

    What the agent was asked must be the same. The expected answer may be another one: it is what is judged by.
    """
    if task is None:
        return f"the suite has no task {name!r} any more"
    if manifest.task_hashes.get(name) in (None, task.hash):
        return ""
    asked = manifest.input_hashes.get(name)
    if asked is None:
        return "the task has changed, and the run doesn't tell in what"
    return "" if asked == task.input_hash else "what the task asks has changed"


def first_error(grades: Sequence[Grade]) -> ErrorInfo | None:
    """Why a grading failed, for the record of that attempt."""
    for grade in grades:
        if grade.error is not None:
            return ErrorInfo("grader", f"{grade.name}: {grade.error}")
    return None
