"""The sign-flip test of many rows at once, against the law of each row by convolution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from passhat.stats import sign_flip
from passhat.stats._power_few import exact_p

if TYPE_CHECKING:
    from numpy.typing import NDArray


def convolved(row: NDArray[np.int64]) -> float:
    law = np.ones(1)
    for size in abs(row):
        step = np.zeros(2 * size + 1)
        step[0] += 0.5
        step[-1] += 0.5
        law = np.convolve(law, step)
    return min(1.0, 2 * float(law[len(law) // 2 + abs(row.sum()) :].sum()))


@pytest.mark.parametrize(
    ("most", "tasks", "moving"), [(1, 12, 0.5), (5, 1, 1.0), (3, 20, 0.9), (5, 60, 0.2), (30, 40, 0.3), (97, 13, 1.0)]
)
def test_p_of_many_rows_at_once_is_that_of_each_rows_law(most: int, tasks: int, moving: float) -> None:
    random = np.random.default_rng(most)
    rows = random.integers(-most, most + 1, (60, tasks)) * (random.random((60, tasks)) < moving)
    rows[0], rows[1], rows[2] = 0, most, 0
    rows[2, -1] = -1  # no move, all moves, and the least one
    expected = [convolved(row) for row in rows]
    assert exact_p(rows) == pytest.approx(expected, abs=1e-12, rel=0)
    assert exact_p(rows[:1]) == pytest.approx([1.0])


def test_it_is_the_p_of_the_sign_flip_test() -> None:
    rows = np.random.default_rng(3).integers(-4, 5, (20, 9))
    assert exact_p(rows) == pytest.approx([sign_flip((row / 4).tolist()).p for row in rows], abs=1e-12, rel=0)
