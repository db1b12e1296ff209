"""Random draws whose probabilities are known."""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")
S = TypeVar("S", bound=Hashable)


def spread(strata: Mapping[S, Sequence[T]], n: int, rng: random.Random) -> list[T]:
    """``n`` units, each with the same probability n/N, spread over the strata in proportion to their sizes.

    Systematic sampling with a random start from strata in random order, each shuffled within: the number from a stratum
    is its fair share rounded up or down. Source: Cochran, Sampling Techniques (1977), chapter 8.

    >>> drawn = spread({"a": [1, 2, 3, 4], "b": [5, 6, 7, 8]}, 4, random.Random(1))
    >>> len([unit for unit in drawn if unit <= 4]), len(drawn)
    (2, 4)
    """
    order = list(strata)
    rng.shuffle(order)
    row: list[T] = []
    for stratum in order:
        row += rng.sample(list(strata[stratum]), len(strata[stratum]))
    if n >= len(row):
        return row
    if n < 1:
        return []
    step = len(row) / n
    start = rng.random() * step
    return [row[min(int(start + place * step), len(row) - 1)] for place in range(n)]


def even_shares(sizes: Mapping[S, int], n: int, rng: random.Random) -> dict[S, int]:
    """How many to take from each stratum so that all get the same, as far as they have it; ties by lot.

    >>> even_shares({"a": 2, "b": 50, "c": 50}, 20, random.Random(0))["a"]
    2
    """
    shares: dict[S, int] = dict.fromkeys(sizes, 0)
    left = min(n, sum(sizes.values()))
    while left:
        open_ones = [name for name in sizes if shares[name] < sizes[name]]
        each = left // len(open_ones)
        if each:
            for name in open_ones:
                taken = min(each, sizes[name] - shares[name])
                shares[name] += taken
                left -= taken
        else:
            for name in rng.sample(open_ones, left):
                shares[name] += 1
            left = 0
    return shares
