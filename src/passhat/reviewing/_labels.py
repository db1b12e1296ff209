"""A label of now."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal

from passhat.facts import Fault, Label, TrialKey, TrialRecord, contradicts_itself
from passhat.reviewing._errors import ReviewError
from passhat.reviewing._list import ReadingItem

_LONGEST_NOTE = 10_000


def now_utc() -> str:
    """The time, as labels have it.

    >>> now_utc()[-1]
    'Z'
    """
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def new_label(
    item: ReadingItem,
    verdict: Literal["pass", "fail", "unclear"],
    rater: str,
    *,
    fault: Fault | None = None,
    note: str = "",
    grader: str = "",
    rubric: str = "",
    blind: bool = False,
) -> Label:
    """A label of now on a trial of a reading list, which says how the trial was chosen.

    ``rubric`` is the hash of what a judge was asked, where ``grader`` is one. Raises `ReviewError` for a pass that
    blames the agent.
    """
    label = Label(
        item.task,
        item.trial,
        verdict,
        rater,
        now_utc(),
        arm=item.arm,
        fault=fault,
        note=note[:_LONGEST_NOTE],
        grader=grader,
        blind=blind,
        sample=item.sample,
        probability=item.probability,
        rubric=rubric,
    )
    if contradicts_itself(label):
        raise ReviewError("a pass is nobody's failure: it can't be the agent's fault; fail it, or blame another")
    return label


def rubrics_of(records: Iterable[TrialRecord], grader: str) -> dict[TrialKey, str]:
    """The rubric, as a hash, by which a judge judged each trial; without those that it didn't judge."""
    grades = ((record.key, record.grade(grader)) for record in records) if grader else ()
    return {key: grade.rubric for key, grade in grades if grade is not None and grade.rubric}
