"""What becomes the record of a trial: the end of the agent's part, and what graders made of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import msgspec

from passhat.facts import Attempt, ErrorInfo, Status, TrialRecord, message_of
from passhat.running._executor import Acted, Executor, Graded, ServiceFailed
from passhat.running._plan import PlannedTrial
from passhat.running._verdict import is_graded, judge


async def graded_record(
    executor: Executor,
    planned: PlannedTrial,
    acted: Acted,
    *,
    graded: bool,
    attempts: Sequence[Attempt] = (),
) -> tuple[TrialRecord, int | None]:
    """Have a trial graded, where its status is graded at all. Its record, and `Graded.refused`.

    ``graded``: there are graders.
    """
    try:
        made = await executor.grade(planned, acted) if is_graded(acted.status) else Graded()
    except ServiceFailed as failed:  # what graders saw isn't what the agent left
        made = Graded()
        acted = dataclasses.replace(
            acted, status=Status.ENVIRONMENT_ERROR, error=ErrorInfo("service", str(failed)), output=None
        )
    grades = made.grades
    torn = acted.torn if acted.status is Status.COMPLETED else None
    verdict, error = judge(acted.status, grades, graded=graded, torn=torn is not None), acted.error or torn
    if made.spoilt is not None and verdict.status is Status.GRADER_ERROR:
        verdict, error = judge(Status.AGENT_ERROR, grades, graded=graded), made.spoilt
    task = planned.task
    record = TrialRecord(
        task=task.id,
        trial=planned.trial,
        arm=planned.arm,
        status=verdict.status,
        passed=verdict.passed,
        score=verdict.score,
        grades=grades,
        output=acted.output,
        usage=acted.usage,
        judge_usage=made.judges,
        seconds=acted.seconds,
        started=acted.started,
        seed=planned.seed,
        model=acted.model,
        error=error,
        attempts=tuple(attempts),
        tags=task.tags,
        family=task.family,
        split=task.split,
        notes=(*acted.notes, *made.notes),
        order=planned.position,
        fingerprint=acted.transcript.fingerprint(),
        had_workspace=acted.workspace is not None,
    )
    return record, made.refused


def not_needed(planned: PlannedTrial) -> TrialRecord:
    """A trial that could change no verdict any more."""
    task = planned.task
    return TrialRecord(
        task=task.id,
        trial=planned.trial,
        arm=planned.arm,
        status=Status.NOT_NEEDED,
        passed=None,
        seed=planned.seed,
        tags=task.tags,
        family=task.family,
        split=task.split,
        order=planned.position,
    )


def unrecordable(record: TrialRecord, error: ValueError) -> TrialRecord:
    """The same trial without what can't be written: an agent error that says so."""
    info = ErrorInfo("output", f"what the trial left can't be recorded: {message_of(error)}", type(error).__name__)
    return msgspec.structs.replace(
        record, status=Status.AGENT_ERROR, passed=False, output=None, grades=(), score=None, error=info, notes=()
    )
