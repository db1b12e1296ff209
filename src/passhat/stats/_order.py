"""Does the order of a task's trials tell anything about their results? It should not.

Three tests, each conditional on every task's number of passes, so that they hold whatever the tasks'
rates: too few runs (a result carried over), a trend over the run (drift), rounds that differ (an
outage shared by all tasks). Bonferroni over the three.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from passhat.stats import _checks
from passhat.stats._binomial import normal_quantile, normal_tail
from passhat.stats._test_result import TestResult

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MIN_TRIALS_ORDER = 5
"""Trials a task must have to take part."""
MIN_TASKS_ORDER = 5
"""Tasks with passes and failures that are needed for any word on order."""
FEW_TRIALS = 50
"""Below so many informative trials p values come from permutations within tasks."""

_PERMUTATIONS = 9_999

OrderVerdict: TypeAlias = Literal["dependence found", "not found", "not testable"]
OrderMethod: TypeAlias = Literal["auto", "normal", "permutation"]


@dataclass(frozen=True, slots=True)
class OrderCheck:
    """What the order of trials shows. ``p`` is Bonferroni's over the three tests, None if not testable.

    "not found" is not evidence of independence; ``note`` gives the power that the check had.
    ``tasks`` counts the informative ones: those with at least 5 trials, some passed and some failed.
    """

    verdict: OrderVerdict
    p: float | None
    runs: TestResult | None
    trend: TestResult | None
    rounds: TestResult | None
    tasks: int
    trials: int
    note: str


def order_check(
    trials: Sequence[Sequence[object]], *, error: float = 0.05, method: OrderMethod = "auto", seed: int = 0
) -> OrderCheck:
    """Look for dependence between the trials of each task: one sequence of passes (1, True) and
    failures (0, False) a task, in the order in which the trials ran.

    "not testable" with fewer than 5 tasks that have at least 5 trials of which some passed and some
    failed. A state that all trials of a task share cannot be seen here at all: it looks like a task
    that always, or never, passes. ``method`` "auto" uses permutations within tasks (9,999, seeded)
    below 50 informative trials, else normal and chi-squared laws.

    Raises ValueError for results that are neither pass nor fail.
    Sources: Wald & Wolfowitz 1940 (runs), Cochran 1954 and Armitage 1955 (trend), Cochran 1950 (Q),
    each summed over tasks.

    >>> order_check([[1, 1, 1, 0, 0]] * 12).verdict
    'dependence found'
    >>> order_check([[1, 1, 1, 1, 1]] * 12).verdict
    'not testable'
    """
    share = _checks.share(error, "error")
    rows = [[_result(each, i) for each in task] for i, task in enumerate(trials)]
    long = [row for row in rows if len(row) >= MIN_TRIALS_ORDER]
    mixed = [row for row in long if 0 < sum(row) < len(row)]
    count = sum(map(len, mixed))
    if len(mixed) < MIN_TASKS_ORDER:
        return OrderCheck("not testable", None, None, None, None, len(mixed), count, _too_thin(rows, long, mixed))
    sums = _Sums.of(mixed)
    if method == "permutation" or (method == "auto" and count < FEW_TRIALS):
        runs, trend, rounds = sums.by_permutation(seed)
    else:
        runs, trend, rounds = sums.by_law()
    p = min(1.0, 3 * min(runs.p, trend.p, rounds.p))
    verdict: OrderVerdict = "dependence found" if p <= share else "not found"
    note = _found(runs, trend, rounds, share) if p <= share else sums.power(share)
    return OrderCheck(verdict, p, runs, trend, rounds, len(mixed), count, note)


def _result(value: object, task: int) -> int:
    if value not in (0, 1):
        raise ValueError(f"results must be 1 or 0 (True or False), got {value!r} in task {task}")
    return int(bool(value))


def _too_thin(rows: list[list[int]], long: list[list[int]], mixed: list[list[int]]) -> str:
    if len(long) < MIN_TASKS_ORDER:
        if len(long) == len(rows):
            return (
                f"there {'is 1 task' if len(rows) == 1 else f'are {len(rows)} tasks'}, and it takes {MIN_TASKS_ORDER}"
            )
        return f"only {len(long)} of {len(rows)} tasks have at least {MIN_TRIALS_ORDER} trials"
    return (
        f"only {len(mixed)} of {len(rows)} tasks both passed and failed: with fewer than {MIN_TASKS_ORDER} the "
        f"order of trials cannot be judged"
    )


def _found(runs: TestResult, trend: TestResult, rounds: TestResult, error: float) -> str:
    words = [
        (runs, "a result tends to repeat the one before"),
        (trend, "the pass rate drifts over the run"),
        (rounds, "some rounds went differently for many tasks at once"),
    ]
    return "; ".join(f"{word} (p = {test.p:.2g})" for test, word in words if 3 * test.p <= error)


def _lost_changes(n: int, repeated: float) -> float:
    """Share of the changes expected given c that is missing where results repeat the one before.

    Repeating also spreads c, which lowers what is expected: pq n (n - V/n) with V = Var(c) / pq.
    """
    spread = 1 + 2 * math.fsum((1 - h / n) * repeated**h for h in range(1, n))
    return (n - spread) / (n - 1) - (1 - repeated)


@dataclass(frozen=True, slots=True)
class _Sums:
    """The three statistics and what they are expected to be, given every task's number of passes."""

    rows: list[list[int]]
    changes_expected: float
    changes_variance: float
    trend_variance: float
    rounds_expected: Array
    rounds_inverse: Array
    rank: int
    replay: float  # changes that are lost where one result in five repeats the one before
    drift: float  # expected trend statistic for one logit over the run

    @classmethod
    def of(cls, rows: list[list[int]]) -> _Sums:
        import numpy as np

        longest = max(map(len, rows))
        expected, covariance = np.zeros(longest), np.zeros((longest, longest))
        changes = changes_variance = trend_variance = replay = drift = 0.0
        for row in rows:
            n, c = len(row), sum(row)
            pairs = 2 * c * (n - c) / n
            changes += pairs
            changes_variance += pairs * (pairs * n - n) / (n * (n - 1))
            spread = n * (n * n - 1) / 12  # sum of squared distances from the middle trial
            unit = c * (n - c) / (n * (n - 1))
            trend_variance += unit * spread
            replay += pairs * _lost_changes(n, 0.2)
            drift += unit * spread / (n - 1)
            expected[:n] += c / n
            covariance[:n, :n] += unit * (np.eye(n) - 1 / n)
        rank = int(np.linalg.matrix_rank(covariance, hermitian=True))
        inverse = np.linalg.pinv(covariance, hermitian=True).astype(np.float64)
        return cls(rows, changes, changes_variance, trend_variance, expected, inverse, rank, replay, drift)

    def _statistics(self, draws: list[Array]) -> tuple[Array, Array, Array]:
        """Changes, trend and rounds for arrays (draws, n) of results, one a task."""
        import numpy as np

        count = len(draws[0])
        changes, trend = np.zeros(count), np.zeros(count)
        rounds = np.tile(-self.rounds_expected, (count, 1))
        for x in draws:
            n = x.shape[1]
            changes += np.abs(np.diff(x, axis=1)).sum(axis=1)
            trend += x @ (np.arange(n) - (n - 1) / 2)
            rounds[:, :n] += x
        return changes, trend, np.einsum("di,ij,dj->d", rounds, self.rounds_inverse, rounds)

    def _seen(self) -> tuple[float, float, float]:
        import numpy as np

        changes, trend, rounds = self._statistics([np.array([row], dtype=float) for row in self.rows])
        return float(changes[0]), float(trend[0]), float(rounds[0])

    def by_law(self) -> tuple[TestResult, TestResult, TestResult]:
        from scipy.special import chdtrc

        changes, trend, rounds = self._seen()
        z_runs = (changes - self.changes_expected) / math.sqrt(self.changes_variance)
        z_trend = trend / math.sqrt(self.trend_variance)
        return (
            TestResult(normal_tail(-z_runs), "runs within tasks, one-sided (too few), normal", z_runs),
            TestResult(2 * normal_tail(abs(z_trend)), "trend within tasks, two-sided, normal", z_trend),
            TestResult(float(chdtrc(self.rank, rounds)), "Cochran's Q over rounds, chi-squared", rounds),
        )

    def by_permutation(self, seed: int) -> tuple[TestResult, TestResult, TestResult]:
        import numpy as np

        rng = np.random.default_rng(seed)
        draws = [rng.permuted(np.tile(np.array(row, dtype=float), (_PERMUTATIONS, 1)), axis=1) for row in self.rows]
        changes, trend, rounds = self._statistics(draws)
        runs_law, trend_law, rounds_law = self.by_law()
        seen = self._seen()

        def result(hits: NDArray[np.bool_], law: TestResult, name: str) -> TestResult:
            p = (int(hits.sum()) + 1) / (_PERMUTATIONS + 1)
            return TestResult(p, f"{name}, {_PERMUTATIONS} permutations within tasks, seed {seed}", law.statistic)

        return (
            result(changes <= seen[0] + 1e-9, runs_law, "runs, one-sided (too few)"),
            result(np.abs(trend) >= abs(seen[1]) - 1e-9, trend_law, "trend, two-sided"),
            result(rounds >= seen[2] - 1e-9, rounds_law, "Cochran's Q over rounds"),
        )

    def power(self, error: float) -> str:
        """What the check would have found, from the expected shift of runs and trend."""
        limit = normal_quantile(1 - error / 3)
        replay = normal_tail(limit - self.replay / math.sqrt(self.changes_variance))
        limit = normal_quantile(1 - error / 6)
        drift = normal_tail(limit - self.drift / math.sqrt(self.trend_variance))
        return (
            f"power about {replay:.2f} where one result in five repeats the one before, {drift:.2f} where the pass "
            f"rate drifts by one logit over the run"
        )
