"""The interval for "tasks like these": Dirichlet weights over tasks and one unseen task at the end."""

from __future__ import annotations

import math
from collections.abc import Mapping

from passhat.stats._dirichlet import quantile

METHOD = "Dirichlet over tasks with one unseen task at the end"


def dirichlet_low(scores: Mapping[float, float], unseen: Mapping[float, float], error: float) -> float:
    """The ``error`` quantile of sum D_j x_j, D ~ Dirichlet over the tasks and the unseen ones.

    ``scores`` maps a score to its number of tasks, ``unseen`` the values of pseudo-tasks to their
    weights: 0 with weight 1 for a lower bound of a rate. For 0/1 scores this is Clopper–Pearson's.
    """
    weights: dict[float, float] = dict(scores)
    for value, weight in unseen.items():
        weights[value] = weights.get(value, 0.0) + weight
    return quantile(weights, error)


def dirichlet_high(scores: Mapping[float, float], unseen: Mapping[float, float], error: float) -> float:
    """The 1 - ``error`` quantile, by mirroring, so that passes and failures are treated alike."""
    return -dirichlet_low({-v: w for v, w in scores.items()}, {-v: w for v, w in unseen.items()}, error)


def mean_of(scores: Mapping[float, float]) -> float:
    """The mean over tasks of scores counted by value."""
    return math.fsum(v * w for v, w in scores.items()) / math.fsum(scores.values())


def population_ends(scores: Mapping[float, float], below: float | None, above: float | None) -> tuple[float, float]:
    """Both ends for the mean of scores in 0..1, each tail with its own error; None means no bound."""
    estimate = mean_of(scores)
    low = 0.0 if below is None else min(dirichlet_low(scores, {0.0: 1.0}, below), estimate)
    high = 1.0 if above is None else max(dirichlet_high(scores, {1.0: 1.0}, above), estimate)
    return max(0.0, low), min(1.0, high)
