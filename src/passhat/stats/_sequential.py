"""Looking as often as one likes: Wald's test, and an interval that holds at every look."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, SupportsIndex

from passhat.stats import _checks
from passhat.stats._interval import Interval


@dataclass(frozen=True, slots=True)
class Sprt:
    """Wald's sequential test of a pass rate: at most ``p0``, or at least ``p1``?

    ``alpha`` bounds the chance to say "met" at p0, ``beta`` that to say "not met" at p1. For these
    tasks only, and in shuffled rounds: task after task its error is .13 to .80. Do not cut it at the
    size of the fixed test (error .08–.10); 1.5 times that is nearly free.

    Raises ValueError unless 0 < p0 < p1 < 1 and the errors are shares that add to less than 1.
    Source: Wald 1945.

    >>> test = Sprt(0.8, 0.9)
    >>> round(test.upper, 6), round(test.lower, 6)
    (2.772589, -1.558145)
    >>> test.decide(c=30, n=30), test.decide(c=10, n=15), test.decide(c=5, n=5)
    ('met', 'not met', 'open')
    """

    p0: float
    p1: float
    alpha: float = 0.05
    beta: float = 0.2

    def __post_init__(self) -> None:
        for name in ("p0", "p1", "alpha", "beta"):
            _checks.share(getattr(self, name), name)
        if self.p0 >= self.p1:
            raise ValueError(f"p0 must be below p1, got p0={self.p0!r}, p1={self.p1!r}")
        if self.alpha + self.beta >= 1:
            raise ValueError(f"alpha + beta must be below 1, got {self.alpha!r} + {self.beta!r}")

    @property
    def upper(self) -> float:
        """The log likelihood ratio at which the verdict is "met"."""
        return math.log((1 - self.beta) / self.alpha)

    @property
    def lower(self) -> float:
        """The log likelihood ratio at which the verdict is "not met"."""
        return math.log(self.beta / (1 - self.alpha))

    @property
    def success(self) -> float:
        """What one pass adds to the log likelihood ratio."""
        return math.log(self.p1 / self.p0)

    @property
    def failure(self) -> float:
        """What one failure adds to the log likelihood ratio (it is negative)."""
        return math.log((1 - self.p1) / (1 - self.p0))

    def decide(self, c: SupportsIndex, n: SupportsIndex) -> Literal["met", "not met", "open"]:
        """The verdict after c passes in n trials, looked at after every trial or round."""
        trials, passes = _checks.one_task(n, c)
        ratio = passes * self.success + (trials - passes) * self.failure
        if ratio >= self.upper:
            return "met"
        return "not met" if ratio <= self.lower else "open"


def confidence_sequence(c: SupportsIndex, n: SupportsIndex, *, level: float = 0.95) -> Interval:
    """An interval for one pass rate that holds at every look at once, however often one looks.

    c passes in n independent trials so far. The chance that it ever misses is at most 1 - level; it
    is 1.4–1.8 times as wide as Wilson's. For these tasks, in shuffled rounds. The ends of the Beta(½, ½)
    mixture martingale: the rates p at which it has not reached 1 / (1 - level).

    Raises ValueError for what is not a count. Source: Ville 1939; Robbins 1970.

    >>> low, high = confidence_sequence(17, 20)
    >>> round(low, 6), round(high, 6)
    (0.524747, 0.986731)
    """
    trials, passes = _checks.one_task(n, c)
    level = _checks.level_of(level)
    return Interval(
        _sequence_low(passes, trials, 1 - level),
        1 - _sequence_low(trials - passes, trials, 1 - level),
        method="Beta(½, ½) mixture confidence sequence",
        level=level,
    )


def _sequence_low(c: int, n: int, error: float) -> float:
    if c == 0:
        return 0.0
    mixture = math.lgamma(c + 0.5) + math.lgamma(n - c + 0.5) - math.lgamma(n + 1) - math.log(math.pi)
    limit = mixture + math.log(error)

    def likelihood(p: float) -> float:
        return c * math.log(p) + (n - c) * math.log1p(-p) if c < n else c * math.log(p)

    return rising_root(lambda p: likelihood(p) - limit, 0.0, c / n)


def rising_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a rising function crosses 0 within low..high, by halving; function(low) is not evaluated."""
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if function(middle) < 0:
            low = middle
        else:
            high = middle
    return low
