"""The interval for "these tasks": how many independent trials the suite's own trials are worth."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from passhat.stats._binomial import clopper_pearson_low
from passhat.stats._estimators import exact_mean, score_of
from passhat.stats._types import Rate

PSEUDO_TASKS = 4
"""Tasks of worst-case variance that are added before the variance rule is trusted."""


NEARLY_SOLVED = 1
"""The most failures of a task that is counted with the solved ones, when these are looked at by themselves."""
VARIANCE_RULE = "variance rule"


@dataclass(frozen=True, slots=True)
class Effective:
    """An effective number of trials, the rule it came from, and what to say about it."""

    trials: float
    rule: str
    note: str = ""


def bound_rule(n: int, tasks: int, k: int = 1) -> float:
    """n T / k independent trials: the variance of a mean of U-statistics is at most (k/n) θ (1-θ) / T.

    Source: Hoeffding 1948; for k = 1 it is the binomial with the mean rate (Hoeffding 1956).
    """
    return n * tasks / k


def effective_trials(groups: Counter[tuple[int, int]], k: int, rate: Rate, estimate: float) -> Effective:
    """n_eff for tasks counted by (n, c), with k <= every n."""
    ns = {n for n, _ in groups}
    n, tasks = min(ns), groups.total()
    least = bound_rule(n, tasks, k)
    if len(ns) > 1:
        note = f"tasks have {n} to {max(ns)} trials: counted as if every task had {n}, which is conservative"
        return Effective(least, "bound rule nT/k at the smallest n", note)
    if n < max(5, 2 * k):
        note = f"fewer than {max(5, 2 * k)} trials a task: the conservative rule nT/k is used"
        return Effective(least, "bound rule nT/k", note)
    if not 1e-12 < estimate < 1 - 1e-12:
        return Effective(least, "bound rule nT/k")
    worst = estimate * (1 - estimate)
    variance = max(math.fsum(_within(n, c, k, rate) * w for (_, c), w in groups.items()), 0.0)
    variance = (variance + PSEUDO_TASKS * worst * k / n) / (tasks * (tasks + PSEUDO_TASKS))
    return Effective(max(least, worst / variance), VARIANCE_RULE)


def _within(n: int, c: int, k: int, rate: Rate) -> float:
    """The unbiased estimate of one task's score variance: x² minus an unbiased θ²."""
    c = c if rate == "pass^k" else n - c
    return float(score_of(n, c, k, "pass^k") ** 2 - score_of(n, c, 2 * k, "pass^k"))


def these_tasks_ends(estimate: float, trials: float, below: float | None, above: float | None) -> tuple[float, float]:
    """Clopper–Pearson's ends at an effective number of trials; None means no bound on that side."""
    low = 0.0 if below is None else _low_at(estimate, trials, below)
    high = 1.0 if above is None else 1.0 - _low_at(1 - estimate, trials, above)
    return min(low, estimate), max(high, estimate)


def _low_at(estimate: float, trials: float, error: float) -> float:
    return clopper_pearson_low(estimate * trials, trials, error)


class TheseTasks:
    """The interval about the suite itself, from its tasks counted by (n, c), with k <= every n."""

    def __init__(self, groups: Counter[tuple[int, int]], k: int, rate: Rate) -> None:
        self._groups = groups
        self._k = k
        self._rate: Rate = rate
        self.estimate = float(exact_mean(groups, k, rate))
        self.worth = effective_trials(groups, k, rate, self.estimate)

    def ends(self, below: float | None, above: float | None) -> tuple[float, float]:
        """Both ends, each at its own error; None means no bound on that side."""
        low = 0.0 if below is None else self._low(below)
        high = 1.0 if above is None else 1.0 - self._mirrored._low(above)
        return min(low, self.estimate), max(high, self.estimate)

    @cached_property
    def _mirrored(self) -> TheseTasks:
        """Failures in place of passes: what a low end is there is a high end here."""
        groups = Counter({(n, n - c): tasks for (n, c), tasks in self._groups.items()})
        return TheseTasks(groups, self._k, "pass@k" if self._rate == "pass^k" else "pass^k")

    def _low(self, error: float) -> float:
        low = _low_at(self.estimate, self.worth.trials, error)
        if self.worth.rule != VARIANCE_RULE:
            return low
        n = next(iter(self._groups))[0]
        least = _low_at(self.estimate, bound_rule(n, self._groups.total(), self._k), error)
        return min([low, *(max(least, self._solved_low(n, most, error)) for most in range(NEARLY_SOLVED + 1))])

    def _solved_low(self, n: int, most: int, error: float) -> float:
        """What the trials of the tasks with at most so many failures prove by themselves, the others being known.

        Few failures give a variance that is itself hardly known, and is smallest just when they happen to be missing.
        """
        solved = {c: tasks for (_, c), tasks in self._groups.items() if n - c <= most}
        tasks = sum(solved.values())
        if not tasks:
            return 1.0
        passes = sum(c * many for c, many in solved.items())
        failing = 1.0 - clopper_pearson_low(passes, n * tasks, error)
        least = (1.0 - failing) ** self._k if self._rate == "pass^k" else 1.0 - failing**self._k
        others = math.fsum(
            float(score_of(n, c, self._k, self._rate)) * many for (_, c), many in self._groups.items() if n - c > most
        )
        return (others + tasks * least) / self._groups.total()
