"""The interval for "these tasks": how many independent trials the suite's own trials are worth."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from passhat.stats._binomial import clopper_pearson_low
from passhat.stats._estimators import score_of
from passhat.stats._types import Rate

PSEUDO_TASKS = 4
"""Tasks of worst-case variance that are added before the variance rule is trusted."""


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
    return Effective(max(least, worst / variance), "variance rule")


def _within(n: int, c: int, k: int, rate: Rate) -> float:
    """The unbiased estimate of one task's score variance: x² minus an unbiased θ²."""
    c = c if rate == "pass^k" else n - c
    return float(score_of(n, c, k, "pass^k") ** 2 - score_of(n, c, 2 * k, "pass^k"))


def these_tasks_ends(estimate: float, trials: float, below: float | None, above: float | None) -> tuple[float, float]:
    """Clopper–Pearson's ends at an effective number of trials; None means no bound on that side."""
    low = 0.0 if below is None else clopper_pearson_low(estimate * trials, trials, below)
    high = 1.0 if above is None else 1.0 - clopper_pearson_low((1 - estimate) * trials, trials, above)
    return min(low, estimate), max(high, estimate)
