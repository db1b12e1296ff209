"""Paired comparison: tests against enumeration and scipy, intervals against their rules."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from passhat.stats import (
    Rate,
    cmh,
    difference_interval,
    interval,
    label_permutation,
    mcnemar,
    mean_difference_interval,
    paired,
    pass_hat_k,
    sign_flip,
)
from passhat.stats import _sign_flip as flips
from passhat.stats import _within_task as within
from passhat.stats._paired import mover

Sides = tuple[list[int], list[int], list[int], list[int]]


@st.composite
def two_sides(draw: st.DrawFn, most_tasks: int = 8, most: int = 7) -> Sides:
    tasks = draw(st.integers(1, most_tasks))
    if draw(st.booleans()):
        n1 = n2 = [draw(st.integers(1, most))] * tasks
    else:
        n1 = draw(st.lists(st.integers(1, most), min_size=tasks, max_size=tasks))
        n2 = draw(st.lists(st.integers(1, most), min_size=tasks, max_size=tasks))
    return n1, [draw(st.integers(0, n)) for n in n1], n2, [draw(st.integers(0, n)) for n in n2]


def by_enumeration(differences: list[Fraction]) -> float:
    seen = abs(sum(differences, Fraction(0)))
    sums = [
        abs(sum((s * d for s, d in zip(signs, differences, strict=True)), Fraction(0)))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    return sum(s >= seen for s in sums) / len(sums)


@given(two_sides())
@settings(deadline=None)
def test_the_sign_flip_p_is_the_share_of_all_sign_patterns(sides: Sides) -> None:
    n1, c1, n2, c2 = sides
    exact = [Fraction(d, b) - Fraction(c, a) for a, c, b, d in zip(n1, c1, n2, c2, strict=True)]
    expected = by_enumeration(exact)
    assert paired(*sides).tasks_like_these_test.p == pytest.approx(expected)
    assert sign_flip([float(d) for d in exact]).p == pytest.approx(expected)


def test_the_sign_flip_p_is_scipys_exact_permutation() -> None:
    d = np.array([0.2, -0.4, 0.6, 0.2, 0.8, 0.4, -0.2, 0.6, 0.0, 0.4])
    found = scipy_stats.permutation_test([d], np.sum, permutation_type="samples", n_resamples=10_000)
    assert sign_flip(d).p == pytest.approx(float(found.pvalue))


@given(st.integers(0, 12), st.integers(0, 12))
@settings(deadline=None)
def test_with_one_trial_a_task_it_is_exact_mcnemar(better: int, worse: int) -> None:
    found = sign_flip([1] * better + [-1] * worse + [0])
    assert found.p == pytest.approx(mcnemar(better, worse).p)
    if better + worse:
        assert found.p == pytest.approx(float(scipy_stats.binomtest(better, better + worse).pvalue))


def test_convolution_counting_and_drawing_agree() -> None:
    rng = np.random.default_rng(2)
    sizes = [int(each) for each in rng.integers(1, 40, 16)]
    seen = sum(sizes) * 2 // 5
    exact = flips._by_convolution(sizes, seen)
    assert flips._by_halves([float(s) for s in sizes], float(seen)) == pytest.approx(exact)
    drawn = flips._by_draws([float(s) for s in sizes], float(seen), seed=4)
    assert drawn == pytest.approx(exact, abs=5 * math.sqrt(exact / 99_999))
    assert flips._by_draws([1.0] * 60, 60.0, seed=4) == 1 / 100_000  # (b + 1) / (m + 1), never 0


def test_differences_without_a_common_denominator_are_counted_or_drawn() -> None:
    rng = np.random.default_rng(3)
    few, many = rng.uniform(-0.4, 1, 16), rng.uniform(-0.5, 0.65, 60)
    found = sign_flip(few)
    assert found.test == "sign-flip, exact"
    sums = np.array(list(itertools.product((1.0, -1.0), repeat=16))) @ few
    assert found.p == pytest.approx(float((np.abs(sums) >= few.sum() - 1e-12).mean()))
    drawn = sign_flip(many, seed=7)
    assert drawn.test == "sign-flip, 99999 random flips, seed 7"
    assert drawn.p == sign_flip(many, seed=7).p
    assert drawn.p == pytest.approx(float(scipy_stats.ttest_1samp(many, 0).pvalue), rel=0.3)


def test_two_hundred_tasks_are_exact() -> None:
    rng = np.random.default_rng(5)
    c1, c2 = rng.binomial(10, 0.6, 200), rng.binomial(10, 0.65, 200)
    found = paired(10, c1, 10, c2)
    assert found.tasks_like_these_test.test == "sign-flip, exact"
    t = float(scipy_stats.ttest_rel(c2, c1).pvalue)
    assert found.tasks_like_these_test.p == pytest.approx(t, rel=0.3)


def test_fewer_than_six_tasks_that_differ_cannot_reach_five_percent_and_are_told_so() -> None:
    found = sign_flip([1, 1, 1, 1, 1, 0, 0])
    assert found.p == 0.0625
    assert found.note.startswith("only 5 tasks differ: with fewer than 6 no such test can reach p = .05")
    assert sign_flip([1] * 6).p == 0.03125
    assert sign_flip([1] * 6).note == ""
    assert sign_flip([0.0, 0.0]).p == 1.0
    assert sign_flip([0.5, -0.5]).p == 1.0


@given(two_sides(most_tasks=4, most=5))
@settings(deadline=None)
def test_label_permutation_is_the_share_of_all_relabellings(sides: Sides) -> None:
    rows = list(zip(*sides, strict=True))
    laws = []
    for n1, c1, n2, c2 in rows:
        m = c1 + c2
        law = [
            (Fraction(m - x, n2) - Fraction(x, n1), math.comb(n1, x) * math.comb(n2, m - x))
            for x in range(max(0, m - n2), min(n1, m) + 1)
        ]
        laws.append(law)
        assert sum(d * w for d, w in law) == 0  # no bias under no change
    seen = abs(sum((Fraction(c2, n2) - Fraction(c1, n1) for n1, c1, n2, c2 in rows), Fraction(0)))
    total = hit = 0
    for outcome in itertools.product(*laws):
        weight = math.prod(w for _, w in outcome)
        total += weight
        hit += weight * (abs(sum((d for d, _ in outcome), Fraction(0))) >= seen)
    assert label_permutation(*sides).p == pytest.approx(hit / total)


def test_label_permutation_draws_where_it_cannot_count(monkeypatch: pytest.MonkeyPatch) -> None:
    n, before, after = 6, [6, 5, 4, 6, 3, 6], [4, 5, 2, 5, 3, 4]
    exact = label_permutation(n, before, n, after, k=2)
    assert exact.test.endswith("exact")
    monkeypatch.setattr(within, "_WORK", 0)
    drawn = label_permutation(n, before, n, after, k=2, seed=1)
    assert drawn.test == "label permutation within tasks, 19999 draws, seed 1"
    assert drawn.p == pytest.approx(exact.p, abs=0.015)


def test_cmh_is_the_textbook_statistic() -> None:
    before, after, n = [9, 10, 8], [5, 6, 4], 10
    shift = sum(b - (a + b) / 2 for a, b in zip(before, after, strict=True))
    variance = sum((a + b) * (2 * n - a - b) / 4 / (2 * n - 1) for a, b in zip(before, after, strict=True))
    statistic = (abs(shift) - 0.5) ** 2 / variance
    found = cmh(n, before, n, after)
    assert found.statistic == pytest.approx(statistic)
    assert found.p == pytest.approx(float(scipy_stats.chi2.sf(statistic, 1)))


def test_cmh_of_tasks_that_never_vary_compares_nothing_and_says_so() -> None:
    found = cmh(5, [5, 0], [4, 5], [4, 0])
    assert (found.p, found.statistic) == (1.0, 0.0)
    assert "nothing to compare" in found.note


@given(two_sides(), st.data())
@settings(deadline=None)
def test_difference_intervals_hold_the_estimate_and_mirror_when_the_sides_swap(sides: Sides, data: Any) -> None:
    n1, c1, n2, c2 = sides
    k = data.draw(st.integers(1, min(n1 + n2)))
    rate: Rate = data.draw(st.sampled_from(["pass^k", "pass@k"]))
    found = paired(*sides, k=k, rate=rate)
    back = paired(n2, c2, n1, c1, k=k, rate=rate)
    assert found.estimate == pytest.approx(-back.estimate)
    for one, other in (
        (found.these_tasks, back.these_tasks),
        (found.tasks_like_these, back.tasks_like_these),
    ):
        assert -1 <= one.low <= found.estimate + 1e-12
        assert found.estimate - 1e-12 <= one.high <= 1
        assert one.width > 0
        assert list(one) == pytest.approx([-other.high, -other.low], abs=1e-8)
    assert found.these_tasks_test.p == pytest.approx(back.these_tasks_test.p)


def test_these_tasks_use_movers_of_the_two_sides_intervals() -> None:
    before, after = [5, 4, 5, 3, 0, 5], [5, 5, 4, 0, 3, 5]
    ends = interval(5, before), interval(5, after)
    expected = mover(22 / 30, list(ends[0]), 22 / 30, list(ends[1]))
    assert list(difference_interval(5, before, 5, after)) == pytest.approx(list(expected))
    found = difference_interval([4] * 6, [4] * 6, 5, after)
    assert found.note == "before: fewer than 5 trials a task: the conservative rule nT/k is used"


def test_a_one_sided_difference_is_what_a_margin_is_held_against() -> None:
    sides: Any = (10, [9, 8, 7, 10, 6], 10, [8, 8, 8, 9, 6])
    for of in ("these tasks", "tasks like these"):
        both = difference_interval(*sides, of=of, level=0.9)
        lower = difference_interval(*sides, of=of, level=0.95, side="lower")
        upper = difference_interval(*sides, of=of, level=0.95, side="upper")
        assert list(lower) == pytest.approx([both.low, 1], abs=1e-8)
        assert list(upper) == pytest.approx([-1, both.high], abs=1e-8)


def test_no_difference_anywhere_still_has_a_width() -> None:
    assert mean_difference_interval([0.0] * 10).high == pytest.approx(0.238404, abs=1e-6)
    low, high = mean_difference_interval([1.0, 1.0])
    assert (low < 0, high) == (True, 1.0)


def test_the_comparison_reports_error_and_correlation_for_export() -> None:
    before, after = [5, 4, 5, 3, 0, 5, 2], [5, 5, 4, 0, 3, 5, 2]
    found = paired(5, before, 5, after)
    d = (np.array(after) - np.array(before)) / 5
    assert found.se == pytest.approx(d.std(ddof=1) / math.sqrt(7))
    assert found.correlation == pytest.approx(float(np.corrcoef(before, after)[0, 1]))
    assert found.tasks == 7
    assert found.these_tasks_test.test.startswith("CMH")
    assert paired(5, [5, 5], 5, [1, 2]).correlation is None
    assert paired(5, [5], 5, [1]).se is None


def test_pass_hat_k_is_compared_by_label_permutation_and_sign_flips_of_its_own_scores() -> None:
    before, after = [5, 4, 5, 3, 0, 5, 2], [5, 5, 4, 0, 3, 5, 5]
    found = paired(5, before, 5, after, k=3)
    d = [pass_hat_k(5, b, 3) - pass_hat_k(5, a, 3) for a, b in zip(before, after, strict=True)]
    assert found.estimate == pytest.approx(sum(d) / 7)
    assert found.these_tasks_test.test.startswith("label permutation")
    assert found.tasks_like_these_test.p == pytest.approx(sign_flip(d).p)


@pytest.mark.parametrize(
    ("sides", "k", "message"),
    [
        ((5, [1, 2], 5, [1]), 1, "both sides must hold the same tasks, got 2 before and 1 after"),
        ((5, [1, 2], [5, 2], [1, 1]), 3, r"pass\^3 needs k=3 trials of every task; 1 of 2 tasks"),
        ((5, [1, 2], 5, [1, 6]), 1, "c must be at most n"),
        ((5, [], 5, []), 1, "empty suite"),
        ((5, [1], 5, [1]), 0, "k must be a positive integer, got 0"),
    ],
)
def test_sides_that_cannot_be_compared_are_refused(sides: Any, k: int, message: str) -> None:
    for function in (paired, difference_interval, label_permutation):
        with pytest.raises(ValueError, match=message):
            function(*sides, k=k)


def test_differences_outside_the_scale_are_refused() -> None:
    for function in (sign_flip, mean_difference_interval):
        with pytest.raises(ValueError, match=r"differences must be within -1..1, got 1.5 for task 1"):
            function([0.5, 1.5])
        with pytest.raises(ValueError, match="differences is empty"):
            function([])
