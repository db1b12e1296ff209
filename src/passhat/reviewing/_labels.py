"""A label of now."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from passhat.facts import Fault, Label
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
    blind: bool = False,
) -> Label:
    """A label of now on a trial of a reading list, which says how the trial was chosen."""
    return Label(
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
    )
