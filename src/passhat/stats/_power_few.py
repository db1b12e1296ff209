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
    """p of ``sign_flip`` for every row of differences: the chance, by signs alone, of a sum no nearer to 0.

    A sum of +-d has the transform prod cos(d t). As all sums of a row are even, or all are odd, its values at equal
    steps through half a period tell every sum up to the number of steps from every other.
    """
    import numpy as np

    sizes = np.sort(abs(rows), 1)[:, ::-1]
    steps = (int(sizes.sum(1).max()) + 1) | 1
    angles = np.pi / steps * np.arange(steps // 2 + 1)
    cosines = np.cos(np.multiply.outer(np.arange(sizes[:, 0].max() + 1), angles))
    transform = cosines[sizes[:, 0]]
    for column in sizes.T[1:]:
        if not column.any():
            break
        transform *= cosines[column]
    nearer = abs(rows.sum(1)) - 1  # so many values lie between the sum and its mirror image
    transform[:, 0] *= nearer / 2
    transform[:, 1:] *= np.sin(np.multiply.outer(nearer, angles[1:])) / np.sin(angles[1:])
    return np.asarray(np.minimum(1, 1 - 2 / steps * transform.sum(1)))
