"""Boschloo's exact test of two binomial rates: Fisher's p value as the statistic, maximised over the rate."""

from __future__ import annotations

import functools
import math
from typing import SupportsIndex

from passhat.stats import _checks

_TIES = 1 + 1e-12  # equal Fisher p values may differ in the last bits


@functools.lru_cache(maxsize=256)
def _fisher_less(n1: int, n2: int) -> list[list[float]]:
    """P(X <= x) for every table: [x][y], X hypergeometric given x + y passes in all."""
    table = [[1.0] * (n2 + 1) for _ in range(n1 + 1)]
    for m in range(n1 + n2 + 1):
        ways, whole = 0, math.comb(n1 + n2, m)
        for x in range(max(0, m - n2), min(n1, m) + 1):
            ways += math.comb(n1, x) * math.comb(n2, m - x)
            table[x][m - x] = ways / whole
    return table


@functools.lru_cache(maxsize=65536)
def _less(n1: int, c1: int, n2: int, c2: int) -> float:
    """The one-sided p value against "the first rate is lower"."""
    import numpy as np

    table = _fisher_less(n1, n2)
    limit = table[c1][c2] * _TIES
    ways = [0] * (n1 + n2 + 1)  # tables at least as extreme, by their number of passes
    choose = [math.comb(n2, y) for y in range(n2 + 1)]
    for x, row in enumerate(table):
        rows = math.comb(n1, x)
        for y, p in enumerate(row):
            if p <= limit:
                ways[x + y] += rows * choose[y]
    if ways[0]:  # the table without any pass is never evidence: p is 1 there
        return 1.0
    passes = np.array([s for s, w in enumerate(ways) if w])
    logs = np.array([math.log(ways[s]) for s in passes])

    def largest(low: float, high: float) -> tuple[float, float]:
        angle = np.linspace(low, high, 1001)[1:-1]
        rate = np.sin(angle)[:, None] ** 2
        p = np.exp(logs + passes * np.log(rate) + (n1 + n2 - passes) * np.log1p(-rate)).sum(axis=1)
        best = int(p.argmax())
        return float(p[best]), float(angle[best])

    best, at = largest(0.0, math.pi / 2)
    step = math.pi / 2000
    closer, _ = largest(max(0.0, at - step), min(math.pi / 2, at + step))
    return min(1.0, max(best, closer))


def boschloo(n_before: SupportsIndex, c_before: SupportsIndex, n_after: SupportsIndex, c_after: SupportsIndex) -> float:
    """Two-sided p value of Boschloo's exact test: did one task's pass rate change?

    Twice the smaller one-sided p value, at most 1. Exact for any true rate, and always more powerful
    than Fisher's test. Results are cached by the four counts.
    Raises ValueError for what is not a count. Source: Boschloo 1970.

    >>> round(boschloo(5, 5, 5, 0), 3)
    0.002
    """
    n1, c1 = _checks.one_task(n_before, c_before)
    n2, c2 = _checks.one_task(n_after, c_after)
    lower = _less(n1, c1, n2, c2)
    higher = _less(n1, n1 - c1, n2, n2 - c2)
    return min(1.0, 2 * min(lower, higher))


def attainable(n1: int, n2: int, passes: int) -> float:
    """The smallest two-sided Fisher p value that any table with so many passes in all can have."""
    ways = [math.comb(n1, x) * math.comb(n2, passes - x) for x in range(max(0, passes - n2), min(n1, passes) + 1)]
    rarest = min(ways)
    return ways.count(rarest) * rarest / sum(ways)
