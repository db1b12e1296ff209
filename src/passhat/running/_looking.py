"""Stopping a comparison of arms at a planned look: batches of tasks drawn at random, and a look after each."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from passhat.facts import Manifest, Status, TrialRecord, derive_seed
from passhat.running._errors import RunError

if TYPE_CHECKING:
    from passhat.running._plan import PlannedTrial


def draw_batches(run: Manifest) -> tuple[tuple[str, ...], ...]:
    """The tasks that come in before each look: independent units in a seeded random order, in 3 to 5 equal batches.

    Raises `RunError` where so few tasks could never show a difference.
    """
    from passhat.stats import MIN_DIFFERENCES, planned_looks
    from passhat.summary import held_out_tasks, units_of

    units = units_of(run)
    held_out = set(held_out_tasks(run))
    counted = list(dict.fromkeys(units[task] for task in run.task_ids if task in held_out))
    if len(counted) < MIN_DIFFERENCES:
        raise RunError(
            f"stop='when-decided': {len(counted)} independent tasks can never show a difference, {MIN_DIFFERENCES} "
            "are the least; run in full"
        )
    others = list(dict.fromkeys(units[task] for task in run.task_ids if units[task] not in set(counted)))
    rng = random.Random(derive_seed(run.seed, "batches"))
    looks = planned_looks(len(counted))
    batches: list[list[str]] = [[] for _ in range(looks)]
    place: dict[tuple[str, str], int] = {}
    for group in (counted, others):
        rng.shuffle(group)
        for index, unit in enumerate(group):
            place[unit] = index * looks // len(group)
    for task in run.task_ids:
        batches[place[units[task]]].append(task)
    return tuple(map(tuple, batches))


class Looking:
    """Watches the records of a run with arms, and looks after each batch of tasks.

    A candidate whose difference from the baseline is shown is decided; when all are, the rest isn't needed. A look
    comes when its batch is whole: trials of the next batch wait for it.
    """

    def __init__(self, run: Manifest) -> None:
        from passhat.summary import held_out_tasks, units_of

        self._batches = run.batches
        self._batch = {task: place for place, batch in enumerate(run.batches) for task in batch}
        self._left = [len(batch) * run.trials * len(run.arms) for batch in run.batches]
        self._counts = {(arm, task): [0, 0, 0] for arm in run.arms for task in held_out_tasks(run)}
        self._units = units_of(run)
        self._baseline = run.baseline or run.arms[0]
        self._open = [arm for arm in run.arms if arm != self._baseline]
        self._level = 1 - (1 - run.level) / len(self._open)
        self._current = 0
        self._advanced = asyncio.Event()
        self._over = False

    @property
    def decided(self) -> bool:
        """Whether every candidate is decided."""
        return not self._open

    def see(self, record: TrialRecord) -> None:
        """Count one record; after the last one of a batch, look."""
        if record.status is Status.NOT_NEEDED:  # of a run that is resumed: it was decided then
            self._open = []
            return
        row = self._counts.get((record.arm, record.task))
        if row is not None and record.counts:
            row[2 if record.passed is None else 0] += 1
            row[1] += record.passed is True
        self._left[self._batch[record.task]] -= 1
        while self._current < len(self._left) and self._left[self._current] <= 0:
            self._current += 1
            self._open = [arm for arm in self._open if not self._shown(arm)]
            self._wake()

    async def ready(self, planned: PlannedTrial) -> None:
        """Wait until the batch of a trial has its turn, or none has any more."""
        while self._batch[planned.task.id] > self._current and not self.decided and not self._over:
            await self._advanced.wait()

    def give_up(self) -> None:
        """The run ends early: nothing waits for a look any more."""
        self._over = True
        self._wake()

    def _wake(self) -> None:
        self._advanced.set()
        self._advanced = asyncio.Event()

    def _shown(self, arm: str) -> bool:
        from passhat.summary import ArmCounts, arm_look

        rows = {
            task: ArmCounts(*_row(self._counts[self._baseline, task]), *_row(counts))
            for (name, task), counts in self._counts.items()
            if name == arm
        }
        found = arm_look(rows, self._batches, self._current, self._units, level=self._level)
        return found is not None and found.decided


def _row(counts: Sequence[int]) -> tuple[int, int, int]:
    n, c, missing = counts
    return n, c, missing
