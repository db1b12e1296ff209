"""Setting up the rest of a run: what it has, what runs again, what is only graded again, and what forbids it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from passhat.facts import RUN_LIMITS, Status, Task
from passhat.running._as_it_was import as_it_was, was_importable
from passhat.running._asked import Asked
from passhat.running._changed_code import began, written_since
from passhat.running._errors import ResumeRefused
from passhat.running._executor import Executor
from passhat.running._grading_again import GradingAgain, statuses_to_grade
from passhat.running._job import Job
from passhat.running._manifest import project_of
from passhat.running._plan import Layout
from passhat.running._setup import Setup
from passhat.running._stored import StoredTrials
from passhat.trial import ModelAccess, led_to

if TYPE_CHECKING:
    from passhat.records import PairSet
    from passhat.suite import Suite


def resumed_job(path: Path, suite: Suite, asked: Asked, *, force: bool, retry: Collection[Status]) -> Job:
    """Set up the rest of a run, after checking that the suite is still what the run measured."""
    from passhat.records import RunReader, open_for_resume, resume_refusal

    old = RunReader(path).manifest
    if asked.isolation is None:
        asked = replace(asked, isolation=old.isolation)
    if asked.confine is None and asked.isolation != "inline":
        asked = replace(asked, confine=old.guard == "confine")
    since = 0 if force else began(old)
    then = was_importable(old, project_of(suite.folder)[0]) if since else {}
    setup = Setup(suite, asked, selected=lambda tasks: _as_before(tasks, old.task_ids), since=since, then=then)
    setup.check_confined()
    with ExitStack() as undo:
        gateway = setup.gateway(undo)
        if since and suite.file is not None:
            with led_to(ModelAccess(gateway.base_url, gateway.process_key)), as_it_was(old, suite.file):
                suite.arms()  # imports what agents are given as by name
        executor, agents = setup.open(gateway, undo)
        new = setup.manifest(Layout.of(old, agents), executor)
        if old.state == "finished" or new.source_planned == old.source_planned:
            new = msgspec.structs.replace(new, model_source=old.model_source)  # which may say who answered
        reasons = resume_refusal(old, new, forced=force, written=written_since(since, setup, old, executor))
        if reasons:
            raise ResumeRefused(old.run_id, reasons)
        writer = open_for_resume(path, retry=retry, redact=setup.secrets, hook=asked.hook)
        undo.callback(writer.close)
        afresh = {name: getattr(new.limits, name) for name in RUN_LIMITS}
        writer.update_manifest(limits=msgspec.structs.replace(old.limits, **afresh))
        job = setup.job(gateway, executor, writer, _kept_of_passed(path))
        waiting = _look_back(path, job, statuses_to_grade(retry))
        if old.state == "finished" and not job.todo and not waiting:
            writer.update_manifest(resumed=old.resumed)  # it was whole: nothing goes on
        if waiting:
            job.again = _grading_again(path, setup, executor, waiting)
            undo.callback(job.again.trials.close)
        undo.pop_all()
        return job


def _as_before(tasks: Sequence[Task], ids: Sequence[str]) -> Sequence[Task]:
    """The tasks that the run has, in its order; those that are gone are missed by the comparison that follows."""
    known = {task.id: task for task in tasks}
    return [known[name] for name in ids if name in known]


def _kept_of_passed(path: Path) -> set[str]:
    from passhat.records import RunReader

    return {record.workspace for record in RunReader(path).trials() if record.passed and record.workspace}


def _grading_again(path: Path, setup: Setup, executor: Executor, waiting: PairSet) -> GradingAgain:
    from passhat.records import RunReader

    reader = RunReader(path)
    records = (record for record in reader.trials() if record.key in waiting)
    return GradingAgain(StoredTrials(reader, setup.tasks, executor, services=bool(setup.suite.services)), records)


def _look_back(path: Path, job: Job, to_grade: Collection[Status]) -> PairSet:
    """Count what the run recorded before, one record at a time. Returns which trials are to be graded again."""
    from passhat.records import PairSet, RecordError, RunReader

    reader, waiting = RunReader(path), PairSet()
    for record in reader.trials():
        if record.usage.output_tokens:
            job.answered.add(record.arm)
        if record.status in to_grade:
            waiting.add(record.key)
            job.board.add_waiting(record)
        else:
            job.board.add_earlier(record)
            if job.stopping is not None:
                job.stopping.see(record)
        try:
            transcript = reader.transcript(record)
        except RecordError:
            continue  # the record counts; the report says that its transcript is damaged
        if transcript is not None:
            job.seen.add(transcript)
    return waiting
