"""Is a published pass^k curve possible, and which tasks does it come from?

With n trials of each of T tasks, let N_j tasks pass exactly j times. Then T C(n, k) pass^k is the
whole number S_k = sum_j C(j, k) N_j. The map has an inverse, so that a full curve gives the
histogram N_0 … N_n, and with it everything else that counts can tell; a curve with a negative or
broken N_j was never measured so.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Literal, SupportsIndex

from passhat.stats import _checks

_MOST = 1000  # histograms that are counted
_STEPS = 200_000  # partial histograms that are tried
_SLACK = Fraction(1, 10**11)  # rates printed to 16 digits carry the error of a float


@dataclass(frozen=True, slots=True)
class CurveCheck:
    """Whether n trials of T tasks can give a curve within its rounding.

    ``histogram[j]`` is the number of tasks that passed j times; None if impossible, and then
    ``reason`` says why. ``fits`` counts the histograms that fit (up to 1000): with more than one the
    curve is rounded too coarsely to tell, and ``histogram`` is only one of them.
    """

    possible: bool
    histogram: tuple[int, ...] | None
    fits: int
    reason: str

    @property
    def counts(self) -> tuple[int, ...]:
        """Passes, one a task, to give to ``interval`` and its kin; empty if impossible."""
        return tuple(j for j, tasks in enumerate(self.histogram or ()) for _ in range(tasks))


def check_curve(
    n: SupportsIndex,
    tasks: SupportsIndex,
    curve: Sequence[float | str],
    *,
    unit: Literal["rate", "percent"] | None = None,
    decimals: int | None = None,
) -> CurveCheck:
    """Invert pass^1 … pass^n, as published, to how many tasks passed 0 … n times of n.

    ``curve`` holds n numbers, as rates or in percent (``unit``; by default percent if any is above
    1). They are taken as rounded to ``decimals`` places, by default as many as the longest of them
    shows; strings keep trailing zeros ("67.40").

    Raises ValueError unless there are n finite numbers, ``Refused`` where the rounding is so coarse
    that the search is not worth its time.
    Source: inversion of binomial moments; the conditions are Hausdorff's (1921) for a finite moment
    sequence, and that tasks are whole.

    >>> check_curve(4, 114, [79.61, 67.4, 58.77, 51.75]).histogram
    (3, 9, 11, 32, 59)
    >>> print(check_curve(4, 97, [9.79, 7.22, 5.67, 3.09]).reason)
    the curve needs -6.0 tasks with exactly 2 of 4 passes (pass^2 and beyond do not fit together)
    """
    trials, many = _checks.whole(n, "n", at_least=1), _checks.whole(tasks, "tasks", at_least=1)
    if isinstance(curve, str) or len(curve) != trials:
        raise ValueError(f"curve must hold pass^1 to pass^{trials}, got {curve!r}")
    shown = [_decimal(each) for each in curve]
    if unit not in (None, "rate", "percent"):
        raise ValueError(f"unit must be 'rate', 'percent' or None, got {unit!r}")
    scale = 100 if unit == "percent" or (unit is None and max(shown) > 1) else 1
    places = _checks.whole(decimals, "decimals") if decimals is not None else max(map(_places, shown))
    half = (Fraction(1, 2 * 10**places) + _SLACK * scale) / scale
    rates = [Fraction(each) / scale for each in shown]
    reason = _plainly_impossible(trials, many, rates, half)
    if reason:
        return CurveCheck(False, None, 0, reason)
    first: tuple[int, ...] | None = None
    fits = 0
    for histogram in _search(trials, many, rates, half):
        first = first or histogram
        fits += 1
        if fits == _MOST:
            break
    if first is None:
        return CurveCheck(False, None, 0, f"no whole numbers of {many} tasks give this curve within its rounding")
    words = "one histogram fits" if fits == 1 else f"{fits}{'+' if fits == _MOST else ''} histograms fit"
    return CurveCheck(True, first, fits, words)


def _decimal(value: float | str) -> Decimal:
    try:
        number = Decimal(value) if isinstance(value, str) else Decimal(repr(float(value)))
    except (InvalidOperation, TypeError, ValueError):
        raise ValueError(f"curve must hold numbers, got {value!r}") from None
    if not number.is_finite():
        raise ValueError(f"curve must hold finite numbers, got {value!r}")
    return number


def _places(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _plainly_impossible(n: int, tasks: int, rates: list[Fraction], half: Fraction) -> str:
    """The first condition on the rates alone that fails, in words; empty if none does."""
    for k, rate in enumerate(rates, start=1):
        if not -half <= rate <= 1 + half:
            return f"pass^{k} is {float(rate):g}: a rate lies within 0..1"
    for k, (one, more) in enumerate(itertools.pairwise(rates), start=1):
        if more > one + 2 * half:
            return f"pass^{k + 1} ({float(more):g}) is above pass^{k} ({float(one):g}): it can only fall as k grows"
    for k, rate in enumerate(rates, start=1):
        sets = tasks * math.comb(n, k)
        if math.floor((rate + half) * sets) < math.ceil((rate - half) * sets):
            return (
                f"pass^{k} of {float(rate):g} is {float(rate * sets):.3f} of {sets} sets of {k} trials: "
                f"{tasks} tasks of {n} trials give whole numbers"
            )
    moments = [Fraction(1), *rates]
    for j in range(n, -1, -1):
        needed = reach = Fraction(0)
        for i in range(n - j + 1):
            ways = tasks * math.comb(n, j) * math.comb(n - j, i)
            needed += (-1) ** i * ways * moments[j + i]
            reach += ways * half if j + i else 0
        if needed + reach < 0:
            fit = f"pass^{j} and beyond" if j else "the rates"
            return (
                f"the curve needs {float(needed):.1f} tasks with exactly {j} of {n} passes ({fit} do not fit together)"
            )
    return ""


def _search(n: int, tasks: int, rates: list[Fraction], half: Fraction) -> Iterator[tuple[int, ...]]:
    """Every histogram whose S_k lie within the rounding, from N_n down to N_0."""
    low, high = [tasks], [tasks]
    for k, rate in enumerate(rates, start=1):
        sets = tasks * math.comb(n, k)
        low.append(max(0, math.ceil((rate - half) * sets)))
        high.append(min(sets, math.floor((rate + half) * sets)))
    choose = [[math.comb(j, k) for k in range(n + 1)] for j in range(n + 1)]
    steps = 0
    stack: list[tuple[int, tuple[int, ...], tuple[int, ...]]] = [(n, (), (0,) * (n + 1))]
    while stack:
        j, chosen, sums = stack.pop()
        if j < 0:
            yield chosen
            continue
        for count in range(max(0, low[j] - sums[j]), high[j] - sums[j] + 1):
            steps += 1
            if steps > _STEPS:
                raise _checks.Refused(
                    f"the curve is rounded too coarsely for {tasks} tasks of {n} trials: too many histograms to try"
                )
            now = tuple(s + count * choose[j][k] for k, s in enumerate(sums))
            left = tasks - now[0]  # tasks that will have fewer than j passes
            if left < 0 or any(now[k] > high[k] for k in range(j)):
                break
            if any(now[k] + left * choose[j - 1][k] < low[k] for k in range(j)):
                continue
            stack.append((j - 1, (count, *chosen), now))
