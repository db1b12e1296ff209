"""The law of the paired tests where it is normal: no grid, so that a million tasks cost no more time than a hundred."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_SPREAD = 20.0
_SKEW = 0.04
_FLIPPED = 300
"""The sums are taken as normal where, with no change, their standard deviation is at least ``_SPREAD`` passes and a
side's skewness at most ``_SKEW``; for the sign-flip test also from so many tasks on. Power is then off by half a point
at most, against the convolution (12 to 3,900 tasks, rates of .5 to .995)."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Of one task's D, passes after minus before, and W, what it adds to the test's variance."""

    d: float
    w: float
    dd: float
    ww: float
    dw: float

    @classmethod
    def of(cls, before: Floats, after: Floats, *, these: bool) -> Moments:
        """From the laws of the passes before and after, each over 0..n; the sides are independent.

        W is P(2n - P) of the P passes of both sides for CMH, and the squared difference for the sign-flip test.
        """
        n = len(before) - 1
        b, a = _powers(before), _powers(after)
        sums = [sum(math.comb(k, i) * b[i] * a[k - i] for i in range(k + 1)) for k in range(5)]
        gaps = [sum(math.comb(k, i) * (-1) ** i * b[i] * a[k - i] for i in range(k + 1)) for k in range(5)]
        if not these:
            return cls(gaps[1], gaps[2], gaps[2], gaps[4], gaps[3])
        cubes = a[3] + a[2] * b[1] - a[1] * b[2] - b[3]  # (a - b)(a + b)²
        squares = 4 * n * n * sums[2] - 4 * n * sums[3] + sums[4]
        return cls(gaps[1], 2 * n * sums[1] - sums[2], gaps[2], squares, 2 * n * (a[2] - b[2]) - cubes)

    @classmethod
    def mixed(cls, moments: Sequence[Moments], shares: Sequence[float]) -> Moments:
        """Of a task drawn from kinds with these shares."""
        pairs = list(zip(moments, shares, strict=True))
        names = ("d", "w", "dd", "ww", "dw")
        return cls(*(sum(getattr(each, name) * share for each, share in pairs) for name in names))


def _powers(law: Floats) -> list[float]:
    """The means of 1, c, c², c³, c⁴."""
    import numpy as np

    c = np.arange(len(law), dtype=float)
    return [float(law @ c**k) for k in range(5)]


def is_normal(sides: Sequence[tuple[Floats, float]], tasks: int, *, these: bool) -> bool:
    """Whether the sums over so many tasks are as good as normal, told by what the tasks are before any change.

    ``sides`` are the laws of one side's passes with their shares. The change to be found plays no part: one law serves
    all changes, so that a larger one is never found less often because of another law.
    """
    if not these and tasks < _FLIPPED:
        return False
    variance = third = 0.0
    for law, share in sides:
        _, mean, square, cube, _ = _powers(law)
        variance += share * max(0.0, square - mean * mean)
        third += share * abs(cube - 3 * mean * square + 2 * mean**3)
    whole = 2 * tasks * variance
    return whole >= _SPREAD**2 and tasks * third <= _SKEW * whole**1.5


def normal_power(parts: Sequence[tuple[Moments, float]], n: int, z: float, *, these: bool, rising: bool) -> float:
    """The chance that D - 1 reaches z standard deviations of what no change would leave, to the side of the change.

    ``parts`` are independent: moments of a task, and how many tasks have them. D and the square root of the sum of
    weights are taken as jointly normal (the delta method); the 1 is the tests' continuity correction.
    """
    sign = 1 if rising else -1
    d = sum(count * each.d for each, count in parts) * sign
    w = sum(count * each.w for each, count in parts)
    if w <= 0:
        return 0.0
    var_d = sum(count * (each.dd - each.d**2) for each, count in parts)
    var_w = sum(count * (each.ww - each.w**2) for each, count in parts)
    both = sum(count * (each.dw - each.d * each.w) for each, count in parts) * sign
    c = z / math.sqrt(2 * n - 1) if these else z
    root = math.sqrt(w)
    mean = d - 1 - c * root + c * var_w / (8 * root**3)
    variance = var_d + c * c * var_w / (4 * w) - c * both / root
    if variance <= 1e-9 * max(1.0, w):
        return float(mean >= 0)
    return 0.5 * math.erfc(-mean / math.sqrt(2 * variance))
