"""How many: what all-pass trials prove, tasks for a difference, Miller's numbers, and the refusals."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passhat.stats import (
    detectable_difference,
    detectable_effect,
    interval,
    questions_needed,
    refusals,
    smallest_all_pass,
    tasks_needed,
)
from passhat.stats._planning import score_variance


@pytest.mark.parametrize(("bar", "needed"), [(0.8, 14), (0.85, 19), (0.9, 29), (0.95, 59)])
def test_what_all_pass_trials_can_prove_at_one_sided_five_percent(bar: float, needed: int) -> None:
    assert smallest_all_pass(bar) == needed
    assert interval(1, [1] * needed, side="lower").low >= bar
    assert interval(1, [1] * (needed - 1), side="lower").low < bar
    assert interval(1, [1] * needed, of="tasks like these", side="lower").low >= bar


@given(st.floats(0.05, 0.995), st.sampled_from([0.8, 0.9, 0.95, 0.99]), st.integers(1, 4))
@settings(deadline=None)
def test_the_smallest_number_meets_the_bar_and_one_less_does_not(bar: float, level: float, k: int) -> None:
    needed = smallest_all_pass(bar, level, k=k)
    per_task = needed // k * k
    assert needed == per_task
    low = interval(k, [k] * (needed // k), k=k, level=level, side="lower").low
    assert low >= bar - 1e-9
    if needed > k:
        assert interval(k, [k] * (needed // k - 1), k=k, level=level, side="lower").low < bar


def test_a_bar_that_is_met_exactly_is_met() -> None:
    assert smallest_all_pass(0.5, 0.75) == 2
    assert smallest_all_pass(0.1, 0.95) == 2
    assert smallest_all_pass(0.01, 0.5) == 1


def test_pass_hat_k_needs_k_times_the_trials() -> None:
    assert smallest_all_pass(0.8, k=5) == 70


@pytest.mark.parametrize("bar", [0, 1, 80, float("nan"), True, "0.8"])
def test_a_bar_that_is_no_share_is_refused(bar: Any) -> None:
    with pytest.raises(ValueError, match="bar must be a share between 0 and 1"):
        smallest_all_pass(bar)


def test_millers_sample_size_is_969() -> None:
    assert round(questions_needed(0.03, between=1 / 9)) == 969
    more = questions_needed(0.03, between=1 / 9, within=(1 / 6, 1 / 6), n=(1, 10))
    assert more == pytest.approx(969 * (1 / 9 + 1 / 6 + 1 / 60) * 9, rel=1e-4)


def test_millers_detectable_effects_are_133_and_76_thousandths() -> None:
    shape: dict[str, Any] = {"between": 1 / 9, "within": (1 / 6, 1 / 6)}
    assert detectable_effect(198, **shape) == pytest.approx(0.133, abs=5e-4)
    assert detectable_effect(198, **shape, n=(10, 10)) == pytest.approx(0.076, abs=5e-4)


def test_millers_variances_of_resampled_answers() -> None:
    found = [round(score_variance(1 / 12, 1 / 6, k), 4) for k in (1, 2, 4, 6)]
    assert found == [0.25, 0.1667, 0.125, 0.1111]


@pytest.mark.parametrize(
    ("within", "between", "tasks", "n", "population", "fixed"),
    [
        (0.265, 0.05, 20, 1, 0.34, 0.32),
        (0.265, 0.05, 200, 10, 0.03, 0.03),
        (0.34, 0.15, 50, 5, 0.12, 0.10),
        (0.25, 0.30, 20, 10, 0.22, 0.10),
        (0.25, 0.30, 200, 3, 0.08, 0.06),
    ],
)
def test_the_smallest_differences_of_the_table(
    within: float, between: float, tasks: int, n: int, population: float, fixed: float
) -> None:
    found = detectable_difference(tasks, n, within=within, between=between**2)
    assert found == pytest.approx(population, abs=0.0051)
    found = detectable_difference(tasks, n, within=within, of="these tasks")
    assert found == pytest.approx(fixed, abs=0.0051)


@given(st.floats(0.02, 0.5), st.integers(1, 20), st.floats(0.01, 0.5), st.floats(0, 0.1))
@settings(deadline=None)
def test_tasks_and_difference_are_each_others_inverse(d: float, n: int, within: float, between: float) -> None:
    needed = tasks_needed(d, n, within=within, between=between)
    whole = int(needed) + 1
    assert detectable_difference(whole, n, within=within, between=between) <= d + 1e-9
    assert tasks_needed(-d, n, within=within, between=between) == needed


def test_too_few_tasks_find_no_difference() -> None:
    assert detectable_difference(1, 100, within=0.1) == 1.0
    assert detectable_difference(2, 1, within=0.5) == 1.0


def test_impossible_plans_are_refused() -> None:
    with pytest.raises(ValueError, match=r"difference must be within -1..1 and not 0, got 0"):
        tasks_needed(0, 5, within=0.3)
    with pytest.raises(ValueError, match=r"difference must be within -1..1 and not 0, got 2"):
        questions_needed(2, between=0.1)
    with pytest.raises(ValueError, match="within must be a number of at least 0, got -1"):
        tasks_needed(0.1, 5, within=-1)
    with pytest.raises(ValueError, match="power must be a share"):
        tasks_needed(0.1, 5, within=0.3, power=80)
    with pytest.raises(ValueError, match="of must be one of"):
        tasks_needed(0.1, 5, within=0.3, of="all")  # type: ignore[arg-type]


def test_a_large_sampled_suite_is_refused_nothing() -> None:
    assert refusals([10] * 20, k=5) == ()


@pytest.mark.parametrize(
    ("n", "words", "rules"),
    [
        ([10] * 4, {}, ["few-tasks"]),
        ([10] * 9, {"hand_picked": True}, ["hand-picked"]),
        ([2] * 9, {}, ["no-task-interval", "no-changed-tasks", "bound-rule"]),
        ([4] * 9, {}, ["no-changed-tasks", "bound-rule"]),
        ([5] * 9, {"k": 3}, ["bound-rule"]),
        ([5] * 9, {"k": 8}, ["bounds-only"]),
        ([5] * 9, {"k": 16}, ["k-too-large"]),
        ([10] * 9 + [8], {}, ["unequal-trials"]),
        ([10] * 9, {"missing": 3}, ["missing-trials"]),
    ],
)
def test_each_thin_suite_is_told_what_it_cannot_carry(n: list[int], words: dict[str, Any], rules: list[str]) -> None:
    found = refusals(n, **words)
    assert [each.rule for each in found] == rules
    assert all(each.message for each in found)
