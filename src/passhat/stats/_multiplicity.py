"""Adjust p values for having looked at many."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from passhat.stats import _checks
from passhat.stats._types import Scores

Adjustment: TypeAlias = Literal["bh", "by", "holm", "bonferroni"]


def adjust_p(p: Scores, method: Adjustment = "bh") -> list[float]:
    """Adjusted p values in the order given; claim those at or below the error rate.

    "bh" (Benjamini–Hochberg 1995) bounds the share of false claims among all claims, "by"
    (Benjamini–Yekutieli 2001) does so under any dependence; "holm" and "bonferroni" bound the
    chance of even one false claim. An empty list stays empty.

    Raises ValueError for p outside 0..1 and an unknown method.

    >>> adjust_p([0.01, 0.04, 0.03, 0.5])
    [0.04, 0.05333333333333334, 0.05333333333333334, 0.5]
    """
    if method not in get_args(Adjustment):
        raise ValueError(f"method must be one of {', '.join(map(repr, get_args(Adjustment)))}, got {method!r}")
    if len(p) == 0:
        return []
    values = _checks.scores(p, name="p")
    count = len(values)
    if method == "bonferroni":
        return [min(1.0, each * count) for each in values]
    order = sorted(range(count), key=values.__getitem__)
    adjusted = [1.0] * count
    if method == "holm":
        reached = 0.0
        for rank, i in enumerate(order):
            reached = max(reached, min(1.0, values[i] * (count - rank)))
            adjusted[i] = reached
        return adjusted
    extra = sum(1 / i for i in range(1, count + 1)) if method == "by" else 1.0
    reached = 1.0
    for rank, i in reversed(list(enumerate(order, start=1))):
        reached = min(reached, values[i] * count * extra / rank)
        adjusted[i] = reached
    return adjusted
