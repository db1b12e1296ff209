"""An interval for a ratio of sums over tasks, such as a class's precision."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from typing import Any

from passhat.facts import MetricValue
from passhat.metrics._gather import Gathered, few_units

DRAWS = 8000
SEED = 20240229


def ratio_value(name: str, gathered: Gathered, level: float) -> MetricValue:
    """The ratio of two sums over all trials, each trial having given (numerator, denominator).

    The interval about tasks like these draws Dirichlet weights over whole tasks (families), and one more task that
    wasn't seen, at the end concerned and as heavy as the heaviest that was: it never has width 0. The seed is fixed, so
    that the same trials always give the same interval.
    """
    from passhat.stats import MIN_TASKS_POPULATION

    sums: dict[Hashable, list[float]] = {}
    tasks: set[str] = set()
    trials = 0
    for task, unit, (top, bottom) in gathered.observed:
        if bottom:
            tasks.add(task)
            trials += 1
        both = sums.setdefault(unit, [0.0, 0.0])
        both[0] += top
        both[1] += bottom
    pairs = [(top, bottom) for top, bottom in sums.values() if bottom]
    counts: dict[str, Any] = {"tasks": len(tasks), "trials": trials, "missing": gathered.missing}
    if not pairs:
        return MetricValue(name, None, level=level, note="there is no such case", **counts)
    value = math.fsum(top for top, _ in pairs) / math.fsum(bottom for _, bottom in pairs)
    if len(pairs) < MIN_TASKS_POPULATION:
        note = few_units(len(pairs), MIN_TASKS_POPULATION)
        return MetricValue(name, value, level=level, note=note, **counts)
    return MetricValue(name, value, None, resampled(pairs, value, level), level, **counts)


def resampled(pairs: Iterable[tuple[float, float]], value: float, level: float) -> tuple[float, float]:
    """The interval by resampling; contains the estimate and stays in 0..1."""
    import numpy as np

    tops, bottoms = np.array(list(pairs), dtype=float).T
    unseen = bottoms.max()
    weights = np.random.default_rng(SEED).exponential(size=(DRAWS, len(tops) + 1))
    below = weights[:, :-1] @ tops
    whole = weights[:, :-1] @ bottoms + weights[:, -1] * unseen
    error = (1 - level) / 2
    low = float(np.quantile(below / whole, error))
    high = float(np.quantile((below + weights[:, -1] * unseen) / whole, 1 - error))
    return max(0.0, min(low, value)), min(1.0, max(high, value))
