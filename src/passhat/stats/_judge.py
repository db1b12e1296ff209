"""How far a judge agrees with people.

One table everywhere: rows are what people said (pass, fail), columns what the judge said (pass, fail):

    [[both pass, people pass and judge fails], [people fail and judge passes, both fail]]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import SupportsIndex

from passhat.stats import _checks
from passhat.stats._binomial import clopper_pearson_low, normal_quantile, wilson
from passhat.stats._interval import Interval

Labels = Sequence[Sequence[SupportsIndex]]


def _square(table: Labels) -> list[list[int]]:
    rows = [[_checks.whole(each, "each count of the table") for each in row] for row in table]
    if len(rows) < 2 or any(len(row) != len(rows) for row in rows):
        raise ValueError(f"table must be square with at least 2 rows, got {rows!r}")
    return rows


def two_by_two(table: Labels) -> tuple[int, int, int, int]:
    """(both pass, judge wrongly fails, judge wrongly passes, both fail). Raises ValueError for another shape."""
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
    undefined where chance alone makes the two agree on everything: both used one and the same category
    only, or the table is empty. Where just one of them used a single category they agree exactly as
    often as chance makes them: 0. Show it with sensitivity, specificity and the table: it falls with
    the share of passes, and is no gate by itself. Where the normal interval would have width 0 (full
    agreement, or a rater with a single category) the ends come from Clopper–Pearson's interval of the
    agreement.

    Raises ValueError for a table that is not square, and for what is not a count.
    Source: Cohen 1960; standard error of Fleiss, Cohen & Everitt 1969.

    >>> found = cohen_kappa([[40, 9], [6, 45]])
    >>> round(found.kappa, 6), round(found.interval.low, 5), round(found.interval.high, 6)
    (0.699519, 0.55959, 0.839448)
    >>> cohen_kappa([[2, 0], [2, 0]]).kappa, cohen_kappa([[50, 0], [0, 0]])
    (0.0, None)
    """
    rows = _square(table)
    error = 1 - _checks.level_of(level)
    n, size = sum(map(sum, rows)), range(len(rows))
    row = [sum(each) for each in rows]
    column = [sum(each[j] for each in rows) for j in size]
    if n == 0 or any(rows[i][i] == n for i in size):  # the agreement expected by chance is 1
        return None
    r, c = [each / n for each in row], [each / n for each in column]
    agreed = sum(rows[i][i] for i in size)
    observed, expected = agreed / n, math.fsum(r[i] * c[i] for i in size)
    kappa = (observed - expected) / (1 - expected)
    same = math.fsum(rows[i][i] / n * (1 - (r[i] + c[i]) * (1 - kappa)) ** 2 for i in size)
    other = math.fsum(rows[i][j] / n * (c[i] + r[j]) ** 2 for i in size for j in size if i != j)
    variance = same + (1 - kappa) ** 2 * other - (kappa - expected * (1 - kappa)) ** 2
    se = math.sqrt(max(variance, 0.0) / n) / (1 - expected)
    if se > 1e-6 and n not in (*row, *column):
        half = normal_quantile(1 - error / 2) * se
        low, high, method = max(-1.0, kappa - half), min(1.0, kappa + half), "normal (Fleiss, Cohen & Everitt)"
    else:
        low = (clopper_pearson_low(agreed, n, error / 2) - expected) / (1 - expected)
        low, high = max(-1.0, low), (1 - clopper_pearson_low(n - agreed, n, error / 2) - expected) / (1 - expected)
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
    both_pass, missed, let_through, both_fail = two_by_two(table)
    passed, failed = both_pass + missed, let_through + both_fail
    return JudgeQuality(
        sensitivity=both_pass / passed if passed else None,
        sensitivity_interval=wilson(both_pass, passed, level=level) if passed else None,
        specificity=both_fail / failed if failed else None,
        specificity_interval=wilson(both_fail, failed, level=level) if failed else None,
        kappa=cohen_kappa(table, level=level),
        better_than_chance=youden_low(both_pass, passed, both_fail, failed, level) if passed and failed else None,
        labels=passed + failed,
    )


def youden_low(tp: int, passed: int, tn: int, failed: int, level: float) -> float:
    """The lower bound of sensitivity + specificity - 1, from Clopper–Pearson's bounds of the two by MOVER."""
    error = (1 - _checks.level_of(level)) / 2
    sensitivity, specificity = tp / passed, tn / failed
    return (sensitivity + specificity - 1) - math.hypot(
        sensitivity - clopper_pearson_low(tp, passed, error), specificity - clopper_pearson_low(tn, failed, error)
    )
