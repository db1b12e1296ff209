"""Planned looks at two arms of one run: batch after batch of tasks, until the difference is shown."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from passhat.facts import Manifest
from passhat.stats import Look, family_means, paired_look
from passhat.summary._measure import unit_keys


class ArmCounts(NamedTuple):
    """One task in the baseline and in a candidate: trials with a verdict, passes, and trials without a verdict."""

    n1: int
    c1: int
    missing1: int
    n2: int
    c2: int
    missing2: int

    def counts(self, world: str = "counted") -> tuple[int, int, int, int]:
        """(trials, passed) in the baseline and the candidate: as counted, or at worst or best for the candidate."""
        if world == "counted":
            return self.n1, self.c1, self.n2, self.c2
        lost1, lost2 = (0, self.missing2) if world == "best" else (self.missing1, 0)
        return self.n1 + self.missing1, self.c1 + lost1, self.n2 + self.missing2, self.c2 + lost2

    def difference(self, world: str = "counted") -> float | None:
        """The candidate's rate minus the baseline's; None unless there is a verdict in both."""
        if not self.n1 or not self.n2:
            return None
        n1, c1, n2, c2 = self.counts(world)
        return c2 / n2 - c1 / n1


class ArmLook(NamedTuple):
    """A look as counted, at worst and at best for the candidate. ``tasks`` are in by then, of ``of`` planned."""

    counted: Look
    worst: Look
    best: Look
    tasks: int
    of: int

    @property
    def decided(self) -> bool:
        """Whether the difference is shown, whatever trials without a verdict had been."""
        return self.better or all(each.crossed and each.estimate < 0 for each in self[:3])

    @property
    def better(self) -> bool:
        """Whether it is shown that the candidate is better."""
        return all(each.crossed and each.estimate > 0 for each in self[:3])


def arm_look(
    rows: Mapping[str, ArmCounts],
    batches: Sequence[Sequence[str]],
    look: int,
    units: Mapping[str, Hashable],
    *,
    level: float,
    bounded: bool = True,
) -> ArmLook | None:
    """Look ``look`` (from 1) at the tasks of the first so many batches; None while no task has a verdict on both sides.

    ``units`` names the independent unit of each task. Unless ``bounded``, trials without a verdict are left out in
    all three worlds. What `passhat run` stops by and what `passhat compare` says are this one function.
    """
    tasks = [task for batch in batches[:look] for task in batch if task in rows]
    uncertain = bounded and any(rows[task].missing1 or rows[task].missing2 for task in tasks)
    looks = []
    for world in ("counted", "worst", "best") if uncertain else ("counted",):
        found = [(rows[task].difference(world), units[task]) for task in tasks]
        known = [(each, unit) for each, unit in found if each is not None]
        if not known:
            return None
        means = family_means([each for each, _ in known], [unit for _, unit in known])
        looks.append(paired_look(means, look, len(batches), level=level))
    counted, worst, best = looks if uncertain else looks * 3
    return ArmLook(counted, worst, best, len(tasks), sum(map(len, batches)))


def units_of(run: Manifest) -> dict[str, tuple[str, str]]:
    """The independent unit of each task of a run."""
    return unit_keys(((task, run.task_families.get(task)) for task in run.task_ids), run.duplicate_inputs)


def held_out_tasks(run: Manifest) -> tuple[str, ...]:
    """The tasks that a comparison is about: those of split *tune* are out, where there are others."""
    apart = tuple(task for task in run.task_ids if run.task_splits.get(task) != "tune")
    return apart or run.task_ids
