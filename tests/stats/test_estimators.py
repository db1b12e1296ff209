"""pass@k and pass^k: the worked figures, the properties, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from passhat.stats import family_means, interval, pass_at_k, pass_hat_k, suite_rate, task_scores

WINS = [int(c) for c in "4445555554435353535445443553554555444444"]


@st.composite
def one_task(draw: st.DrawFn) -> tuple[int, int, int]:
    n = draw(st.integers(1, 60))
    return n, draw(st.integers(0, n)), draw(st.integers(1, n))


def test_two_hundred_trials_of_a_known_coin_give_the_published_rates_exactly() -> None:
    assert sum(WINS) == 172
    assert suite_rate(5, WINS) == 0.86
    assert suite_rate(5, WINS, k=5) == 0.45
    found = [suite_rate(5, WINS, k=k) for k in (2, 3, 4)]
    assert found == [0.735, 0.625, 0.53]
    assert suite_rate(5, WINS, k=2, rate="pass@k") == 0.985
    assert suite_rate(5, WINS, k=3, rate="pass@k") == 1.0


def test_five_trials_with_four_passes_at_k_three() -> None:
    assert pass_hat_k(5, 4, 3) == 0.4
    assert pass_at_k(5, 4, 3) == 1


def test_the_suites_rate_is_no_power_of_its_pass_at_1() -> None:
    # rates 1, .9, .6, .2: the cube of the mean is .3075, the mean of the cubes .4883
    many = 100_000
    found = suite_rate(many, [many, many * 9 // 10, many * 6 // 10, many * 2 // 10], k=3)
    assert found == pytest.approx(0.48825, abs=2e-5)
    assert abs(found - 0.675**3) > 0.18


def test_a_coin_of_three_quarters_reaches_the_textbook_values_in_the_limit() -> None:
    many = 400_000
    assert pass_hat_k(many, many * 3 // 4, 3) == pytest.approx(0.421875, abs=1e-5)
    assert pass_at_k(many, many * 3 // 4, 3) == pytest.approx(0.984375, abs=1e-5)
    assert pass_hat_k(many, many * 9 // 10, 10) == pytest.approx(0.9**10, abs=1e-4)


@given(one_task())
@settings(deadline=None)
def test_scores_are_the_hypergeometric_chances_of_scipy(task: tuple[int, int, int]) -> None:
    n, c, k = task
    law = scipy_stats.hypergeom(n, c, k)
    assert pass_hat_k(n, c, k) == pytest.approx(float(law.pmf(k)), abs=1e-9)
    assert pass_at_k(n, c, k) == pytest.approx(1 - float(law.pmf(0)), abs=1e-9)


@given(one_task())
@settings(deadline=None)
def test_pass_hat_falls_and_pass_at_rises_with_k(task: tuple[int, int, int]) -> None:
    n, c, k = task
    assert pass_hat_k(n, c, 1) == pass_at_k(n, c, 1) == c / n
    if k < n:
        assert pass_hat_k(n, c, k + 1) <= pass_hat_k(n, c, k)
        assert pass_at_k(n, c, k + 1) >= pass_at_k(n, c, k)


@given(one_task())
@settings(deadline=None)
def test_failing_every_time_mirrors_passing_at_least_once(task: tuple[int, int, int]) -> None:
    n, c, k = task
    assert pass_at_k(n, c, k) == pytest.approx(1 - pass_hat_k(n, n - c, k), abs=1e-12)
    if c < k:
        assert pass_hat_k(n, c, k) == 0
    if n - c < k:
        assert pass_at_k(n, c, k) == 1


@pytest.mark.parametrize("p", [0.1, 0.5, 0.85])
@pytest.mark.parametrize(("n", "k"), [(3, 2), (5, 3), (8, 8)])
def test_both_estimators_are_unbiased(p: float, n: int, k: int) -> None:
    chance = [math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    assert sum(w * pass_hat_k(n, c, k) for c, w in enumerate(chance)) == pytest.approx(p**k)
    assert sum(w * pass_at_k(n, c, k) for c, w in enumerate(chance)) == pytest.approx(1 - (1 - p) ** k)


def test_with_fifty_tasks_one_task_is_two_percentage_points() -> None:
    assert suite_rate(3, [3] * 40 + [0] * 10) - suite_rate(3, [3] * 39 + [0] * 11) == pytest.approx(0.02)


def test_each_task_uses_its_own_number_of_trials() -> None:
    assert task_scores([5, 3, 4], [4, 3, 2], k=3) == [0.4, 1.0, 0.0]
    assert suite_rate([2, 4], [1, 4]) == 0.75  # every task weighs the same: not 5/6
    exact = (Fraction(1, 3) + Fraction(2, 7) + 1) / 3
    assert suite_rate([3, 7, 2], [1, 2, 2]) == float(exact)


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_counts_may_be_lists_tuples_or_arrays(kind: Any) -> None:
    counts = kind([5, 4, 0])
    trials = kind([5, 5, 5])
    assert suite_rate(trials, counts, k=2) == suite_rate(5, counts, k=2) == pytest.approx(1.6 / 3)
    assert suite_rate(np.int64(5), counts, k=np.int32(2)) == pytest.approx(1.6 / 3)
    assert list(interval(trials, counts)) == list(interval(np.array(5), counts))


@pytest.mark.parametrize("k", [0, -1, 1.5, math.nan, math.inf, "5", True, None])
def test_k_that_is_no_positive_integer_is_refused_with_its_value(k: Any) -> None:
    for function in (pass_at_k, pass_hat_k):
        with pytest.raises(ValueError, match="k must be a positive integer, got") as caught:
            function(5, 3, k)
        assert repr(k) in str(caught.value)
    with pytest.raises(ValueError, match="k must be a positive integer"):
        suite_rate(5, [3], k=k)


@pytest.mark.parametrize(
    ("n", "c", "message"),
    [
        (3, 4, "c must be at most n, got c=4 of n=3"),
        (3, -1, "c must be an integer of at least 0, got -1"),
        (0, 0, "n must be a positive integer, got 0"),
        (5, True, "c must be an integer of at least 0, got True"),
        (np.True_, 1, "n must be a positive integer, got"),
        (5.0, 1, "n must be a positive integer, got 5.0"),
        (5, np.array([1, 2]), "c must be an integer"),
    ],
)
def test_impossible_counts_are_refused_with_their_value(n: Any, c: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pass_hat_k(n, c, 1)


def test_k_above_n_is_an_error_that_says_what_to_do_and_never_0() -> None:
    with pytest.raises(ValueError, match=r"pass\^4 needs at least k=4 trials, got n=3.*interval\(\)"):
        pass_hat_k(3, 3, 4)
    with pytest.raises(ValueError, match="pass@4 needs at least k=4 trials"):
        pass_at_k(3, 3, 4)


def test_tasks_that_lack_trials_are_listed() -> None:
    with pytest.raises(ValueError, match=r"2 of 3 tasks have fewer \(tasks 0, 2\)"):
        suite_rate([3, 5, 4], [1, 1, 1], k=5)
    with pytest.raises(ValueError, match=r"12 of 12 tasks have fewer \(tasks 0, 1, .*9, …\)"):
        suite_rate(3, [1] * 12, k=5)


@pytest.mark.parametrize(
    ("n", "c", "message"),
    [
        (5, [], "empty suite has no rate"),
        ([], [], "empty suite has no rate"),
        ([5, 5], [1], "one number a task each, got 2 and 1"),
        (5, [1, 6], "c must be at most n, got c=6 of n=5 for task 1"),
        (5, [1, True], "c of task 1 must be an integer of at least 0, got True"),
        (5, [0.5], "c of task 0 must be an integer of at least 0, got 0.5"),
        (5, 3, "c must be a sequence with one number a task, got 3"),
        (5, "33", "c must be a sequence"),
        ("5", [3], "n must be a positive integer, got '5'"),
        ([5, 0], [3, 0], "n of task 1 must be a positive integer, got 0"),
        (np.array([1.0]), [1], "n of task 0 must be a positive integer, got 1.0"),
        (5, np.array([True]), "c of task 0 must be an integer of at least 0, got True"),
    ],
)
def test_what_is_no_suite_of_counts_is_refused(n: Any, c: Any, message: str) -> None:
    for function in (suite_rate, task_scores, interval):
        with pytest.raises(ValueError, match=message):
            function(n, c)


def test_an_unknown_rate_is_refused() -> None:
    wrong: Any = "pass%k"
    with pytest.raises(ValueError, match=r"rate must be one of 'pass\^k', 'pass@k', got 'pass%k'"):
        suite_rate(5, [1], rate=wrong)


def test_families_count_once() -> None:
    assert family_means([1.0, 0.0, 0.5, 0.25], ["a", "b", "a", "b"]) == [0.75, 0.125]
    assert family_means([-1.0, 0.5], ["a", "a"]) == [-0.25]  # of paired differences
    with pytest.raises(ValueError, match="families must name one family a task, got 1 for 2 tasks"):
        family_means([1.0, 0.0], ["a"])
