"""Which trials a run consists of, and in which order they start."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import msgspec

from passhat.facts import Manifest, PasshatError, Task, derive_seed
from passhat.trial import ServiceAddress

Order = Literal["task", "round", "shuffled"]


class PlannedTrial(msgspec.Struct, frozen=True):
    """One trial to run. ``trial`` counts from 0 within its task, ``position`` from 0 within the run.

    ``seed`` depends on (run seed, task id, trial) only: no order and no concurrency changes it, and two arms of a
    comparison share it.
    """

    task: Task
    trial: int
    arm: str
    seed: int
    position: int
    services: tuple[ServiceAddress, ...] = ()  # where they are while it runs

    @property
    def key(self) -> tuple[str, str, int]:
        """What identifies the trial in a run: (arm, task id, trial)."""
        return (self.arm, self.task.id, self.trial)


@dataclass(frozen=True)
class Layout:
    """How the trials of a run are laid out: so many of each task, for each arm, in this order, until the end of it."""

    arms: tuple[str, ...]
    trials: int
    seed: int
    order: Order = "round"
    stop: Literal["full", "when-decided"] = "full"

    @classmethod
    def of(cls, manifest: Manifest, arms: Iterable[str]) -> Layout:
        """That of a run that has begun, for a resume."""
        return cls(tuple(arms), manifest.trials, manifest.seed, manifest.order, manifest.stop)


def plan(
    tasks: Sequence[Task],
    trials: int,
    *,
    order: Order = "round",
    seed: int = 0,
    arms: Sequence[str] = ("",),
    batches: Sequence[Collection[str]] = (),
) -> list[PlannedTrial]:
    """All trials of a run in the order in which they are to start.

    ``order="task"`` runs all trials of a task before the next task. "round" runs trial 0 of every task, then trial 1
    of every task, so that a drift of the provider meets all tasks alike. "shuffled" is a seeded shuffle. In the first
    two the arms of a comparison stand side by side, in an order drawn anew for each task and trial: neither is always
    first. ``batches`` of task ids run one whole batch after the other, each in the given order.

    >>> tasks = [Task("a"), Task("b")]
    >>> [(p.task.id, p.trial) for p in plan(tasks, 2, order="task")]
    [('a', 0), ('a', 1), ('b', 0), ('b', 1)]
    >>> [(p.task.id, p.trial) for p in plan(tasks, 2)]
    [('a', 0), ('b', 0), ('a', 1), ('b', 1)]
    """
    if order not in get_args(Order):
        raise PasshatError(f"order={order!r}: must be 'task', 'round' or 'shuffled'")
    if order == "task":
        pairs = [(task, trial) for task in tasks for trial in range(trials)]
    else:
        pairs = [(task, trial) for trial in range(trials) for task in tasks]
    triples = [(task, trial, arm) for task, trial in pairs for arm in _drawn(arms, seed, task, trial)]
    if order == "shuffled":
        random.Random(derive_seed(seed, "order")).shuffle(triples)
    if batches:
        place = {task: batch for batch, ids in enumerate(batches) for task in ids}
        triples.sort(key=lambda triple: place[triple[0].id])  # stable: the order within a batch stays
    return [
        PlannedTrial(task, trial, arm, derive_seed(seed, task.id, trial), position)
        for position, (task, trial, arm) in enumerate(triples)
    ]


def _drawn(arms: Sequence[str], seed: int, task: Task, trial: int) -> Sequence[str]:
    """The arms of one task and trial, in a random order that depends on nothing else."""
    if len(arms) < 2:
        return arms
    return random.Random(derive_seed(seed, "arms", task.id, trial)).sample(arms, len(arms))
