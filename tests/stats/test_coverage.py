"""How often the intervals hold the truth: the quick cells always, the grid on request (`-m slow`)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from passhat import stats
from passhat.stats import Rate, difference_interval, interval, mean_interval

Rates = NDArray[np.float64]
Law = Callable[[np.random.Generator, int], Rates]


def _mixture(rng: np.random.Generator, tasks: int) -> Rates:
    return rng.choice([1.0, 0.5, 0.0], size=tasks, p=[0.6, 0.2, 0.2])


def _rare_hard(rng: np.random.Generator, tasks: int) -> Rates:
    return rng.choice([0.97, 0.0], size=tasks, p=[0.97, 0.03])


LAWS: dict[str, Law] = {
    "all .85": lambda rng, tasks: np.full(tasks, 0.85),
    "Beta(8, 2)": lambda rng, tasks: rng.beta(8, 2, tasks),
    "Beta(.5, .5)": lambda rng, tasks: rng.beta(0.5, 0.5, tasks),
    "60 % 1, 20 % .5, 20 % 0": _mixture,
    "Beta(40, 1)": lambda rng, tasks: rng.beta(40, 1, tasks),
    "97 % .97, 3 % 0": _rare_hard,
}


def score(p: Rates, k: int, rate: Rate) -> float:
    return float(np.mean(p**k if rate == "pass^k" else 1 - (1 - p) ** k))


def coverage(law: str, tasks: int, n: int, k: int, rate: Rate, repeats: int, seed: int) -> tuple[float, float]:
    """Shares of the intervals for (these tasks, tasks like these) that hold their own truth."""
    rng = np.random.default_rng(seed)
    truth = score(LAWS[law](rng, 2_000_000), k, rate)
    fixed = population = 0
    for _ in range(repeats):
        p = LAWS[law](rng, tasks)
        c = rng.binomial(n, p)
        low, high = interval(n, c, k=k, rate=rate)
        fixed += low - 1e-9 <= score(p, k, rate) <= high + 1e-9
        low, high = interval(n, c, k=k, rate=rate, of="tasks like these")
        population += low <= truth <= high
    return fixed / repeats, population / repeats


def least(stated: float, repeats: int) -> float:
    """What a method with ``stated`` coverage falls below in one cell of a thousand."""
    return stated - 3.1 * math.sqrt(stated * (1 - stated) / repeats)


@pytest.mark.parametrize(
    ("law", "tasks", "n", "k", "rate"),
    [
        ("Beta(8, 2)", 10, 3, 1, "pass^k"),
        ("Beta(.5, .5)", 20, 10, 3, "pass^k"),
        ("60 % 1, 20 % .5, 20 % 0", 20, 5, 1, "pass^k"),
        ("Beta(40, 1)", 20, 1, 1, "pass^k"),
        ("97 % .97, 3 % 0", 20, 10, 1, "pass^k"),
        ("Beta(8, 2)", 50, 5, 3, "pass@k"),
    ],
)
def test_both_intervals_hold_the_truth_as_often_as_stated(law: str, tasks: int, n: int, k: int, rate: Rate) -> None:
    fixed, population = coverage(law, tasks, n, k, rate, repeats=400, seed=17)
    assert fixed >= least(0.939, 400)  # the measured minimum of the variance rule
    assert population >= least(0.946, 400)


def test_partial_credit_of_the_population_is_held_as_often_as_stated() -> None:
    rng = np.random.default_rng(23)
    hits = 0
    for _ in range(400):
        scores = np.where(rng.random(12) < 0.3, rng.random(12), 1.0)
        hits += 0.85 in mean_interval(scores)
    assert hits / 400 >= least(0.946, 400)


def test_paired_differences_are_held_as_often_as_stated() -> None:
    rng = np.random.default_rng(29)
    fixed = population = 0
    for _ in range(300):
        p = rng.beta(8, 2, 20)
        q = np.where(rng.random(20) < 0.15, 0.2 * p, p)
        sides = (5, rng.binomial(5, p), 5, rng.binomial(5, q))
        fixed += float(np.mean(q - p)) in difference_interval(*sides)
        population += -0.15 * 0.8 * 0.8 in difference_interval(*sides, of="tasks like these")
    assert fixed / 300 >= least(0.937, 300)
    assert population / 300 >= least(0.941, 300)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("tasks", [5, 20, 50])
def test_both_intervals_hold_the_truth_on_the_whole_grid(law: str, tasks: int) -> None:
    cells: list[tuple[int, int, Rate]] = [(1, 1, "pass^k"), (5, 1, "pass^k"), (10, 1, "pass^k"), (30, 1, "pass^k")]
    cells += [(n, k, rate) for n, k in ((3, 3), (10, 5), (30, 8)) for rate in ("pass^k", "pass@k")]
    for n, k, rate in cells:
        fixed, population = coverage(law, tasks, n, k, rate, repeats=1000, seed=31)
        assert fixed >= least(0.939, 1000), (n, k, rate)
        assert population >= least(0.946, 1000), (n, k, rate)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_paired_differences_are_held_on_the_whole_grid(law: str) -> None:
    for tasks, n, k in ((5, 5, 1), (20, 5, 1), (20, 10, 3), (50, 3, 3)):
        rng = np.random.default_rng(37)
        fixed = population = 0
        for _ in range(1000):
            p = LAWS[law](rng, tasks)
            q = np.where(rng.random(tasks) < 0.3, LAWS[law](rng, tasks), p)
            sides = (n, rng.binomial(n, p), n, rng.binomial(n, q))
            fixed += score(q, k, "pass^k") - score(p, k, "pass^k") in difference_interval(*sides, k=k)
            population += 0.0 in difference_interval(*sides, k=k, of="tasks like these")
        assert fixed / 1000 >= least(0.937, 1000), (tasks, n, k)
        assert population / 1000 >= least(0.941, 1000), (tasks, n, k)


@pytest.mark.parametrize(
    ("tasks", "n", "broken", "bar", "k"), [(60, 6, 1, 0.98, 1), (20, 5, 1, 0.93, 1), (12, 5, 1, 0.86, 2)]
)
def test_a_gate_isnt_met_by_luck_when_few_tasks_never_pass_and_the_rest_nearly_always_do(
    tasks: int, n: int, broken: int, bar: float, k: int
) -> None:
    # the truth is a hair below the bar: one-sided 5 %, 500 runs, so more than 8 % would be four standard errors off
    p = ((bar - 2e-4) * tasks / (tasks - broken)) ** (1 / k)
    rng = np.random.default_rng(60)
    seen: Counter[tuple[int, ...]] = Counter(
        tuple(sorted(rng.binomial(n, p, tasks - broken).tolist())) for _ in range(500)
    )
    met = sum(
        times for counts, times in seen.items() if stats.gate(bar, n, [*counts, *[0] * broken], k=k).verdict == "met"
    )
    assert met / 500 <= 0.08


def test_solved_tasks_prove_no_more_than_their_own_trials() -> None:
    counts = [5] * 59 + [0]
    low, _ = stats.interval(5, counts, side="lower")
    assert low <= (59 / 60) * 0.05 ** (1 / (59 * 5)) + 1e-12  # the closed form of 295 passes of 295
    assert low >= stats.clopper_pearson(295, 300, side="lower").low  # and never less than the binomial's end
    mirrored = stats.interval(5, [5 - c for c in counts], side="upper")
    assert mirrored.high == pytest.approx(1 - low, abs=1e-12)
