"""The sign-flip test of paired differences: exact where it can be, seeded Monte Carlo beyond."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from passhat.stats import _checks
from passhat.stats._test_result import TestResult
from passhat.stats._types import Scores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MIN_DIFFERENCES = 6
"""With fewer tasks that differ no sign-flip p value can reach .05: 2 / 2^5 is .0625."""

_LATTICE = 4_000_000  # longest table of sums
_WORK = 300_000_000  # additions in all
_HALVES = 36  # differences whose sign patterns are counted in two halves of 2^18
_DRAWS = 99_999


def sign_flip(differences: Scores, *, seed: int = 0) -> TestResult:
    """Is the mean paired difference of the population 0? Differences in -1..1, one a task.

    The p value is the share of the 2^T ways to flip signs whose sum is at least as far from 0 as the
    one seen. Exact by convolution where the differences share a denominator, or by counting up to 36
    that are not 0; beyond, 99,999 seeded draws and p = (b + 1) / (m + 1). With one trial a task it is
    exact McNemar. It assumes that without a change d is as likely as -d.

    ``note`` says so when too few tasks differ for any p to reach .05.
    Raises ValueError for no differences, and for any outside -1..1.

    >>> sign_flip([0.2, 0.4, 0.2, 0.6, 0.2, 0.4]).p
    0.03125
    """
    return sign_flip_exactly(
        [_fraction(each) for each in _checks.scores(differences, low=-1, name="differences")], seed
    )


def _fraction(value: float) -> Fraction:
    """The simple fraction that a float stands for, else the float itself."""
    simple = Fraction(value).limit_denominator(100_000)
    return simple if abs(float(simple) - value) < 1e-13 else Fraction(value)


def sign_flip_exactly(differences: Sequence[Fraction], seed: int) -> TestResult:
    """``sign_flip`` of exact differences."""
    sizes = [abs(d) for d in differences if d]
    note = ""
    if len(sizes) < MIN_DIFFERENCES:
        note = (
            f"{_differ(len(sizes))}: with fewer than {MIN_DIFFERENCES} no such test can reach "
            f"p = .05, whatever happens in them"
        )
    total = abs(sum(differences, Fraction(0)))
    if total == 0:
        return TestResult(1.0, "sign-flip, exact", note=note)
    unit = math.lcm(*(size.denominator for size in sizes))
    whole = [int(size * unit) for size in sizes]
    common = math.gcd(*whole)
    whole, seen = [each // common for each in whole], int(total * unit) // common
    if sum(whole) <= _LATTICE and sum(whole) * len(whole) <= _WORK:
        return TestResult(_by_convolution(whole, seen), "sign-flip, exact", note=note)
    scale = max(whole)
    parts = [each / scale for each in whole]
    if len(parts) <= _HALVES:
        return TestResult(_by_halves(parts, seen / scale), "sign-flip, exact", note=note)
    return TestResult(_by_draws(parts, seen / scale, seed), f"sign-flip, {_DRAWS} random flips, seed {seed}", note=note)


def _differ(count: int) -> str:
    if count < 2:
        return "only 1 task differs" if count else "no task differs"
    return f"only {count} tasks differ"


def _by_convolution(sizes: list[int], seen: int) -> float:
    """Share of sign patterns with |sum| >= seen: the positive part's sum s gives 2s - total."""
    import numpy as np

    total = sum(sizes)
    chance = np.zeros(total + 1)
    chance[0] = 1.0
    reached = 0
    for size in sorted(sizes):
        reached += size
        chance[size : reached + 1] = chance[size : reached + 1] + chance[: reached + 1 - size]
        chance[: reached + 1] *= 0.5
    first = -(-(total + seen) // 2)  # the least s with 2s - total >= seen
    return min(1.0, 2 * float(chance[first:].sum()))


def _by_halves(sizes: list[float], seen: float) -> float:
    """The same share, from all the sums of either half of the differences."""
    import numpy as np

    def sums(part: list[float]) -> NDArray[np.float64]:
        out = np.zeros(1)
        for size in part:
            out = np.concatenate((out + size, out - size))
        return np.sort(out)

    left, right = sums(sizes[::2]), sums(sizes[1::2])
    beyond = len(right) - np.searchsorted(right, seen - 1e-9 - left, side="left")
    return min(1.0, 2 * float(beyond.sum()) / (len(left) * len(right)))


def _by_draws(sizes: list[float], seen: float, seed: int) -> float:
    import numpy as np

    rng = np.random.default_rng(seed)
    magnitude = np.array(sizes)
    block = max(1, 4_000_000 // len(sizes))
    hits = 0
    for start in range(0, _DRAWS, block):
        signs = rng.integers(0, 2, size=(min(block, _DRAWS - start), len(sizes)), dtype=np.int8) * 2 - 1
        hits += int((np.abs(signs @ magnitude) >= seen - 1e-9).sum())
    return (hits + 1) / (_DRAWS + 1)
