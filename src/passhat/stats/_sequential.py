"""Looking more than once: planned looks, Wald's test, and an interval that holds at every look."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, SupportsIndex

from passhat.stats import _checks
from passhat.stats._binomial import normal_tail
from passhat.stats._interval import Interval
from passhat.stats._types import Counts

_OBRIEN_FLEMING = {2: 1.977430959, 3: 2.004035579, 4: 2.024295500, 5: 2.040073175}
_POCOCK = {2: 2.178272089, 3: 2.289478061, 4: 2.361297891, 5: 2.413176220}


def _planned(looks: SupportsIndex, table: dict[int, float]) -> tuple[int, float]:
    count = _checks.whole(looks, "looks", at_least=2)
    if count not in table:
        raise ValueError(f"looks must be 2 to 5, planned beforehand, got {count}")
    return count, table[count]


def _with_t(bounds: list[float], tasks: Counts | None) -> tuple[float, ...]:
    """The bounds as they are, or as t quantiles with tasks - 1 degrees of freedom."""
    if tasks is None:
        return tuple(bounds)
    from scipy.special import stdtrit

    sizes = [_checks.whole(each, "tasks", at_least=2) for each in tasks]
    if len(sizes) != len(bounds) or sizes != sorted(set(sizes)):
        raise ValueError(f"tasks must be {len(bounds)} rising numbers, one a look, got {sizes}")
    return tuple(-float(stdtrit(size - 1, normal_tail(z))) for z, size in zip(bounds, sizes, strict=True))


def obrien_fleming(looks: SupportsIndex, *, tasks: Counts | None = None) -> tuple[float, ...]:
    """Bounds for 2 to 5 equally spaced looks at a paired comparison: stop when |mean / se| reaches one.

    Two-sided 5 % over all looks together. Early bounds are high, so that the last costs little: power
    within .02 of a single look. Give ``tasks``, how many tasks are in at each look, for t quantiles
    (for suites of tens of tasks). Whole batches of tasks a look; the plan is fixed beforehand.

    Raises ValueError for other numbers of looks, and tasks that do not rise.
    Source: O'Brien & Fleming 1979; constants as in Jennison & Turnbull 2000, table 2.3, more digits.

    >>> [round(z, 3) for z in obrien_fleming(3)]
    [3.471, 2.454, 2.004]
    >>> [round(t, 3) for t in obrien_fleming(2, tasks=[20, 40])]
    [3.159, 2.042]
    """
    count, last = _planned(looks, _OBRIEN_FLEMING)
    return _with_t([last * math.sqrt(count / look) for look in range(1, count + 1)], tasks)


def pocock(looks: SupportsIndex, *, tasks: Counts | None = None) -> tuple[float, ...]:
    """As ``obrien_fleming`` with the same bound at every look: stops earlier, costs 6–11 points of power.

    Source: Pocock 1977; constants as in Jennison & Turnbull 2000, table 2.1, with more digits.

    >>> [round(z, 3) for z in pocock(2)]
    [2.178, 2.178]
    """
    count, bound = _planned(looks, _POCOCK)
    return _with_t([bound] * count, tasks)


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

    return _rising_root(lambda p: likelihood(p) - limit, 0.0, c / n)


def _rising_root(function: Callable[[float], float], low: float, high: float) -> float:
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
