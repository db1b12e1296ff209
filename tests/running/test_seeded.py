"""The seeded generator: its pinned sequence."""

from __future__ import annotations

from typing import Any

import pytest

from passhat import seeded


def test_the_first_five_values_and_the_two_hundredth_are_the_pinned_ones() -> None:
    draw = seeded(42)
    values = [draw() for _ in range(200)]
    assert values[:5] == [
        0.6011037519201636,
        0.44829055899754167,
        0.8524657934904099,
        0.6697340414393693,
        0.17481389874592423,
    ]
    assert values[199] == 0.991456612246111


def test_all_values_are_in_the_unit_interval_for_any_seed() -> None:
    for seed in (0, -1, 2**32, 2**63):
        draw = seeded(seed)
        assert all(0 <= draw() < 1 for _ in range(100))


def test_seeds_that_agree_in_32_bits_give_the_same_sequence() -> None:
    assert seeded(2**32 + 7)() == seeded(7)()


@pytest.mark.parametrize("seed", [True, 1.0, "42", None])
def test_a_seed_that_is_no_whole_number_is_refused(seed: Any) -> None:
    with pytest.raises(ValueError, match="must be a whole number"):
        seeded(seed)
