"""What n trials say about k > n: bounds that hold whatever the law of the tasks' rates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import SupportsIndex, TypeAlias

from passhat.stats import _checks
from passhat.stats._estimators import exact_mean
from passhat.stats._types import Counts, Rate

MAX_STRETCH = 3
"""k may be at most this many times the trials of a task."""

Stretch: TypeAlias = Callable[[float, float], tuple[float, float]]


def order_and_stretch(n: int, k: int, rate: Rate) -> tuple[int, Stretch | None]:
    """The order to estimate with n trials, and how its ends become ends for k (None where k <= n).

    pass^n^(k/n) <= pass^k <= pass^n, and pass@n <= pass@k <= 1 - (1 - pass@n)^(k/n), by Jensen's
    inequality over tasks. Raises ``Refused`` for k > 3n, where the bounds say nothing.
    """
    if k <= n:
        return k, None
    if k > MAX_STRETCH * n:
        name = rate.replace("k", str(k))
        raise _checks.Refused(
            f"{name} cannot be bounded usefully from n={n} trials a task: k={k} is more than {MAX_STRETCH} times n; "
            f"run at least {-(-k // MAX_STRETCH)} trials a task for bounds, {k} for an estimate"
        )
    power = k / n
    if rate == "pass^k":
        return n, lambda low, high: (low**power, high)
    return n, lambda low, high: (low, 1 - (1 - high) ** power)


def bounds_beyond(
    n: SupportsIndex | Counts, c: Counts, k: SupportsIndex, *, rate: Rate = "pass^k"
) -> tuple[float, float]:
    """Between which values pass^k (pass@k) lies for k > n, taking the order-n rate at its estimate.

    For k at most the smallest n both ends are the estimate. These are bounds on a point, free of
    assumptions about the tasks; the interval that adds sampling error is ``interval`` with the same
    k. Rates in 0..1. With unequal n the order is the smallest n.

    Raises ValueError for what is not a count, ``Refused`` for k > 3n. Source: Jensen's inequality.

    >>> low, high = bounds_beyond(5, [5, 5, 4, 0, 3, 5, 2, 5, 1, 5], 8)
    >>> round(low, 6), high
    (0.329877, 0.5)
    """
    ns, cs = _checks.counts(n, c)
    size = _checks.whole(k, "k", at_least=1)
    order, stretch = order_and_stretch(min(ns), size, _checks.rate_word(rate))
    estimate = float(exact_mean(Counter(zip(ns, cs, strict=True)), order, rate))
    return (estimate, estimate) if stretch is None else stretch(estimate, estimate)
