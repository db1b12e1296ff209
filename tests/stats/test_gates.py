"""Gates, and stopping before the plan is done."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats as scipy_stats

from passhat.stats import (
    Sprt,
    bar_verdict,
    clopper_pearson,
    confidence_sequence,
    curtail,
    gate,
    interval,
    obrien_fleming,
    pocock,
    suite_rate,
    wilson,
)


@pytest.mark.parametrize(
    ("low", "high", "op", "bar", "verdict"),
    [
        (0.8, 1.0, ">=", 0.8, "met"),
        (0.8 - 1e-15, 1.0, ">=", 0.8, "met"),
        (0.79, 1.0, ">=", 0.8, "undecided"),
        (0.1, 0.8, ">=", 0.8, "undecided"),
        (0.1, 0.79, ">=", 0.8, "not met"),
        (0.0, 0.1, "<=", 0.1, "met"),
        (0.0, 0.2, "<=", 0.1, "undecided"),
        (0.2, 0.3, "<=", 0.1, "not met"),
        (0.0, 1.0, ">=", 0.0, "met"),
        (0.0, 1.0, "<=", 1.0, "met"),
    ],
)
def test_a_bar_is_met_when_the_bound_reaches_it(low: float, high: float, op: Any, bar: float, verdict: str) -> None:
    assert bar_verdict(low, high, bar, op=op) == verdict


def test_a_gate_is_met_not_met_or_undecided_by_its_one_sided_bounds() -> None:
    assert gate(0.8, 10, [10] * 10).verdict == "met"
    assert gate(0.8, 10, [3] * 10).verdict == "not met"
    found = gate(0.8, 10, [8] * 10, level=0.9)
    assert found.verdict == "undecided"
    assert found.bar == 0.8
    assert list(found.lower) == list(interval(10, [8] * 10, level=0.9, side="lower"))
    assert list(found.upper) == list(interval(10, [8] * 10, level=0.9, side="upper"))


def test_a_bar_of_exactly_what_all_pass_trials_prove_is_met() -> None:
    assert gate(0.25, 1, [1, 1], level=0.9375).verdict == "met"  # .0625 ** (1 / 2) = .25


def test_a_gate_may_be_about_tasks_like_these_and_any_k() -> None:
    assert gate(0.8, 50, [50] * 10, of="tasks like these").verdict == "undecided"
    assert gate(0.8, 50, [50] * 14, of="tasks like these").verdict == "met"
    assert gate(0.8, 10, [10] * 10, k=10).verdict == "undecided"
    assert gate(0.8, 10, [10] * 14, k=10).verdict == "met"
    with pytest.raises(ValueError, match="bar must be a share between 0 and 1"):
        gate(80, 5, [5])


@st.composite
def cut_runs(draw: st.DrawFn) -> tuple[list[int], list[int], list[int]]:
    tasks = draw(st.integers(1, 4))
    planned = [draw(st.integers(1, 5)) for _ in range(tasks)]
    done = [draw(st.integers(0, p)) for p in planned]
    return planned, done, [draw(st.integers(0, d)) for d in done]


@given(cut_runs(), st.sampled_from([0.2, 0.5, 0.8]), st.data())
@settings(deadline=None)
def test_a_settled_verdict_is_the_verdict_of_every_way_the_run_can_end(
    run: tuple[list[int], list[int], list[int]], bar: float, data: Any
) -> None:
    planned, done, passes = run
    k = data.draw(st.integers(1, min(planned)))
    found = curtail(bar, done, passes, planned=planned, k=k)
    ends = itertools.product(*(range(c, c + p - n + 1) for p, n, c in zip(planned, done, passes, strict=True)))
    verdicts, rates = set(), []
    worth = min(planned) * len(planned) / k
    for end in ends:
        rate = suite_rate(planned, end, k=k)
        rates.append(rate)
        low = clopper_pearson(rate * worth, worth, side="lower").low
        high = clopper_pearson(rate * worth, worth, side="upper").high
        verdicts.add("met" if low >= bar else "not met" if high < bar else "undecided")
    assert [found.low, found.high] == pytest.approx([min(rates), max(rates)])
    assert found.remaining == sum(planned) - sum(done)
    expected = {
        "met": verdicts == {"met"},
        "not met": verdicts == {"not met"},
        "cannot be met": "met" not in verdicts and verdicts != {"not met"},
        "open": "met" in verdicts and len(verdicts) > 1,
    }
    assert expected[found.verdict]
    assert found.stop == (found.verdict != "open")


@pytest.mark.parametrize(
    ("passes", "done", "verdict"),
    [(20, 20, "met"), (0, 20, "not met"), (10, 20, "cannot be met"), (10, 10, "open")],
)
def test_a_run_of_forty_trials_is_settled_by_its_first_half_or_is_not(passes: int, done: int, verdict: str) -> None:
    bar = 0.3 if verdict == "met" else 0.8
    found = curtail(bar, [done], [passes], planned=40)
    assert found.verdict == verdict
    assert found.remaining == 40 - done


def test_a_run_that_has_not_begun_is_open_and_one_number_serves_all_tasks() -> None:
    found = curtail(0.5, 0, [0, 0, 0], planned=5)
    assert (found.verdict, found.remaining, found.low, found.high) == ("open", 15, 0.0, 1.0)


@pytest.mark.parametrize(
    ("n", "c", "planned", "k", "message"),
    [
        ([2, 6], [1, 1], 5, 1, "task 1 must have c <= n <= planned, got c=1, n=6, planned=5"),
        ([2, 2], [1, 3], 5, 1, "task 1 must have c <= n <= planned, got c=3, n=2, planned=5"),
        ([2], [1, 1], 5, 1, "n must have one number a task, got 1 for 2 tasks"),
        (2, [1, 1], [5, 2], 3, "needs k=3 trials of every task"),
        (-1, [1, 1], 5, 1, "n must be an integer of at least 0, got -1"),
    ],
)
def test_runs_that_do_not_fit_their_plan_are_refused(n: Any, c: Any, planned: Any, k: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        curtail(0.5, n, c, planned=planned, k=k)


def crossing(bounds: list[float]) -> float:
    """P(a Brownian motion leaves ±bounds at times 1, 2, …), integrated step by step."""
    x, w = np.polynomial.legendre.leggauss(200)

    def density(y: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.exp(-y * y / 2) / math.sqrt(2 * math.pi)

    at = x * bounds[0]
    mass = density(at) * w * bounds[0]
    for bound in bounds[1:]:
        y = x * bound
        mass, at = (density(y[:, None] - at) @ mass) * w * bound, y
    return 1 - float(mass.sum())


@pytest.mark.parametrize("looks", [2, 3, 4, 5])
def test_planned_looks_spend_five_percent_in_all(looks: int) -> None:
    for bounds in (obrien_fleming(looks), pocock(looks)):
        sums = [z * math.sqrt(k) for k, z in enumerate(bounds, start=1)]
        assert crossing(sums) == pytest.approx(0.05, abs=1e-7)


def test_with_tasks_the_bounds_are_t_quantiles_of_the_same_probability() -> None:
    z, t = obrien_fleming(3), obrien_fleming(3, tasks=[10, 20, 30])
    for one, other, tasks in zip(z, t, (10, 20, 30), strict=True):
        assert other == pytest.approx(float(scipy_stats.t.isf(scipy_stats.norm.sf(one), tasks - 1)))


@pytest.mark.parametrize("looks", [0, 1, 6, 2.0, True])
def test_other_numbers_of_looks_are_refused(looks: Any) -> None:
    for function in (obrien_fleming, pocock):
        with pytest.raises(ValueError, match="looks must be"):
            function(looks)


@pytest.mark.parametrize("tasks", [[10], [20, 10], [10, 10], [1, 10]])
def test_tasks_that_do_not_rise_with_the_looks_are_refused(tasks: list[int]) -> None:
    with pytest.raises(ValueError, match="tasks must be"):
        obrien_fleming(2, tasks=tasks)


def test_walds_test_keeps_its_errors() -> None:
    rng = np.random.default_rng(8)
    test = Sprt(0.8, 0.9)
    for rate, wrong, bound in ((0.8, "met", 0.05), (0.9, "not met", 0.2)):
        errors = 0
        for _ in range(400):
            c = n = 0
            while (verdict := test.decide(c, n) if n else "open") == "open":
                c, n = c + int(rng.random() < rate), n + 1
            errors += verdict == wrong
        assert errors / 400 <= bound + 3 * math.sqrt(bound * (1 - bound) / 400)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((0.9, 0.8), "p0 must be below p1, got p0=0.9, p1=0.8"),
        ((0.0, 0.8), "p0 must be a share"),
        ((0.7, 0.8, 0.5, 0.5), "alpha \\+ beta must be below 1"),
    ],
)
def test_an_impossible_sequential_test_is_refused(words: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sprt(*words)


@given(st.integers(1, 300), st.data())
@settings(deadline=None)
def test_a_confidence_sequence_holds_the_rate_and_is_wider_than_wilson(n: int, data: Any) -> None:
    c = data.draw(st.integers(0, n))
    found, mirrored = confidence_sequence(c, n), confidence_sequence(n - c, n)
    assert 0 <= found.low <= c / n <= found.high <= 1
    assert list(found) == pytest.approx([1 - mirrored.high, 1 - mirrored.low], abs=1e-12)
    assert found.width > wilson(c, n).width


def test_the_ends_of_a_confidence_sequence_are_where_the_mixture_reaches_its_limit() -> None:
    found = confidence_sequence(17, 20)
    for p in found:
        mixture = scipy_stats.betabinom(20, 0.5, 0.5).pmf(17) / math.comb(20, 17)
        assert mixture / (p**17 * (1 - p) ** 3) == pytest.approx(20)


def test_a_confidence_sequence_seldom_misses_over_all_looks_where_wilson_misses_often() -> None:
    rng = np.random.default_rng(9)
    ends = {function: {} for function in (confidence_sequence, wilson)}  # type: ignore[var-annotated]
    missed = dict.fromkeys(ends, 0)
    for _ in range(300):
        c = np.cumsum(rng.random(150) < 0.85)
        for function, known in ends.items():
            for n in range(10, 151):
                key = (int(c[n - 1]), n)
                if key not in known:
                    known[key] = list(function(*key))
                low, high = known[key]
                if not low <= 0.85 <= high:
                    missed[function] += 1
                    break
    assert missed[confidence_sequence] / 300 <= 0.05
    assert missed[wilson] / 300 > 0.15
