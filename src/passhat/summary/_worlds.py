"""The same run in three worlds: as counted, with every missing trial failed, and with every one passed."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from passhat.stats import Rate as RateWord
from passhat.summary._measure import MeanScore, Measured, PassRate
from passhat.summary._report import MissingPolicy
from passhat.summary._tables import Range
from passhat.summary._tally import TaskTally

World = Literal["counted", "all failed", "all passed"]
BOTH: tuple[World, World] = ("all failed", "all passed")


@dataclass(frozen=True)
class Headline:
    """The tasks that the headline is about, and what a missing trial among them counts as."""

    tasks: Sequence[TaskTally]
    policy: MissingPolicy
    keys: Mapping[str, Hashable]
    dependent: bool = False
    """Trials of a task depend on each other: each task is one observation then, whatever the interval is about."""

    @property
    def missing(self) -> int:
        """Planned trials without a verdict."""
        return sum(task.missing for task in self.tasks)

    @property
    def shown(self) -> World:
        """The world that the estimates are taken from."""
        return "all failed" if self.policy == "fail" else "counted"

    def pass_rate(self, k: int = 1, rate: RateWord = "pass^k", world: World | None = None) -> PassRate | None:
        """pass@k or pass^k in a world; None when no trial counts in it."""
        counts = [
            (n, task.c + (n - task.n if world == "all passed" else 0), self.keys[task.task])
            for task in self.tasks
            if (n := self.trials(task, world))
        ]
        return self._rate(counts, k, rate)

    def trials(self, task: TaskTally, world: World | None = None) -> int:
        """The n of a task in a world."""
        return task.n if (world or self.shown) == "counted" else task.planned

    def score(self, world: World | None = None) -> MeanScore | None:
        """Partial credit in a world; None when no grader gave a score."""
        if not any(task.scored for task in self.tasks):
            return None
        scores, ns, keys = [], [], []
        for task in self.tasks:
            known = task.scored + task.unscored_failures
            n = known if (world or self.shown) == "counted" else task.planned
            if n:
                scores.append(min(1.0, (task.score + (n - known if world == "all passed" else 0)) / n))
                ns.append(n)
                keys.append(self.keys[task.task])
        return MeanScore(scores, ns, keys, self.dependent) if scores else None

    def grader(self, name: str, world: World | None = None) -> PassRate | None:
        """How often one grader was satisfied; trials that it didn't judge are its missing ones."""
        counts = []
        for task in self.tasks:
            known = task.graders.get(name)
            n, c = (known.n, known.passed) if known else (0, 0)
            if (world or self.shown) != "counted":
                c += task.planned - n if world == "all passed" else 0
                n = task.planned
            if n:
                counts.append((n, c, self.keys[task.task]))
        return self._rate(counts, 1, "pass^k")

    def grader_missing(self, name: str) -> int:
        """Planned trials that a grader didn't judge."""
        return sum(task.planned - (task.graders[name].n if name in task.graders else 0) for task in self.tasks)

    def between(self, worlds: Sequence[Measured | None]) -> Range | None:
        """The estimates of two worlds, None when one has none."""
        low, high = (None if world is None else world.estimate for world in worlds)
        return None if low is None or high is None else (low, high)

    def _rate(self, counts: Sequence[tuple[int, int, Hashable]], k: int, rate: RateWord) -> PassRate | None:
        if not counts:
            return None
        ns, cs, keys = zip(*counts, strict=True)
        return PassRate(ns, cs, keys, k, rate, self.dependent)
