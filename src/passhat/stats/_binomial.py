"""Intervals for one binomial proportion: Wilson, Clopper–Pearson, and the beta posterior."""

from __future__ import annotations

import math
from typing import SupportsIndex

from passhat.stats import _checks
from passhat.stats._interval import Interval
from passhat.stats._types import Side


def normal_tail(z: float) -> float:
    """P(Z > z) of a standard normal Z."""
    return math.erfc(z / math.sqrt(2)) / 2


def normal_quantile(share: float) -> float:
    """The standard normal quantile, without scipy."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(share)


def wilson(c: SupportsIndex, n: SupportsIndex, *, level: float = 0.95, side: Side = "both") -> Interval:
    """Wilson's score interval for c passes in n independent trials: what to show beside one task's rate.

    The ends are within 0..1, exactly 0 at c = 0 and exactly 1 at c = n, and never meet. Average
    coverage is close to ``level``; the worst is .83 at n = 3–5 trials, so let a decision hang on
    ``clopper_pearson`` instead. For a suite of several tasks use ``interval``.

    Raises ValueError for c > n, n < 1, and what is not a count. Source: Wilson 1927.

    >>> low, high = wilson(24, 30)
    >>> round(low, 6), round(high, 6)
    (0.626943, 0.904949)
    """
    trials, passes = _checks.one_task(n, c)
    below, above = _checks.tails(level, side)
    low = 0.0 if below is None else _wilson_low(passes, trials, below)
    high = 1.0 if above is None else 1.0 - _wilson_low(trials - passes, trials, above)
    return Interval(low, high, method="Wilson", level=float(level), side=side)


def _wilson_low(c: int, n: int, error: float) -> float:
    if c == 0:
        return 0.0
    z = normal_quantile(1 - error)
    middle = c + z * z / 2
    half = z * math.sqrt(c * (n - c) / n + z * z / 4)
    return min(max(0.0, (middle - half) / (n + z * z)), c / n)


def clopper_pearson_low(c: float, n: float, error: float) -> float:
    """The lower Clopper–Pearson bound for a count that need not be whole."""
    from scipy.special import betaincinv

    if c <= 1e-9:
        return 0.0
    if c >= n - 1e-9:
        return float(error ** (1 / n))
    return min(float(betaincinv(c, n - c + 1, error)), c / n)


def clopper_pearson(c: float, n: float, *, level: float = 0.95, side: Side = "both") -> Interval:
    """The Clopper–Pearson ("exact") interval for c passes in n independent trials, in its beta form.

    Coverage is at least ``level`` for every true rate. ``c`` and ``n`` need not be whole: a mean rate
    times an effective number of trials will do. The ends are within 0..1, 0 at c = 0 and 1 at c = n.

    Raises ValueError unless n > 0 and 0 <= c <= n. Source: Clopper & Pearson 1934.

    >>> low, high = clopper_pearson(10, 10)
    >>> round(low, 6), high
    (0.691503, 1.0)
    >>> clopper_pearson(0, 14, side="upper").high < 0.2
    True
    """
    trials, passes = _checks.positive(n, "n"), _checks.not_negative(c, "c")
    if passes > trials:
        raise ValueError(f"c must be at most n, got c={c!r} of n={n!r}")
    below, above = _checks.tails(level, side)
    low = 0.0 if below is None else clopper_pearson_low(passes, trials, below)
    high = 1.0 if above is None else 1.0 - clopper_pearson_low(trials - passes, trials, above)
    return Interval(low, high, method="Clopper–Pearson", level=float(level), side=side)


def beta_posterior(
    c: SupportsIndex, n: SupportsIndex, *, prior: float = 0.5, level: float = 0.95, side: Side = "both"
) -> Interval:
    """The equal-tailed posterior interval of one rate under a Beta(prior, prior) prior.

    ``prior`` 0.5 is Jeffreys', 1 the uniform one. The ends are moved to 0 at c = 0 and to 1 at c = n.
    Only for one task or one item stream: averaging such posteriors over tasks pulls every task
    towards ½ and loses its coverage.

    Raises ValueError for what is not a count, and prior <= 0.

    >>> low, high = beta_posterior(7, 10)
    >>> round(low, 6), round(high, 6)
    (0.394182, 0.907305)
    """
    from scipy.special import betaincinv

    trials, passes = _checks.one_task(n, c)
    weight = _checks.positive(prior, "prior")
    below, above = _checks.tails(level, side)
    a, b = passes + weight, trials - passes + weight
    low = 0.0 if below is None or passes == 0 else min(float(betaincinv(a, b, below)), passes / trials)
    high = 1.0 if above is None or passes == trials else max(float(1 - betaincinv(b, a, above)), passes / trials)
    return Interval(low, high, method=f"Beta({weight:g}, {weight:g}) posterior", level=float(level), side=side)
