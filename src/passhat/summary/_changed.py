"""Tasks that may be named as changed between two sides: two runs, or two arms of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

from passhat.stats import changed_tasks


class ChangedTask(msgspec.Struct, frozen=True):
    """A task that may be named as changed, counts as [passed, trials]; ``q`` is p adjusted for the tasks tested."""

    task: str
    before: tuple[int, int]
    after: tuple[int, int]
    q: float
    change: Literal["better", "worse"]


class Named(NamedTuple):
    """The tasks that may be named, the surest and largest change first; how many were tested; what to say beside."""

    tasks: tuple[ChangedTask, ...]
    tested: int
    note: str


def name_changed(tasks: Sequence[str], counts: Sequence[tuple[int, int, int, int]], error: float) -> Named:
    """Name tasks at a false-discovery rate of ``error``; ``counts``, for each, are n and c before, n and c after.

    >>> name_changed(["a", "b"], [(10, 10, 10, 1), (10, 9, 10, 8)], 0.05).tasks[0].task
    'a'
    """
    if not tasks:
        return Named((), 0, "")
    n1, c1, n2, c2 = ([row[place] for row in counts] for place in range(4))
    found = changed_tasks(n1, c1, n2, c2, error=error)
    named = [
        ChangedTask(tasks[each.task], each.before, each.after, each.q, each.change)
        for each in found.changed
        if each.q is not None and each.change is not None
    ]
    named.sort(key=lambda each: (each.q, -abs(_move(each)), each.task))
    return Named(tuple(named), found.tested, found.note)


def _move(task: ChangedTask) -> float:
    return task.after[0] / task.after[1] - task.before[0] / task.before[1]
