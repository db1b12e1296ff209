"""What a robustness check says of a judge, in shapes that are part of ``calibrate --json``."""

from __future__ import annotations

import msgspec

from passhat.stats import clopper_pearson
from passhat.summary import Example

Range = tuple[float, float]


class Rate(msgspec.Struct, frozen=True):
    """``count`` of ``n``, with Clopper–Pearson's interval; None where nothing was tried."""

    count: int
    n: int
    estimate: float | None
    interval: Range | None

    @classmethod
    def of(cls, count: int, n: int, level: float) -> Rate:
        """The rate of so many."""
        if not n:
            return cls(count, n, None, None)
        low, high = clopper_pearson(count, n, level=level)
        return cls(count, n, count / n, (low, high))


class ControlLeak(msgspec.Struct, frozen=True):
    """How often a control passed that must fail. ``unknown`` and ``errors`` are no pass, and not in the rate's count;
    errors aren't in its n either. ``example`` is a trial in whose place it passed."""

    kind: str
    what: str
    passed: Rate
    unknown: int
    errors: int
    example: Example | None


class Robustness(msgspec.Struct, frozen=True, kw_only=True):
    """A judge asked again, and asked about controls.

    ``flips``: trials, of those judged ``repeats`` times alike, whose verdicts differ. ``recorded``: trials whose first
    new verdict isn't the recorded one. ``order``: of a comparison, pairs of answers whose verdict changed with the
    order; ``first_favoured`` of the changed ones favoured what stood first both times. ``leaks``: a row a control.
    ``errors`` of all that it was asked could not be judged; ``problem`` is the first reason.
    """

    trials: int
    repeats: int
    flips: Rate
    flipped: tuple[Example, ...]
    recorded: Rate
    order: Rate | None
    first_favoured: int
    leaks: tuple[ControlLeak, ...]
    leaked: Rate
    errors: int
    problem: str = ""

    @property
    def leaky(self) -> bool:
        """Whether any control passed."""
        return self.leaked.count > 0
