"""How far a judge agrees with people, and a pass rate corrected for where it does not.

One table everywhere: rows are what people said (pass, fail), columns what the judge said (pass, fail):

    [[both pass, people pass and judge fails], [people fail and judge passes, both fail]]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import SupportsIndex

from passhat.stats import _checks
from passhat.stats._binomial import beta_posterior, clopper_pearson_low, normal_quantile, wilson
from passhat.stats._interval import Interval
from passhat.stats._types import Side

Labels = Sequence[Sequence[SupportsIndex]]


def _square(table: Labels) -> list[list[int]]:
    rows = [[_checks.whole(each, "each count of the table") for each in row] for row in table]
    if len(rows) < 2 or any(len(row) != len(rows) for row in rows):
        raise ValueError(f"table must be square with at least 2 rows, got {rows!r}")
    return rows


def _two_by_two(table: Labels) -> tuple[int, int, int, int]:
    rows = _square(table)
    if len(rows) != 2:
        raise ValueError(f"table must have 2 rows and 2 columns (pass, fail), got {len(rows)} rows")
    (both_pass, missed), (let_through, both_fail) = rows
    return both_pass, missed, let_through, both_fail


@dataclass(frozen=True, slots=True)
class Kappa:
    """Cohen's kappa with its interval, and the agreement seen and expected by chance."""

    kappa: float
    interval: Interval
    observed: float
    expected: float
    n: int


def cohen_kappa(table: Labels, *, level: float = 0.95) -> Kappa | None:
    """Agreement of two raters beyond chance: 1 is full, 0 is chance. None where it is undefined.

    ``table[i][j]`` counts the items that one rater put into category i and the other into j. It is
    undefined where a rater used one category only, or the table is empty. Show it with sensitivity,
    specificity and the table: it falls with the share of passes, and is no gate by itself. Where the
    normal interval would have width 0 (full agreement) the ends come from Clopper–Pearson's interval
    of the agreement.

    Raises ValueError for a table that is not square, and for what is not a count.
    Source: Cohen 1960; standard error of Fleiss, Cohen & Everitt 1969.

    >>> found = cohen_kappa([[40, 9], [6, 45]])
    >>> round(found.kappa, 6), round(found.interval.low, 5), round(found.interval.high, 6)
    (0.699519, 0.55959, 0.839448)
    >>> cohen_kappa([[50, 0], [0, 0]]) is None
    True
    """
    rows = _square(table)
    error = 1 - _checks.level_of(level)
    n, size = sum(map(sum, rows)), range(len(rows))
    row = [sum(each) for each in rows]
    column = [sum(each[j] for each in rows) for j in size]
    if n == 0 or max(row) == n or max(column) == n:
        return None
    r, c = [each / n for each in row], [each / n for each in column]
    agreed = sum(rows[i][i] for i in size)
    observed, expected = agreed / n, math.fsum(r[i] * c[i] for i in size)
    kappa = (observed - expected) / (1 - expected)
    same = math.fsum(rows[i][i] / n * (1 - (r[i] + c[i]) * (1 - kappa)) ** 2 for i in size)
    other = math.fsum(rows[i][j] / n * (c[i] + r[j]) ** 2 for i in size for j in size if i != j)
    variance = same + (1 - kappa) ** 2 * other - (kappa - expected * (1 - kappa)) ** 2
    se = math.sqrt(max(variance, 0.0) / n) / (1 - expected)
    if se > 1e-6:
        half = normal_quantile(1 - error / 2) * se
        low, high, method = max(-1.0, kappa - half), min(1.0, kappa + half), "normal (Fleiss, Cohen & Everitt)"
    else:
        low = (clopper_pearson_low(agreed, n, error / 2) - expected) / (1 - expected)
        high = (1 - clopper_pearson_low(n - agreed, n, error / 2) - expected) / (1 - expected)
        method = "Clopper–Pearson of the agreement"
    return Kappa(kappa, Interval(low, high, method=method, level=level), observed, expected, n)


@dataclass(frozen=True, slots=True)
class JudgeQuality:
    """A judge against people's labels; a part is None where no label speaks to it.

    ``sensitivity``: of what people passed, the share that the judge passed; ``specificity``: of what
    people failed, the share that it failed. ``better_than_chance`` is a lower bound, at the level, of
    sensitivity + specificity - 1: at or below 0 no correction is possible.
    """

    sensitivity: float | None
    sensitivity_interval: Interval | None
    specificity: float | None
    specificity_interval: Interval | None
    kappa: Kappa | None
    better_than_chance: float | None
    labels: int


def judge_quality(table: Labels, *, level: float = 0.95) -> JudgeQuality:
    """Sensitivity, specificity and kappa of a judge, with Wilson intervals, from people's labels.

    ``table`` as in this module: [[both pass, judge wrongly fails], [judge wrongly passes, both fail]].
    Raises ValueError for a table that is not 2 by 2, and for what is not a count.

    >>> found = judge_quality([[47, 3], [6, 44]])
    >>> found.sensitivity, found.specificity
    (0.94, 0.88)
    >>> found.better_than_chance > 0.6
    True
    """
    both_pass, missed, let_through, both_fail = _two_by_two(table)
    passed, failed = both_pass + missed, let_through + both_fail
    return JudgeQuality(
        sensitivity=both_pass / passed if passed else None,
        sensitivity_interval=wilson(both_pass, passed, level=level) if passed else None,
        specificity=both_fail / failed if failed else None,
        specificity_interval=wilson(both_fail, failed, level=level) if failed else None,
        kappa=cohen_kappa(table, level=level),
        better_than_chance=_youden_low(both_pass, passed, both_fail, failed, level) if passed and failed else None,
        labels=passed + failed,
    )


def _youden_low(tp: int, passed: int, tn: int, failed: int, level: float) -> float:
    error = (1 - _checks.level_of(level)) / 2
    sensitivity, specificity = tp / passed, tn / failed
    return (sensitivity + specificity - 1) - math.hypot(
        sensitivity - clopper_pearson_low(tp, passed, error), specificity - clopper_pearson_low(tn, failed, error)
    )


@dataclass(frozen=True, slots=True)
class Corrected:
    """A pass rate as people would have judged it, estimated through a judge; rates in 0..1."""

    estimate: float
    interval: Interval


def _judged(judged_pass: SupportsIndex, judged: SupportsIndex) -> tuple[int, int]:
    total, passed = _checks.whole(judged, "judged", at_least=1), _checks.whole(judged_pass, "judged_pass")
    if passed > total:
        raise ValueError(f"judged_pass must be at most judged, got {passed} of {total}")
    return passed, total


def post_stratified(
    table: Labels,
    judged_pass: SupportsIndex,
    judged: SupportsIndex,
    *,
    level: float = 0.95,
    side: Side = "both",
) -> Corrected:
    """The pass rate where the labelled items are a simple random sample of the judged ones.

    Of ``judged`` items the judge passed ``judged_pass``; people labelled those in ``table``. The rate is
    Q P(pass | judge passes) + (1-Q) P(pass | judge fails), with Jeffreys intervals for the two parts
    joined by MOVER. A verdict class without labels counts as anything from 0 to 1. Labels that were
    picked for being hard or disputed, or that come from another suite, make it wrong.

    Raises ``Refused`` without labels, ValueError for what is not a count and for more labels of a
    verdict than items. Source: stratified estimation (Cochran 1977, chapter 5A) with MOVER.

    >>> found = post_stratified([[38, 2], [2, 8]], 760, 1000)
    >>> round(found.estimate, 3), round(found.interval.low, 4), round(found.interval.high, 4)
    (0.77, 0.6824, 0.8511)
    """
    both_pass, missed, let_through, both_fail = _two_by_two(table)
    passed, total = _judged(judged_pass, judged)
    below, above = _checks.tails(level, side)
    labels = (both_pass + let_through, missed + both_fail)
    if sum(labels) == 0:
        raise _checks.Refused("nothing was labelled: a judge's pass rate cannot be corrected without people's labels")
    if labels[0] > passed or labels[1] > total - passed:
        raise ValueError(
            f"the labels must be of judged items, got {labels[0]} labels of {passed} judged to pass and {labels[1]} of "
            f"{total - passed} judged to fail"
        )
    q = passed / total
    a, b = (x / m if m else 0.5 for x, m in zip((both_pass, missed), labels, strict=True))
    estimate = q * a + (1 - q) * b
    sampling = (a - b) ** 2 * q * (1 - q) / total

    def half(error: float, upper: bool) -> float:
        z = normal_quantile(1 - error)
        parts = [_jeffreys_gap(x, m, error, upper) for x, m in zip((both_pass, missed), labels, strict=True)]
        return math.sqrt((q * parts[0]) ** 2 + ((1 - q) * parts[1]) ** 2 + z * z * sampling)

    low = 0.0 if below is None else max(0.0, estimate - half(below, False))
    high = 1.0 if above is None else min(1.0, estimate + half(above, True))
    empty = [word for word, m in zip(("passed", "failed"), labels, strict=True) if m == 0]
    note = f"no label among what the judge {empty[0]}: anything is allowed for there" if empty else ""
    method = "post-stratified by verdict, Jeffreys and MOVER"
    return Corrected(estimate, Interval(low, high, method=method, note=note, level=float(level), side=side))


def _jeffreys_gap(x: int, m: int, error: float, upper: bool) -> float:
    """From the share to the end of its Jeffreys interval with ``error`` beyond it; ½ without labels."""
    if m == 0:
        return 0.5
    ends = beta_posterior(x, m, level=1 - 2 * error)
    return ends.high - x / m if upper else x / m - ends.low


def rogan_gladen(table: Labels, judged_pass: SupportsIndex, judged: SupportsIndex, *, level: float = 0.95) -> Corrected:
    """The pass rate where the labels come from other items than the judged ones.

    Sensitivity and specificity from ``table`` (another suite, another share of passes), the same judge
    model, prompt and rubric. (q + specificity - 1) / (sensitivity + specificity - 1), clipped to 0..1,
    with the Lang–Reiczigel interval. Where the labels are a random sample of the judged items,
    ``post_stratified`` is about half as wide.

    Raises ``Refused`` where the labels do not show that the judge is better than chance, where one row
    of labels is empty, and where the judge's verdicts cannot come from a judge with these labels.
    Sources: Rogan & Gladen 1978; Lang & Reiczigel 2014.

    >>> found = rogan_gladen([[47, 3], [6, 44]], 760, 1000)
    >>> round(found.estimate, 4), round(found.interval.low, 4), round(found.interval.high, 4)
    (0.7805, 0.7129, 0.8804)
    """
    tp, missed, let_through, tn = _two_by_two(table)
    passed, total = _judged(judged_pass, judged)
    good, bad = tp + missed, tn + let_through
    if not good or not bad:
        raise _checks.Refused(
            f"people passed {good} and failed {bad} of the labelled items: both are needed to know the judge's errors"
        )
    chance = _youden_low(tp, good, tn, bad, level)
    if chance <= 0:
        raise _checks.Refused(
            f"the labels do not show that the judge is better than chance (sensitivity {tp}/{good}, specificity "
            f"{tn}/{bad}; lower bound of their sum - 1 is {chance:.2f}): label more items, or mend the judge"
        )
    q, j = passed / total, tp / good + tn / bad - 1
    estimate = min(1.0, max(0.0, (q + tn / bad - 1) / j))

    z = normal_quantile((1 + _checks.level_of(level)) / 2)
    items, good_, bad_ = total + z * z, good + 2, bad + 2
    q, sensitivity, specificity = (passed + z * z / 2) / items, (tp + 1) / good_, (tn + 1) / bad_
    j = sensitivity + specificity - 1
    rate = (q + specificity - 1) / j
    miss, slip = sensitivity * (1 - sensitivity) / good_, specificity * (1 - specificity) / bad_
    centre = rate + 2 * z * z * (rate * miss - (1 - rate) * slip)
    half = z * math.sqrt(q * (1 - q) / items + rate**2 * miss + (1 - rate) ** 2 * slip) / j
    if centre - half >= 1 or centre + half <= 0:
        raise _checks.Refused(
            f"the judge passed {passed} of {total}, which a judge with sensitivity {tp}/{good} and specificity "
            f"{tn}/{bad} would not do at any pass rate: it has changed since it was calibrated, or the labels differ"
        )
    low, high = max(0.0, min(centre - half, estimate)), min(1.0, max(centre + half, estimate))
    return Corrected(estimate, Interval(low, high, method="Rogan–Gladen, Lang–Reiczigel", level=float(level)))
