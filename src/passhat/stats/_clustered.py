"""Standard errors for export and comparison with other tools; no interval of ours rests on them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import SupportsIndex

from passhat.stats import _checks
from passhat.stats._estimators import task_scores
from passhat.stats._types import Counts, Rate, Scores


@dataclass(frozen=True, slots=True)
class StandardError:
    """A mean with its standard errors, all in the unit of the values.

    ``naive`` treats all values as independent; ``clustered`` (CR0) adds what values of one cluster
    share; ``corrected`` (CR1) multiplies it by sqrt(clusters / (clusters - 1)), None for one cluster.
    """

    mean: float
    naive: float
    clustered: float
    corrected: float | None
    n: int
    clusters: int

    @property
    def sample(self) -> float | None:
        """sqrt(sample variance / n) with n - 1 in the variance: naive too; None for one value."""
        return self.naive * math.sqrt(self.n / (self.n - 1)) if self.n > 1 else None


def clustered_se(values: Scores, clusters: Sequence[Hashable]) -> StandardError:
    """The mean of all values (every value weighs the same) and its standard error clustered.

    SE² = sum over clusters of (sum of residuals)² / n²: smaller or larger than the naive one. Values
    in 0..1, one a trial; ``clusters`` names the task (or family) of each. ``corrected`` is what
    statsmodels' cluster option reports for a mean with unit df scaling, clusters / (clusters - 1).

    Raises ValueError for unequal lengths, no values, or values outside 0..1.
    Source: Liang & Zeger 1986; Miller 2024 (arXiv 2411.00640), section 2.2.

    >>> found = clustered_se([1, 1, 0, 1, 0, 0], ["a", "a", "b", "b", "c", "c"])
    >>> found.mean, round(found.clustered, 4)
    (0.5, 0.2357)
    """
    numbers = _checks.scores(values, name="values")
    if len(clusters) != len(numbers):
        raise ValueError(f"clusters must name one cluster a value, got {len(clusters)} for {len(numbers)} values")
    n, mean = len(numbers), math.fsum(numbers) / len(numbers)
    residuals: dict[Hashable, list[float]] = {}
    for cluster, number in zip(clusters, numbers, strict=True):
        residuals.setdefault(cluster, []).append(number - mean)
    squares = math.fsum(r * r for each in residuals.values() for r in each)
    between = math.fsum(math.fsum(each) ** 2 for each in residuals.values())
    clustered = math.sqrt(between) / n
    count = len(residuals)
    return StandardError(
        mean=mean,
        naive=math.sqrt(squares) / n,
        clustered=clustered,
        corrected=clustered * math.sqrt(count / (count - 1)) if count > 1 else None,
        n=n,
        clusters=count,
    )


def task_se(n: SupportsIndex | Counts, c: Counts, *, k: SupportsIndex = 1, rate: Rate = "pass^k") -> float | None:
    """The standard error of a suite's rate over its tasks: their scores' deviation over sqrt(T).

    None with one task. It is 0 where all tasks scored the same, which is why no interval of this
    package is built on it. Raises ValueError as ``suite_rate`` does.

    >>> round(task_se(5, [5, 5, 4, 0, 3, 5, 2, 5, 1, 5]), 6)
    0.120185
    """
    scores = task_scores(n, c, k=k, rate=rate)
    if len(scores) < 2:
        return None
    mean = math.fsum(scores) / len(scores)
    return math.sqrt(math.fsum((x - mean) ** 2 for x in scores) / (len(scores) - 1) / len(scores))
