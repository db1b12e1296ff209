"""Tests about these tasks: did the trials' results change, task for task?"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import SupportsIndex

from passhat.stats import _checks
from passhat.stats._estimators import enough_trials, score_of
from passhat.stats._test_result import TestResult
from passhat.stats._types import Counts, Rate

_WORK = 300_000_000
_DRAWS = 19_999

Row = tuple[int, int, int, int]


def two_sides(
    n_before: SupportsIndex | Counts, c_before: Counts, n_after: SupportsIndex | Counts, c_after: Counts
) -> list[Row]:
    """Checked rows (n, c, n, c) of the same tasks before and after."""
    n1, c1 = _checks.counts(n_before, c_before)
    n2, c2 = _checks.counts(n_after, c_after)
    if len(c1) != len(c2):
        raise ValueError(f"both sides must hold the same tasks, got {len(c1)} before and {len(c2)} after")
    return list(zip(n1, c1, n2, c2, strict=True))


def mcnemar(better: SupportsIndex, worse: SupportsIndex) -> TestResult:
    """McNemar's exact test for one trial a task: how many tasks got better, how many got worse.

    Two-sided; tasks with the same result on both sides do not count. Equal to the sign-flip test.
    Raises ValueError for what is not a count. Source: McNemar 1947, exact binomial form.

    >>> mcnemar(5, 2).p
    0.453125
    """
    up, down = _checks.whole(better, "better"), _checks.whole(worse, "worse")
    total = up + down
    tail = sum(math.comb(total, i) for i in range(min(up, down) + 1))
    return TestResult(min(1.0, 2 * tail / 2**total), "McNemar, exact")


def cmh(
    n_before: SupportsIndex | Counts, c_before: Counts, n_after: SupportsIndex | Counts, c_after: Counts
) -> TestResult:
    """Did the net result on these tasks change? The Cochran–Mantel–Haenszel test, a task a stratum.

    Trials and passes of the same tasks on both sides; the statistic is chi-squared with one degree of
    freedom, with continuity correction. It speaks of these tasks only: where tasks move both ways it
    finds "changes" of the population up to 45 % of the time that are not there.

    Raises ValueError when the sides differ in length, or for what is not a count.
    Source: Mantel & Haenszel 1959.

    >>> found = cmh(10, [9, 10, 8], 10, [5, 6, 4])
    >>> round(found.p, 4)
    0.0021
    """
    shift, variance = Fraction(0), Fraction(0)
    for n1, c1, n2, c2 in two_sides(n_before, c_before, n_after, c_after):
        total, passes = n1 + n2, c1 + c2
        shift += c2 - Fraction(n2 * passes, total)
        variance += Fraction(n1 * n2 * passes * (total - passes), total * total * (total - 1))
    if not variance:
        note = "every task passed always or never on both sides together: there is nothing to compare"
        return TestResult(1.0, "CMH with continuity correction", 0.0, note)
    statistic = max(abs(float(shift)) - 0.5, 0.0) ** 2 / float(variance)
    return TestResult(math.erfc(math.sqrt(statistic / 2)), "CMH with continuity correction", statistic)


def label_permutation(
    n_before: SupportsIndex | Counts,
    c_before: Counts,
    n_after: SupportsIndex | Counts,
    c_after: Counts,
    *,
    k: SupportsIndex = 1,
    rate: Rate = "pass^k",
    seed: int = 0,
) -> TestResult:
    """Did pass^k or pass@k of these tasks change? Every trial of a task may have been of either side.

    Under no change each task's passes fall on the two sides at random (hypergeometric); p is the
    chance of a suite difference at least as large as the one seen. Exact where the scores share a
    small denominator, else 19,999 seeded draws with p = (b + 1) / (m + 1).

    Raises ValueError as ``cmh`` does, and for tasks with fewer than k trials.

    >>> round(label_permutation(5, [5, 5, 5], 5, [2, 3, 2], k=2).p, 4)
    0.0031
    """
    rows = two_sides(n_before, c_before, n_after, c_after)
    size = _checks.whole(k, "k", at_least=1)
    _checks.rate_word(rate)
    for side in (0, 2):
        enough_trials([row[side] for row in rows], size, rate)
    seen = sum((score_of(n2, c2, size, rate) - score_of(n1, c1, size, rate) for n1, c1, n2, c2 in rows), Fraction(0))
    laws = Counter((n1, n2, c1 + c2) for n1, c1, n2, c2 in rows)
    outcomes = {law: _outcomes(*law, size, rate) for law in laws}
    unit = math.lcm(*(d.denominator for law in outcomes.values() for d, _ in law))
    spread = sum(int((max(law)[0] - min(law)[0]) * unit) * laws[key] for key, law in outcomes.items())
    if spread * sum(len(outcomes[key]) * tasks for key, tasks in laws.items()) <= _WORK:
        return TestResult(_exactly(laws, outcomes, unit, abs(seen)), "label permutation within tasks, exact")
    p = _by_draws(laws, outcomes, abs(float(seen)), seed)
    return TestResult(p, f"label permutation within tasks, {_DRAWS} draws, seed {seed}")


Law = tuple[int, int, int]
Outcomes = list[tuple[Fraction, float]]


def _outcomes(n1: int, n2: int, passes: int, k: int, rate: Rate) -> Outcomes:
    """Differences that one task can show with so many passes in all, and their chances."""
    whole = math.comb(n1 + n2, passes)
    return [
        (
            score_of(n2, passes - x, k, rate) - score_of(n1, x, k, rate),
            math.comb(n1, x) * math.comb(n2, passes - x) / whole,
        )
        for x in range(max(0, passes - n2), min(n1, passes) + 1)
    ]


def _exactly(laws: Counter[Law], outcomes: dict[Law, Outcomes], unit: int, seen: Fraction) -> float:
    import numpy as np

    chance, least = np.ones(1), 0
    for law in laws.elements():
        steps = [(int(d * unit), p) for d, p in outcomes[law]]
        low, high = min(steps)[0], max(steps)[0]
        wider = np.zeros(len(chance) + high - low)
        for step, p in steps:
            wider[step - low : step - low + len(chance)] += p * chance
        chance, least = wider, least + low
    sums = least + np.arange(len(chance))
    return min(1.0, float(chance[np.abs(sums) >= int(seen * unit)].sum()))


def _by_draws(laws: Counter[Law], outcomes: dict[Law, Outcomes], seen: float, seed: int) -> float:
    import numpy as np

    rng = np.random.default_rng(seed)
    sums = np.zeros(_DRAWS)
    for law, tasks in laws.items():
        values = np.array([float(d) for d, _ in outcomes[law]])
        chances = np.array([p for _, p in outcomes[law]])
        for _ in range(tasks):
            sums += rng.choice(values, size=_DRAWS, p=chances / chances.sum())
    return (int((np.abs(sums) >= seen - 1e-9).sum()) + 1) / (_DRAWS + 1)
