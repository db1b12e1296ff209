"""The sign-flip test of few tasks, where its normal law is off: what the exact test adds, from seeded rows of tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_FEW = 14.0
"""Up to so many tasks, as the null's kurtosis counts them, the correction is worth its time; beyond, it is small."""

_ROWS = 2000
_SEED = 7
_NEAR = 4.0  # p values within this factor of the level are looked at exactly


def few(law: Floats, tasks: int) -> bool:
    """Whether the normal law of the null is off: tasks that don't move, or hardly, don't count."""
    import numpy as np

    n = len(law) - 1
    square = np.subtract.outer(np.arange(n + 1), np.arange(n + 1)) ** 2
    fourth = float((law * square**2).sum())
    return fourth > 0 and tasks * float((law * square).sum()) ** 2 / fourth <= _FEW


def exact_beyond_normal(
    law: Floats, tasks: int, alpha: float, normal_p: Callable[[Floats, Floats], Floats], *, rising: bool
) -> float:
    """By how much the exact test finds more often than its normal law says, over the same simulated rows.

    Only that difference is simulated, so that few rows are enough; the same draws serve every rate.
    """
    import numpy as np

    n = len(law) - 1
    chances = np.array([np.trace(law, offset) for offset in range(-n, n + 1)])
    draws = np.random.default_rng(_SEED).random((_ROWS, tasks))
    rows = np.searchsorted(np.cumsum(chances)[:-1] / chances.sum(), draws, side="right") - n
    sums = rows.sum(1)
    rows = rows[sums > 0 if rising else sums < 0]
    if not len(rows):
        return 0.0
    p = normal_p(rows.sum(1).astype(float), (rows**2).sum(1).astype(float))
    near = (p > alpha / _NEAR) & (p < alpha * _NEAR)
    if not near.any():
        return 0.0
    more = int((exact_p(rows[near]) <= alpha + 1e-12).sum()) - int((p[near] <= alpha).sum())
    return more / _ROWS


def exact_p(rows: Ints) -> Floats:
    """p of ``sign_flip`` for every row of differences, by convolution of all rows at once."""
    import numpy as np

    sizes = abs(rows)
    total, seen = sizes.sum(1), abs(rows.sum(1))
    sums = np.arange(int(total.max()) + 1)[None, :]
    chance = np.zeros((len(rows), sums.size))
    chance[:, 0] = 1
    for size in sizes.T:
        below = sums - size[:, None]
        moved = np.where(below >= 0, np.take_along_axis(chance, np.maximum(below, 0), 1), 0)
        chance = (chance + moved) / 2
    first = -(-(total + seen) // 2)
    return np.asarray(np.minimum(1, 2 * np.where(sums >= first[:, None], chance, 0).sum(1)))
