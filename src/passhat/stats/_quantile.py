"""A quantile of amounts that have no upper end, such as seconds and dollars, without assuming how they are spread."""

from __future__ import annotations

import math
from collections.abc import Callable

from passhat.stats import _checks
from passhat.stats._interval import Interval
from passhat.stats._types import Scores, Side


def quantile_interval(values: Scores, q: float, *, level: float = 0.95, side: Side = "both") -> Interval:
    """The ``q`` quantile of what trials take, between two of the values seen: distribution-free.

    The number of values at or below the quantile is binomial, so an order statistic bounds it. An end that so few
    values can't have is infinite: an upper bound of the .95 quantile at one-sided 5 % needs 59
    (``smallest_all_pass(q, level)``). An unknown value may be given as ``math.inf`` or ``-math.inf``: it is then at
    one end. For trials of several tasks the bounds are conservative about these tasks (Hoeffding 1956).

    Raises ValueError for no values, NaN, and q or level outside 0..1.
    Source: order statistics, as in David & Nagaraja 2003, section 7.1.

    >>> quantile_interval(range(1, 101), 0.95, side="upper").high
    99.0
    >>> quantile_interval(range(58), 0.95, side="upper").high
    inf
    """
    from scipy.special import bdtr

    share, error = _checks.share(q, "q"), 1 - _checks.level_of(level)
    ordered = sorted(float(value) for value in values)
    if not ordered or any(math.isnan(value) for value in ordered):
        raise ValueError("values must be one number or more, none of them NaN")
    n = len(ordered)
    error = error / 2 if side == "both" else error
    low, high = -math.inf, math.inf
    if side != "upper":  # the largest rank s with P(B <= s - 1) <= error, for B the number at or below the quantile
        rank = _first(n, lambda s: bool(bdtr(s - 1, n, share) > error + 1e-12)) - 1
        low = ordered[rank - 1] if rank >= 1 else low
    if side != "lower":  # the smallest rank r with P(B <= r - 1) >= 1 - error
        rank = _first(n, lambda r: bool(bdtr(r - 1, n, share) >= 1 - error - 1e-12))
        high = ordered[rank - 1] if rank <= n else high
    return Interval(low, high, method="order statistics", level=level, side=side)


def _first(n: int, holds: Callable[[int], bool]) -> int:
    """The first rank in 1..n for which a condition holds that stays true once it is; n + 1 when none does."""
    low, high = 1, n + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
