"""The same tasks twice: how much a rate changed, on these tasks and on tasks like these."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import SupportsIndex

from passhat.stats import _checks
from passhat.stats._estimators import enough_trials, score_of
from passhat.stats._interval import Interval
from passhat.stats._population import dirichlet_high, dirichlet_low, mean_of
from passhat.stats._sign_flip import sign_flip_exactly
from passhat.stats._test_result import TestResult
from passhat.stats._these_tasks import TheseTasks
from passhat.stats._types import Counts, Rate, Scores, Side, Target
from passhat.stats._within_task import Row, cmh, label_permutation, two_sides

_UNSEEN = {-1.0: 1.0, 1.0: 1.0}
_POPULATION = "Dirichlet over tasks with one unseen task at -1 and one at +1"
_THESE = "MOVER of the two intervals for these tasks"


def mover(
    before: float, before_ends: Sequence[float], after: float, after_ends: Sequence[float]
) -> tuple[float, float]:
    """The interval for ``after - before`` from two independent estimates and their own intervals.

    Source: Newcombe 1998; Zou & Donner 2008 (method of variance estimates recovery).

    >>> low, high = mover(0.5, (0.4, 0.6), 0.7, (0.6, 0.8))
    >>> round(low, 3), round(high, 3)
    (0.059, 0.341)
    """
    (low1, high1), (low2, high2) = before_ends, after_ends
    difference = after - before
    return (
        difference - math.hypot(after - low2, high1 - before),
        difference + math.hypot(high2 - after, before - low1),
    )


def mean_difference_interval(differences: Scores, level: float = 0.95, *, side: Side = "both") -> Interval:
    """The interval for the population's mean paired difference; one difference in -1..1 a task.

    Dirichlet weights over the tasks and two unseen ones, at -1 and at +1. It holds the mean, has no
    width 0 (all differences 0 give ±.24 with 10 tasks), and for under 50 tasks it may touch 0 where
    the sign-flip test rejects: gate on the one declared before.

    Raises ValueError for no differences, and for any outside -1..1.
    Source: as ``interval`` for tasks like these; coverage by simulation.

    >>> low, high = mean_difference_interval([0.0] * 10)
    >>> round(low, 6), round(high, 6)
    (-0.238404, 0.238404)
    """
    values = _checks.scores(differences, low=-1, name="differences")
    return _population_interval(Counter(round(each, 12) for each in values), level, side)


def _population_interval(differences: Counter[float], level: float, side: Side) -> Interval:
    below, above = _checks.tails(level, side)
    mean = mean_of(differences)
    low = -1.0 if below is None else min(dirichlet_low(differences, _UNSEEN, below), mean)
    high = 1.0 if above is None else max(dirichlet_high(differences, _UNSEEN, above), mean)
    return Interval(max(-1.0, low), min(1.0, high), method=_POPULATION, level=float(level), side=side)


def _these_tasks_interval(rows: list[Row], k: int, rate: Rate, level: float, side: Side) -> Interval:
    below, above = _checks.tails(level, side)
    before = TheseTasks(Counter((n, c) for n, c, _, _ in rows), k, rate)
    after = TheseTasks(Counter((n, c) for _, _, n, c in rows), k, rate)

    def at(error: float) -> tuple[float, float]:
        return mover(before.estimate, before.ends(error, error), after.estimate, after.ends(error, error))

    low = -1.0 if below is None else at(below)[0]
    high = 1.0 if above is None else at(above)[1]
    notes = {"before": before.worth.note, "after": after.worth.note}
    note = "; ".join(f"{arm}: {each}" for arm, each in notes.items() if each)
    return Interval(max(-1.0, low), min(1.0, high), method=_THESE, note=note, level=float(level), side=side)


def difference_interval(
    n_before: SupportsIndex | Counts,
    c_before: Counts,
    n_after: SupportsIndex | Counts,
    c_after: Counts,
    *,
    k: SupportsIndex = 1,
    rate: Rate = "pass^k",
    of: Target = "these tasks",
    level: float = 0.95,
    side: Side = "both",
) -> Interval:
    """The interval for the change of pass^k or pass@k (after minus before) over the same tasks.

    Trials and passes in the same order of tasks on both sides; numbers of trials may differ, down to
    k. ``of="these tasks"``: MOVER of the two sides' own intervals. ``of="tasks like these"``:
    Dirichlet over the tasks' differences. ``side="lower"`` is what a non-inferiority gate uses.

    The result unpacks as ``low, high`` within -1..1 and holds the estimate.
    Raises ValueError for sides of different length, tasks with fewer than k trials, non-counts.

    >>> low, high = difference_interval(5, [5, 4, 5, 3], 5, [5, 5, 4, 0])
    >>> round(low, 2), round(high, 2)
    (-0.37, 0.12)
    """
    rows, size = _checked(n_before, c_before, n_after, c_after, k, rate)
    if _checks.target_word(of) == "these tasks":
        return _these_tasks_interval(rows, size, rate, level, side)
    return _population_interval(Counter(float(d) for d in _differences(rows, size, rate)), level, side)


def _checked(
    n1: SupportsIndex | Counts, c1: Counts, n2: SupportsIndex | Counts, c2: Counts, k: SupportsIndex, rate: Rate
) -> tuple[list[Row], int]:
    rows, size = two_sides(n1, c1, n2, c2), _checks.whole(k, "k", at_least=1)
    _checks.rate_word(rate)
    for side in (0, 2):
        enough_trials([row[side] for row in rows], size, rate)
    return rows, size


def _differences(rows: list[Row], k: int, rate: Rate) -> list[Fraction]:
    return [score_of(n2, c2, k, rate) - score_of(n1, c1, k, rate) for n1, c1, n2, c2 in rows]


@dataclass(frozen=True, slots=True)
class Paired:
    """A paired comparison: what changed (after minus before, in -1..1) and how sure that is.

    ``se`` is the task-level standard error (None with one task) and ``correlation`` that of the two
    sides' task scores (None where a side has no spread). Each target has its interval and its test.
    """

    estimate: float
    tasks: int
    se: float | None
    correlation: float | None
    these_tasks: Interval
    these_tasks_test: TestResult
    tasks_like_these: Interval
    tasks_like_these_test: TestResult


def paired(
    n_before: SupportsIndex | Counts,
    c_before: Counts,
    n_after: SupportsIndex | Counts,
    c_after: Counts,
    *,
    k: SupportsIndex = 1,
    rate: Rate = "pass^k",
    level: float = 0.95,
    seed: int = 0,
) -> Paired:
    """Compare the same tasks before and after: estimate, both intervals, both tests.

    These tasks: MOVER, and CMH with continuity correction for k = 1, label permutation within tasks
    for k > 1. Tasks like these: Dirichlet over differences, and the sign-flip test. ``seed`` serves
    the tests where they have to draw. Decide beforehand which target a verdict hangs on.

    Raises ValueError for sides of different length, tasks with fewer than k trials, non-counts.

    >>> found = paired(5, [5, 4, 5, 3, 0, 5, 2, 4, 5, 1], 5, [5, 5, 4, 0, 3, 5, 2, 5, 1, 5])
    >>> round(found.estimate, 3), found.tasks_like_these_test.p
    (0.02, 1.0)
    """
    rows, size = _checked(n_before, c_before, n_after, c_after, k, rate)
    sides = (n_before, c_before, n_after, c_after)
    differences = _differences(rows, size, rate)
    before = [float(score_of(n, c, size, rate)) for n, c, _, _ in rows]
    after = [float(score_of(n, c, size, rate)) for _, _, n, c in rows]
    return Paired(
        estimate=float(sum(differences, Fraction(0)) / len(rows)),
        tasks=len(rows),
        se=_standard_error([float(d) for d in differences]),
        correlation=_correlation(before, after),
        these_tasks=_these_tasks_interval(rows, size, rate, level, "both"),
        these_tasks_test=cmh(*sides) if size == 1 else label_permutation(*sides, k=size, rate=rate, seed=seed),
        tasks_like_these=_population_interval(Counter(map(float, differences)), level, "both"),
        tasks_like_these_test=sign_flip_exactly(differences, seed),
    )


def _centred(values: list[float]) -> list[float]:
    mean = math.fsum(values) / len(values)
    return [v - mean for v in values]


def _standard_error(values: list[float]) -> float | None:
    if len(values) < 2:
        return None
    return math.sqrt(math.fsum(v * v for v in _centred(values)) / (len(values) - 1) / len(values))


def _correlation(x: list[float], y: list[float]) -> float | None:
    if len(set(x)) < 2 or len(set(y)) < 2:
        return None
    x, y = _centred(x), _centred(y)
    together = math.fsum(a * b for a, b in zip(x, y, strict=True))
    return together / math.sqrt(math.fsum(a * a for a in x) * math.fsum(b * b for b in y))
