"""A small seeded generator, so that an evaluation of a *simulated* model can be repeated."""

from __future__ import annotations

from collections.abc import Callable

_MASK = 0xFFFFFFFF


def seeded(seed: int) -> Callable[[], float]:
    """A function that returns the next number in [0, 1) of a 32-bit generator started at ``seed``.

    The sequence is the same in every version and on every machine, and equal to that of the JavaScript generator
    "mulberry32". One generator shared by several trials makes their results depend on the order in which they run:
    give each trial its own (``seeded(trial.seed)``) unless the trials run one after another.

    >>> draw = seeded(42)
    >>> [draw(), draw()]
    [0.6011037519201636, 0.44829055899754167]
    """
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ValueError(f"seeded(seed={seed!r}): must be a whole number")
    state = seed & _MASK

    def draw() -> float:
        nonlocal state
        state = (state + 0x6D2B79F5) & _MASK
        mixed = ((state ^ (state >> 15)) * (state | 1)) & _MASK
        mixed ^= (mixed + (mixed ^ (mixed >> 7)) * (mixed | 61)) & _MASK
        return (mixed ^ (mixed >> 14)) / 4294967296

    return draw
