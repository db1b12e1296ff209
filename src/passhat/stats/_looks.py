"""Looking a planned number of times at a paired comparison: the bounds, and what each look says."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, SupportsIndex

from passhat.stats import _checks
from passhat.stats._binomial import normal_quantile, normal_tail
from passhat.stats._interval import Interval
from passhat.stats._paired import mean_difference_interval
from passhat.stats._sequential import rising_root
from passhat.stats._sign_flip import sign_flip
from passhat.stats._types import Counts

_NODES = 96  # of a Gauss-Legendre rule: the error spent comes out to more than 8 digits
_Shape = Literal["O'Brien-Fleming", "Pocock"]


def obrien_fleming(looks: SupportsIndex, *, level: float = 0.95, tasks: Counts | None = None) -> tuple[float, ...]:
    """Bounds for 2 to 5 equally spaced looks at a paired comparison: stop when |mean / se| reaches one.

    Two-sided, with the error ``1 - level`` over all looks together. Early bounds are high, so that the last costs
    little: power within .02 of a single look. Give ``tasks``, how many tasks are in at each look, for t quantiles
    (for suites of tens of tasks). Whole batches of tasks a look; the plan is fixed beforehand.

    Raises ValueError for other numbers of looks, and tasks that do not rise.
    Source: O'Brien & Fleming 1979; the constant is solved for by recursive integration (Armitage, McPherson & Rowe
    1969) and agrees with Jennison & Turnbull 2000, table 2.3.

    >>> [round(z, 3) for z in obrien_fleming(3)]
    [3.471, 2.454, 2.004]
    >>> [round(t, 3) for t in obrien_fleming(2, tasks=[20, 40])]
    [3.159, 2.042]
    """
    return _with_t(_bounds("O'Brien-Fleming", _planned(looks), _checks.level_of(level)), tasks)


def pocock(looks: SupportsIndex, *, level: float = 0.95, tasks: Counts | None = None) -> tuple[float, ...]:
    """As ``obrien_fleming`` with the same bound at every look: stops earlier, costs 6–11 points of power.

    Source: Pocock 1977; agrees with Jennison & Turnbull 2000, table 2.1.

    >>> [round(z, 3) for z in pocock(2)]
    [2.178, 2.178]
    """
    return _with_t(_bounds("Pocock", _planned(looks), _checks.level_of(level)), tasks)


def _planned(looks: SupportsIndex) -> int:
    count = _checks.whole(looks, "looks", at_least=2)
    if count > 5:
        raise ValueError(f"looks must be 2 to 5, planned beforehand, got {count}")
    return count


@functools.lru_cache(64)
def _bounds(shape: _Shape, looks: int, level: float) -> tuple[float, ...]:
    """z bounds whose crossing has the probability 1 - level in all."""

    def bounds(constant: float) -> tuple[float, ...]:
        flat = shape == "Pocock"
        return tuple(constant * (1.0 if flat else math.sqrt(looks / look)) for look in range(1, looks + 1))

    single = normal_quantile(1 - (1 - level) / 2)
    return bounds(rising_root(lambda constant: 1 - level - _crossing(bounds(constant)), single, 2 * single))


def _crossing(bounds: Sequence[float]) -> float:
    """P(sums of independent standard normal steps leave ±z·√k at a k-th look), by integration step by step."""
    import numpy as np

    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    ends = [z * math.sqrt(look) for look, z in enumerate(bounds, start=1)]
    at = nodes * ends[0]
    mass = np.exp(-at * at / 2) / math.sqrt(2 * math.pi) * weights * ends[0]
    for end in ends[1:]:
        there = nodes * end
        step = np.exp(-((there[:, None] - at) ** 2) / 2) / math.sqrt(2 * math.pi)
        at, mass = there, (step @ mass) * weights * end
    return 1 - float(mass.sum())


def _with_t(bounds: tuple[float, ...], tasks: Counts | None) -> tuple[float, ...]:
    """The bounds as they are, or as t quantiles with tasks - 1 degrees of freedom."""
    if tasks is None:
        return bounds
    from scipy.special import stdtrit

    sizes = [_checks.whole(each, "tasks", at_least=2) for each in tasks]
    if len(sizes) != len(bounds) or sizes != sorted(set(sizes)):
        raise ValueError(f"tasks must be {len(bounds)} rising numbers, one a look, got {sizes}")
    return tuple(-float(stdtrit(size - 1, normal_tail(z))) for z, size in zip(bounds, sizes, strict=True))


@dataclass(frozen=True, slots=True)
class Look:
    """One planned look: look ``look`` of ``looks``, with the differences of ``units`` independent tasks in.

    ``p`` is that of the sign-flip test, and ``bound`` what it has to reach: O'Brien and Fleming's, as a two-sided p
    value. ``interval`` holds at all looks together (its own level is 1 - bound).
    """

    look: int
    looks: int
    units: int
    estimate: float
    p: float
    bound: float
    interval: Interval

    @property
    def crossed(self) -> bool:
        """Whether the difference is shown, and no further look is needed."""
        return self.p <= self.bound and self.estimate != 0


def paired_look(differences: Sequence[float], look: SupportsIndex, looks: SupportsIndex, *, level: float) -> Look:
    """What look ``look`` of ``looks`` says: ``differences`` are those of all tasks that are in by then, one a task.

    The sign-flip test's p at each look is held against O'Brien and Fleming's bound, so that all looks together are
    wrong as often as one test at ``level`` (two-sided). The batches of tasks must be drawn at random and be about
    equally large, and the plan fixed beforehand. After stopping at a bound the estimate is too large on average.

    Raises ValueError without a difference, and for a look beyond the plan.

    >>> found = paired_look([0.4] * 14 + [0.0] * 6, 2, 4, level=0.95)
    >>> round(found.p, 5), round(found.bound, 5), found.crossed
    (0.00012, 0.0042, True)
    """
    plan, number = _planned(looks), _checks.whole(look, "look", at_least=1)
    if number > plan:
        raise ValueError(f"look {number} is beyond the {plan} that were planned")
    if not differences:
        raise ValueError("differences must not be empty: no task is in")
    bound = 2 * normal_tail(_bounds("O'Brien-Fleming", plan, _checks.level_of(level))[number - 1])
    return Look(
        look=number,
        looks=plan,
        units=len(differences),
        estimate=math.fsum(differences) / len(differences),
        p=sign_flip(differences).p,
        bound=bound,
        interval=mean_difference_interval(differences, 1 - bound),
    )


def planned_looks(units: SupportsIndex) -> int:
    """How many looks a comparison of so many independent tasks is worth: 3 to 5.

    >>> [planned_looks(units) for units in (12, 40, 80)]
    [3, 4, 5]
    """
    many = _checks.whole(units, "units", at_least=1)
    return 3 if many < 30 else 4 if many < 60 else 5
