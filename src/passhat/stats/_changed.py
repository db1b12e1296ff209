"""Which tasks changed between two runs: one exact test a task, and an honest count of the looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, SupportsIndex

from passhat.stats import _checks
from passhat.stats._boschloo import attainable, boschloo
from passhat.stats._multiplicity import adjust_p
from passhat.stats._types import Counts

MIN_TRIALS_CHANGED = 5
"""Below so many trials on either side nothing is said about one task."""


@dataclass(frozen=True, slots=True)
class TaskChange:
    """One task before and after.

    ``p`` is Boschloo's; None where either side has fewer than 5 trials. ``q`` is p adjusted for the
    number of tasks tested; None also where the task's counts could not have shown a change at all.
    ``change`` is "better" or "worse" where q is at or below the error rate, else None.
    """

    task: int
    before: tuple[int, int]
    after: tuple[int, int]
    p: float | None
    q: float | None
    change: Literal["better", "worse"] | None


@dataclass(frozen=True, slots=True)
class TaskChanges:
    """Every task in the order given, how many could be tested, and what to say beside them.

    ``needed`` is the number of trials on each side at which a task that goes from always to never
    passing is certain to be found among so many tasks.
    """

    tasks: tuple[TaskChange, ...]
    tested: int
    needed: int
    note: str = ""

    @property
    def changed(self) -> tuple[TaskChange, ...]:
        """The tasks that may be named as changed."""
        return tuple(task for task in self.tasks if task.change)


def trials_to_flag(tasks: SupportsIndex, *, error: float = 0.05) -> int:
    """Trials on each side at which one task's flip from always to never passing survives the adjustment.

    It counts every task as tested; tasks whose counts could not show a change are dropped from the
    adjustment, so that fewer trials may do. Never below 5.
    Raises ValueError for tasks < 1 or an error rate outside 0..1.

    >>> [trials_to_flag(tasks) for tasks in (1, 20, 50, 200)]
    [5, 5, 6, 7]
    """
    many, rate = _checks.whole(tasks, "tasks", at_least=1), _checks.share(error, "error")
    trials = MIN_TRIALS_CHANGED
    while boschloo(trials, trials, trials, 0) * many > rate:
        trials += 1
    return trials


def changed_tasks(
    n_before: SupportsIndex | Counts,
    c_before: Counts,
    n_after: SupportsIndex | Counts,
    c_after: Counts,
    *,
    error: float = 0.05,
) -> TaskChanges:
    """Which tasks of a suite have another pass rate than before.

    Trials and passes of the same tasks in the same order, on both sides; numbers of trials may
    differ. Boschloo's exact test a task; tasks whose total of passes could not reach p <= ``error``
    however it fell are left out; Benjamini–Hochberg over the rest keeps the expected share of false
    names at or below ``error``. Tasks with fewer than 5 trials on either side get no verdict.

    Raises ValueError when the two sides have different numbers of tasks, or for what is not a count.
    Sources: Boschloo 1970; Tarone 1990 for the filter; Benjamini & Hochberg 1995.

    >>> found = changed_tasks(10, [10, 9, 0], 10, [1, 8, 0])
    >>> [(task.task, task.change) for task in found.changed]
    [(0, 'worse')]
    >>> found.tested
    1
    """
    n1, c1 = _checks.counts(n_before, c_before)
    n2, c2 = _checks.counts(n_after, c_after)
    rate = _checks.share(error, "error")
    if len(c1) != len(c2):
        raise ValueError(f"both sides must hold the same tasks, got {len(c1)} before and {len(c2)} after")
    rows = list(zip(n1, c1, n2, c2, strict=True))
    enough = [min(row[0], row[2]) >= MIN_TRIALS_CHANGED for row in rows]
    p = [boschloo(*row) if ok else None for row, ok in zip(rows, enough, strict=True)]
    able = [i for i, (a, x, b, y) in enumerate(rows) if enough[i] and attainable(a, b, x + y) <= rate]
    q = dict(zip(able, adjust_p([p[i] or 0.0 for i in able]), strict=True))
    tasks = []
    for i, (a, x, b, y) in enumerate(rows):
        change: Literal["better", "worse"] | None = None
        if i in q and q[i] <= rate:
            change = "better" if y * a > x * b else "worse"
        tasks.append(TaskChange(i, (x, a), (y, b), p[i], q.get(i), change))
    needed = trials_to_flag(len(rows), error=rate)
    short = enough.count(False)
    note = ""
    if short:
        note = (
            f"{short} of {len(rows)} tasks have fewer than {MIN_TRIALS_CHANGED} trials on one side: whether they "
            f"changed cannot be said; {needed} trials on each side would find a task that stops passing altogether"
        )
    return TaskChanges(tuple(tasks), tested=len(able), needed=needed, note=note)
