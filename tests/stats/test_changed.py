"""Which tasks changed: the exact test against scipy, the filter, and the refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from passhat.stats import adjust_p, boschloo, changed_tasks, trials_to_flag
from passhat.stats._boschloo import attainable


@st.composite
def tables(draw: st.DrawFn, most: int = 12) -> tuple[int, int, int, int]:
    n1, n2 = draw(st.integers(1, most)), draw(st.integers(1, most))
    return n1, draw(st.integers(0, n1)), n2, draw(st.integers(0, n2))


@given(tables())
@settings(max_examples=25, deadline=None)
def test_boschlos_p_is_scipys(table: tuple[int, int, int, int]) -> None:
    n1, c1, n2, c2 = table
    expected = scipy_stats.boschloo_exact([[c1, c2], [n1 - c1, n2 - c2]], n=64).pvalue
    assert boschloo(*table) == pytest.approx(expected, abs=1e-4)


@given(tables())
@settings(deadline=None)
def test_boschlos_p_is_symmetric_and_at_most_twice_fishers_one_sided(table: tuple[int, int, int, int]) -> None:
    n1, c1, n2, c2 = table
    p = boschloo(*table)
    assert p == pytest.approx(boschloo(n2, c2, n1, c1), abs=1e-9)
    assert p == pytest.approx(boschloo(n1, n1 - c1, n2, n2 - c2), abs=1e-9)
    fisher = [
        float(scipy_stats.fisher_exact(np.array([[c1, c2], [n1 - c1, n2 - c2]]), alternative=side).pvalue)
        for side in ("less", "greater")
    ]
    assert p <= min(1.0, 2 * min(fisher)) + 1e-9


@pytest.mark.parametrize(("n1", "n2"), [(5, 5), (7, 4)])
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.83])
def test_boschloos_test_is_exact_whatever_the_rate(n1: int, n2: int, rate: float) -> None:
    first, second = scipy_stats.binom(n1, rate), scipy_stats.binom(n2, rate)
    size = sum(
        float(first.pmf(a) * second.pmf(b))
        for a in range(n1 + 1)
        for b in range(n2 + 1)
        if boschloo(n1, a, n2, b) <= 0.05
    )
    assert size <= 0.05 + 1e-9


@given(tables())
@settings(max_examples=50, deadline=None)
def test_the_filter_knows_the_smallest_fisher_p_that_the_total_allows(table: tuple[int, int, int, int]) -> None:
    n1, c1, n2, c2 = table
    total = c1 + c2
    expected = min(
        float(scipy_stats.fisher_exact(np.array([[x, total - x], [n1 - x, n2 - total + x]])).pvalue)
        for x in range(max(0, total - n2), min(n1, total) + 1)
    )
    assert attainable(n1, n2, total) == pytest.approx(expected, abs=1e-9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
@settings(deadline=None)
def test_adjusted_p_values_are_scipys_and_never_below_the_raw_ones(p: list[float]) -> None:
    assert adjust_p(p) == pytest.approx(list(scipy_stats.false_discovery_control(p)))
    assert adjust_p(p, "by") == pytest.approx(list(scipy_stats.false_discovery_control(p, method="by")))
    for method in ("bh", "by", "holm", "bonferroni"):
        assert all(q >= raw - 1e-12 for q, raw in zip(adjust_p(p, method), p, strict=True))


def test_adjusting_nothing_gives_nothing_and_nonsense_is_refused() -> None:
    assert adjust_p([]) == []
    with pytest.raises(ValueError, match=r"p must be within 0..1, got 1.5 for task 0"):
        adjust_p([1.5])
    with pytest.raises(ValueError, match="method must be one of 'bh', 'by', 'holm', 'bonferroni', got 'none'"):
        adjust_p([0.5], "none")  # type: ignore[arg-type]


def test_a_task_that_stopped_passing_is_named_and_the_others_are_not() -> None:
    before, after = [10, 10, 9, 5, 0], [10, 1, 8, 6, 0]
    found = changed_tasks(10, before, 10, after)
    assert [(task.task, task.before, task.after, task.change) for task in found.changed] == [
        (1, (10, 10), (1, 10), "worse")
    ]
    back = changed_tasks(10, after, 10, before)
    assert [(task.task, task.change) for task in back.changed] == [(1, "better")]
    assert back.changed[0].q == pytest.approx(found.changed[0].q)
    assert found.note == ""


def test_tasks_that_could_not_show_a_change_are_not_counted_as_looks() -> None:
    # always passed, always failed, one failure in twenty: no total of these can reach .05
    found = changed_tasks(10, [10, 0, 10, 10], 10, [10, 0, 9, 1])
    assert found.tested == 1
    assert [task.q is None for task in found.tasks] == [True, True, True, False]
    assert found.tasks[3].q == found.tasks[3].p
    assert all(task.p is not None for task in found.tasks)


def test_below_five_trials_nothing_is_said_about_a_task_but_what_would_do() -> None:
    found = changed_tasks([4, 10], [4, 10], [10, 10], [0, 0])
    assert (found.tasks[0].p, found.tasks[0].q, found.tasks[0].change) == (None, None, None)
    assert found.tasks[1].change == "worse"
    assert found.note.startswith("1 of 2 tasks have fewer than 5 trials on one side")
    assert f"{found.needed} trials on each side" in found.note
    assert changed_tasks(4, [4] * 3, 4, [0] * 3).changed == ()


@pytest.mark.parametrize(("tasks", "needed"), [(1, 5), (20, 5), (50, 6), (200, 7)])
def test_the_trials_at_which_a_flip_survives_the_adjustment(tasks: int, needed: int) -> None:
    assert trials_to_flag(tasks) == needed
    assert boschloo(needed, needed, needed, 0) * tasks <= 0.05
    if needed > 5:
        assert boschloo(needed - 1, needed - 1, needed - 1, 0) * tasks > 0.05


def test_numbers_of_trials_may_differ() -> None:
    found = changed_tasks([8, 20], [8, 10], [12, 10], [2, 5])
    assert [task.change for task in found.tasks] == ["worse", None]
    better = changed_tasks([12], [2], [8], [8])
    assert better.tasks[0].change == "better"


def test_sides_with_different_tasks_are_refused() -> None:
    with pytest.raises(ValueError, match="both sides must hold the same tasks, got 2 before and 1 after"):
        changed_tasks(5, [1, 2], 5, [1])


def test_false_names_stay_rare_when_nothing_changed() -> None:
    rng = np.random.default_rng(11)
    any_named = 0
    for _ in range(200):
        p = rng.beta(8, 2, 20)
        any_named += bool(changed_tasks(10, rng.binomial(10, p), 10, rng.binomial(10, p)).changed)
    assert any_named <= 200 * 0.051 + 3 * (200 * 0.05 * 0.95) ** 0.5
