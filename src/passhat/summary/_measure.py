"""What can be said of a set of tasks: an estimate, and an interval about either target.

Two kinds of thing are measured: a rate from counts (pass@k, pass^k, a grader's rate) and a mean score. Both answer the
same three questions, so that tables and gates need not know which one they hold.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from passhat.stats import Interval, Side, Target, family_means, interval, mean_interval, suite_rate, task_scores
from passhat.stats import Rate as RateWord

MIN_UNITS = 5
"""Below so many independent tasks an interval about tasks like these is wider than .6, and isn't given."""


class Measured(Protocol):
    """An estimate in 0..1 and its intervals."""

    @property
    def estimate(self) -> float | None:
        """The mean over tasks; None when there is no unbiased estimate."""
        ...

    @property
    def units(self) -> int:
        """How many independent units the tasks make: families count as one."""
        ...

    @property
    def ns(self) -> Sequence[int]:
        """The trials of each task."""
        ...

    def interval(self, of: Target, level: float, side: Side = "both") -> Interval:
        """The interval about a target."""
        ...

    def at_trials(self, trials: int) -> Measured:
        """The same with so many trials of each task that passed as often, as nearly as whole counts allow."""
        ...

    def at_tasks(self, times: int) -> Measured:
        """The same with each task so many times over, each time as an independent one."""
        ...


@dataclass(frozen=True)
class PassRate:
    """pass@k or pass^k of tasks with ``ns`` trials and ``cs`` passes; ``keys`` names each task's independent unit.

    ``dependent``: the trials of a task depend on each other, so that each task is one observation.
    """

    ns: Sequence[int]
    cs: Sequence[int]
    keys: Sequence[Hashable]
    k: int = 1
    rate: RateWord = "pass^k"
    dependent: bool = False

    @property
    def estimate(self) -> float | None:
        """The mean of the tasks' unbiased scores, None when a task has fewer than k trials."""
        return None if self.k > min(self.ns) else suite_rate(self.ns, self.cs, k=self.k, rate=self.rate)

    @property
    def units(self) -> int:
        """The number of different keys."""
        return len(set(self.keys))

    def interval(self, of: Target, level: float, side: Side = "both") -> Interval:
        """Beyond the trials there are these are bounds; `passhat.stats.Refused` far beyond them."""
        if self.dependent:
            of = "tasks like these"
        grouped = self.units < len(self.keys)
        if of == "tasks like these" and grouped and self.k <= min(self.ns):
            scores = task_scores(self.ns, self.cs, k=self.k, rate=self.rate)
            return mean_interval(family_means(scores, self.keys), level, side=side)
        return interval(self.ns, self.cs, k=self.k, rate=self.rate, of=of, level=level, side=side)

    def at_trials(self, trials: int) -> PassRate:
        """With so many trials of each task."""
        cs = [round(c / n * trials) for n, c in zip(self.ns, self.cs, strict=True)]
        return replace(self, ns=[trials] * len(cs), cs=cs)

    def at_tasks(self, times: int) -> PassRate:
        """With each task so many times."""
        return replace(self, ns=[*self.ns] * times, cs=[*self.cs] * times, keys=_apart(self.keys, times))


@dataclass(frozen=True)
class MeanScore:
    """The mean over tasks of their mean ``scores``, each from ``ns`` trials; ``dependent`` as in `PassRate`."""

    scores: Sequence[float]
    ns: Sequence[int]
    keys: Sequence[Hashable]
    dependent: bool = False

    @property
    def estimate(self) -> float:
        """The mean over tasks."""
        return sum(self.scores) / len(self.scores)

    @property
    def units(self) -> int:
        """The number of different keys."""
        return len(set(self.keys))

    def interval(self, of: Target, level: float, side: Side = "both") -> Interval:
        """The interval about a target."""
        if of == "these tasks" and not self.dependent:
            return mean_interval(self.scores, level, of=of, n=self.ns, side=side)
        return mean_interval(family_means(self.scores, self.keys), level, side=side)

    def at_trials(self, trials: int) -> MeanScore:
        """With so many trials of each task."""
        return replace(self, ns=[trials] * len(self.scores))

    def at_tasks(self, times: int) -> MeanScore:
        """With each task so many times."""
        scores, ns = [*self.scores] * times, [*self.ns] * times
        return replace(self, scores=scores, ns=ns, keys=_apart(self.keys, times))


def _apart(keys: Sequence[Hashable], times: int) -> list[Hashable]:
    return [(key, copy) for copy in range(times) for key in keys]


def unit_keys(
    tasks: Iterable[tuple[str, str | None]], duplicates: Iterable[Sequence[str]]
) -> dict[str, tuple[str, str]]:
    """The independent unit of each (task, family): its family, else itself; tasks that ask the same thing are one.

    >>> keys = unit_keys([("a", None), ("b", None), ("c", "shop"), ("d", "shop")], [["a", "b"]])
    >>> len(set(keys.values()))
    2
    """
    keys = {task: ("family", family) if family else ("task", task) for task, family in tasks}
    for group in duplicates:
        same = {keys[task] for task in group if task in keys}
        if len(same) > 1:
            first = min(same)
            keys.update({task: first for task, key in keys.items() if key in same})
    return keys
