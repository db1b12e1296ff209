"""Order of trials: size under independence, power against known faults, and the words."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit, logit

from passhat.stats import order_check


def independent(rng: np.random.Generator, tasks: int, n: int) -> NDArray[np.bool_]:
    return rng.random((tasks, n)) < rng.beta(8, 2, tasks)[:, None]


def replayed(rng: np.random.Generator, tasks: int, n: int, chance: float) -> NDArray[np.bool_]:
    x = independent(rng, tasks, n)
    for j in range(1, n):
        again = rng.random(tasks) < chance
        x[again, j] = x[again, j - 1]
    return x


def drifting(rng: np.random.Generator, tasks: int, n: int) -> NDArray[np.bool_]:
    logits = logit(rng.beta(8, 2, tasks))[:, None] + np.linspace(-0.5, 0.5, n)
    return rng.random((tasks, n)) < expit(logits)


@pytest.mark.parametrize(("tasks", "n"), [(50, 10), (15, 5)])
def test_independent_trials_are_rarely_called_dependent(tasks: int, n: int) -> None:
    rng = np.random.default_rng(21)
    verdicts = [order_check(independent(rng, tasks, n).tolist(), method="normal").verdict for _ in range(300)]
    # at most 5.4 % over 27 settings; three standard errors of 300 draws are 3.9 points
    assert verdicts.count("dependence found") <= 300 * (0.054 + 0.039)


def test_results_that_repeat_the_one_before_are_found_by_runs() -> None:
    found = order_check(replayed(np.random.default_rng(1), 50, 10, 0.5).tolist())
    assert found.verdict == "dependence found"
    assert "a result tends to repeat the one before (p = " in found.note
    assert found.runs is not None
    assert found.p == pytest.approx(min(1.0, 3 * found.runs.p))


def test_a_drift_over_the_run_is_found_by_the_trend() -> None:
    rng = np.random.default_rng(2)
    chance = np.linspace(0.95, 0.4, 10)
    found = order_check((rng.random((40, 10)) < chance).tolist())
    assert found.verdict == "dependence found"
    assert "the pass rate drifts over the run" in found.note
    assert found.trend is not None
    assert (found.trend.statistic or 0) < 0


def test_an_outage_of_one_round_is_found_by_rounds() -> None:
    x = independent(np.random.default_rng(3), 60, 10)
    x[::2, 4] = False
    found = order_check(x.tolist())
    assert found.verdict == "dependence found"
    assert "some rounds went differently for many tasks at once" in found.note


@pytest.mark.parametrize(("tasks", "n"), [(20, 10), (50, 5), (30, 20)])
def test_the_power_in_the_note_is_that_of_a_simulation(tasks: int, n: int) -> None:
    rng = np.random.default_rng(4)
    notes = [order_check(independent(rng, tasks, n).tolist(), method="normal").note for _ in range(30)]
    words = [m for note in notes if (m := re.search(r"about ([.\d]+) where .* before, ([.\d]+) where", note))]

    found = [order_check(replayed(rng, tasks, n, 0.2).tolist(), method="normal") for _ in range(200)]
    power = np.mean([3 * each.runs.p <= 0.05 for each in found if each.runs])
    assert np.mean([float(m.group(1)) for m in words]) == pytest.approx(power, abs=0.12)

    found = [order_check(drifting(rng, tasks, n).tolist(), method="normal") for _ in range(200)]
    power = np.mean([3 * each.trend.p <= 0.05 for each in found if each.trend])
    assert np.mean([float(m.group(2)) for m in words]) == pytest.approx(power, abs=0.12)


def test_a_shared_state_looks_like_tasks_that_never_vary_and_is_not_testable() -> None:
    found = order_check([[1] * 10] * 30 + [[0] * 10] * 30 + [[1, 0] * 5] * 4)
    assert (found.verdict, found.p, found.tasks, found.trials) == ("not testable", None, 4, 40)
    assert found.note.startswith("only 4 of 64 tasks both passed and failed")
    assert (found.runs, found.trend, found.rounds) == (None, None, None)


def test_fewer_than_five_trials_are_not_testable() -> None:
    found = order_check([[1, 0, 1, 0]] * 50)
    assert found.verdict == "not testable"
    assert found.note == "only 0 of 50 tasks have at least 5 trials"
    assert order_check([]).verdict == "not testable"


def test_few_trials_are_permuted_and_the_seed_decides() -> None:
    rows = [[1, 1, 0, 0, 1], [1, 0, 0, 1, 0], [0, 1, 1, 1, 0], [1, 1, 1, 0, 1], [0, 0, 1, 0, 1]]
    found = order_check(rows, seed=3)
    assert found.verdict == "not found"
    assert found.runs is not None
    assert "9999 permutations within tasks, seed 3" in found.runs.test
    assert found == order_check(rows, seed=3)
    normal = order_check(rows, method="normal")
    for one, other in zip(
        (found.runs, found.trend, found.rounds), (normal.runs, normal.trend, normal.rounds), strict=True
    ):
        assert one is not None
        assert other is not None
        assert one.p == pytest.approx(other.p, abs=0.2)
        assert one.statistic == other.statistic
    assert order_check(rows * 2).runs == order_check(rows * 2, method="normal").runs
    many = order_check(rows * 2, method="permutation")
    assert many.runs is not None
    assert "permutations" in many.runs.test


def test_tasks_may_have_different_numbers_of_trials() -> None:
    rng = np.random.default_rng(5)
    rows = [(rng.random(n) < 0.7).tolist() for n in rng.integers(3, 15, 60)]
    found = order_check(rows)
    assert found.verdict == "not found"
    assert found.rounds is not None
    p = [order_check([(rng.random(n) < 0.7).tolist() for n in rng.integers(5, 9, 40)]).rounds for _ in range(100)]
    assert np.mean([each.p < 0.2 for each in p if each]) == pytest.approx(0.2, abs=0.13)


@pytest.mark.parametrize("wrong", [2, 0.5, "pass", None])
def test_results_that_are_neither_pass_nor_fail_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"results must be 1 or 0 .* in task 1"):
        order_check([[1, 0], [1, wrong]])
