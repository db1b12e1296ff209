"""Trials of a resumed run whose grading had failed: graded again, while what their agents did stands."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import msgspec

from passhat.facts import Attempt, Status, TrialRecord, Usage
from passhat.running._stored import GradedAgain, StoredTrials, first_error


def statuses_to_grade(retry: Collection[Status]) -> frozenset[Status]:
    """Which trials a resume grades again: those of grader errors always, unresolved ones on request."""
    return frozenset({Status.GRADER_ERROR, *(status for status in retry if status is Status.UNRESOLVED)})


@dataclass(frozen=True)
class GradingAgain:
    """The trials to grade again: ``records`` gives each to one worker, ``trials`` grades it."""

    trials: StoredTrials
    records: Iterator[TrialRecord]

    async def grade(self, old: TrialRecord) -> tuple[TrialRecord, Usage, int | None]:
        """The new record of a trial, what its judges spent now, and the HTTP status by which their key was refused.

        The old grading becomes one of its attempts. A trial that can't be judged again stays as it is, with a note.
        """
        again = await self.trials.grade(old)
        record = _noted(old, again.cannot) if again.cannot else _judged(old, again)
        return record, again.judges, again.refused


def _judged(old: TrialRecord, again: GradedAgain) -> TrialRecord:
    verdict = again.verdict
    return msgspec.structs.replace(
        old,
        status=verdict.status,
        passed=verdict.passed,
        score=verdict.score,
        grades=again.grades,
        judge_usage=Usage.total([old.judge_usage, again.judges]),
        attempts=(*old.attempts, Attempt(old.status, first_error(old.grades))),
        notes=_without_note(old),
    )


def _noted(old: TrialRecord, why: str) -> TrialRecord:
    from passhat.records import NOT_JUDGED

    return msgspec.structs.replace(old, notes=(*_without_note(old), f"{NOT_JUDGED}{why}"))


def _without_note(record: TrialRecord) -> tuple[str, ...]:
    from passhat.records import NOT_JUDGED

    return tuple(note for note in record.notes if not note.startswith(NOT_JUDGED))
