"""The two intervals of a suite: closed forms, properties, and the rules that they announce."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from passhat.stats import (
    Refused,
    Side,
    Target,
    bounds_beyond,
    clopper_pearson,
    interval,
    mean_interval,
    suite_rate,
    task_scores,
    wilson,
)
from passhat.stats._dirichlet import distribution, quantile

BOTH: tuple[Target, Target] = ("these tasks", "tasks like these")


@st.composite
def suites(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    tasks = draw(st.integers(1, 25))
    same = draw(st.booleans())
    n = (
        [draw(st.integers(1, 12))] * tasks
        if same
        else draw(st.lists(st.integers(1, 12), min_size=tasks, max_size=tasks))
    )
    return n, [draw(st.integers(0, each)) for each in n]


@given(suites(), st.data())
@settings(deadline=None)
def test_every_interval_holds_the_estimate_and_has_a_width(suite: tuple[list[int], list[int]], data: Any) -> None:
    n, c = suite
    k = data.draw(st.integers(1, min(n)))
    rate, of = data.draw(st.sampled_from(["pass^k", "pass@k"])), data.draw(st.sampled_from(BOTH))
    side = data.draw(st.sampled_from(["both", "lower", "upper"]))
    level = data.draw(st.sampled_from([0.05, 0.5, 0.9, 0.95, 0.99] if side == "both" else [0.6, 0.9, 0.99]))
    found = interval(n, c, k=k, rate=rate, of=of, side=side, level=level)
    estimate = suite_rate(n, c, k=k, rate=rate)
    assert 0 <= found.low <= estimate <= found.high <= 1
    assert found.width > 0
    assert (found.level, found.side) == (level, side)


@given(suites(), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_of_tasks_does_not_matter(suite: tuple[list[int], list[int]], random: Any) -> None:
    pairs = list(zip(*suite, strict=True))
    random.shuffle(pairs)
    n, c = (list(each) for each in zip(*pairs, strict=True))
    for of in BOTH:
        assert list(interval(*suite, of=of)) == list(interval(n, c, of=of))


@given(suites(), st.data())
@settings(deadline=None)
def test_passes_and_failures_are_mirror_images(suite: tuple[list[int], list[int]], data: Any) -> None:
    n, c = suite
    k = data.draw(st.integers(1, min(n)))
    failures = [a - b for a, b in zip(n, c, strict=True)]
    for of in BOTH:
        low, high = interval(n, c, k=k, rate="pass^k", of=of)
        assert list(interval(n, failures, k=k, rate="pass@k", of=of)) == pytest.approx([1 - high, 1 - low], abs=1e-8)


@given(suites())
@settings(deadline=None)
def test_a_higher_level_gives_an_interval_that_holds_the_lower_ones(suite: tuple[list[int], list[int]]) -> None:
    for of in BOTH:
        narrow, wide = interval(*suite, of=of, level=0.8), interval(*suite, of=of, level=0.95)
        assert wide.low <= narrow.low + 1e-9
        assert narrow.high <= wide.high + 1e-9


@given(suites())
@settings(deadline=None)
def test_a_gates_bound_is_the_end_of_the_two_sided_interval_with_twice_the_error(
    suite: tuple[list[int], list[int]],
) -> None:
    for of in BOTH:
        both = interval(*suite, of=of, level=0.9)
        assert interval(*suite, of=of, level=0.95, side="lower").low == pytest.approx(both.low, abs=1e-8)
        assert interval(*suite, of=of, level=0.95, side="upper").high == pytest.approx(both.high, abs=1e-8)


@pytest.mark.parametrize("side", ["both", "lower", "upper"])
@pytest.mark.parametrize("c", [0, 1, 7, 10])
def test_with_one_trial_a_task_both_targets_are_clopper_pearson(c: int, side: Side) -> None:
    counts = [1] * c + [0] * (10 - c)
    expected = list(clopper_pearson(c, 10, side=side))
    for of in BOTH:
        assert list(interval(1, counts, of=of, side=side)) == pytest.approx(expected, abs=1e-9)
    assert list(mean_interval(counts, side=side)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("tasks", "n", "k"), [(5, 5, 1), (10, 3, 3), (20, 5, 3), (50, 3, 2), (1, 1, 1)])
def test_all_pass_and_all_fail_follow_the_rule_of_three(tasks: int, n: int, k: int) -> None:
    population, fixed = 0.025 ** (1 / tasks), 0.025 ** (k / (n * tasks))
    for of, low in zip(BOTH, (fixed, population), strict=True):
        assert list(interval(n, [n] * tasks, k=k, of=of)) == pytest.approx([low, 1])
        assert list(interval(n, [0] * tasks, k=k, rate="pass@k", of=of)) == pytest.approx([0, 1 - low])
    one_sided = interval(n, [n] * tasks, of="tasks like these", side="lower").low
    assert one_sided == pytest.approx(0.05 ** (1 / tasks))


def test_more_trials_narrow_the_interval_of_these_tasks_only() -> None:
    few = interval(5, [5] * 9 + [0], of="tasks like these")
    many = interval(500, [500] * 9 + [0], of="tasks like these")
    assert list(few) == pytest.approx(list(many))
    assert interval(500, [500] * 9 + [250]).width < interval(10, [10] * 9 + [5]).width / 3


def test_the_published_example_prints_two_labelled_intervals() -> None:
    counts = [5, 5, 4, 0, 3, 5, 2, 5, 1, 5]
    assert [round(end, 2) for end in interval(5, counts)] == [0.59, 0.8]
    assert [round(end, 2) for end in interval(5, counts, of="tasks like these")] == [0.4, 0.9]


def test_few_trials_use_the_bound_rule_and_say_so() -> None:
    found = interval(4, [4, 3, 2, 4])
    assert list(found) == pytest.approx(list(clopper_pearson(13, 16)))
    assert "bound rule nT/k" in found.method
    assert found.note == "fewer than 5 trials a task: the conservative rule nT/k is used"
    assert "fewer than 6 trials" in interval(5, [4, 3, 2, 4], k=3).note
    assert "variance rule" in interval(5, [4, 3, 2, 4]).method
    assert interval(5, [4, 3, 2, 4]).note == ""


def test_unequal_trials_are_judged_at_the_smallest_and_say_so() -> None:
    found = interval([10, 10, 5], [9, 10, 4])
    estimate = (0.9 + 1 + 0.8) / 3
    assert list(found) == pytest.approx(list(clopper_pearson(estimate * 15, 15)))
    assert found.note == "tasks have 5 to 10 trials: counted as if every task had 5, which is conservative"


def test_k_above_n_gives_bounds_free_of_assumptions_and_says_so() -> None:
    counts = [3, 3, 2, 0, 1, 3, 3, 2, 3, 3]
    for of in BOTH:
        low, high = interval(3, counts, k=3, of=of)
        found = interval(3, counts, k=8, of=of)
        assert list(found) == pytest.approx([low ** (8 / 3), high])
        assert "free of assumptions" in found.method
        assert "k=8 is more than the 3 trials a task: bounds, not an estimate" in found.note
        low, high = interval(3, counts, k=3, rate="pass@k", of=of)
        found = interval(3, counts, k=8, rate="pass@k", of=of)
        assert list(found) == pytest.approx([low, 1 - (1 - high) ** (8 / 3)])
    assert "bounds, not an estimate; fewer than" in interval(3, counts, k=8).note
    assert bounds_beyond(3, counts, 2) == (suite_rate(3, counts, k=2),) * 2


@pytest.mark.parametrize("of", BOTH)
def test_k_above_the_smallest_n_only_gives_bounds_at_the_smallest_n(of: Target) -> None:
    n, counts = [3, 5, 5], [2, 5, 4]
    low, high = interval(n, counts, k=3, of=of)
    found = interval(n, counts, k=4, of=of)
    assert list(found) == pytest.approx([low ** (4 / 3), high])
    assert "k=4 is more than the 3 trials a task" in found.note
    assert bounds_beyond(n, counts, 4)[1] == suite_rate(n, counts, k=3)


def test_bounds_above_n_hold_for_any_mixture_of_tasks() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        p = rng.beta(rng.uniform(0.2, 5), rng.uniform(0.2, 5), size=6)
        for order, k in ((3, 8), (5, 6), (2, 6)):
            low, high = np.mean(p**order) ** (k / order), np.mean(p**order)
            assert low - 1e-12 <= np.mean(p**k) <= high + 1e-12


def test_k_above_three_times_n_is_refused_with_what_would_do() -> None:
    with pytest.raises(Refused, match=r"pass\^10 .* n=3 .*at least 4 trials a task for bounds, 10 for an estimate"):
        interval(3, [3, 2], k=10)
    with pytest.raises(Refused, match="pass@10"):
        bounds_beyond(3, [3, 2], 10, rate="pass@k")
    assert interval(3, [3, 2], k=9).width > 0


@pytest.mark.parametrize(
    ("given_words", "message"),
    [
        ({"of": "all tasks"}, "of must be one of 'these tasks', 'tasks like these', got 'all tasks'"),
        ({"rate": "pass"}, "rate must be one of"),
        ({"side": "left"}, "side must be one of"),
        ({"level": 95}, "level must be a share between 0 and 1 .*got 95"),
        ({"k": 0}, "k must be a positive integer, got 0"),
    ],
)
def test_unknown_words_are_refused(given_words: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        interval(5, [1, 2], **given_words)


def test_partial_credit_has_a_population_interval_that_takes_only_scores() -> None:
    scores = [0.25, 0.5, 1.0, 0.75, 0.5, 0.0]
    found = mean_interval(scores)
    assert found.low < np.mean(scores) < found.high
    assert list(mean_interval(np.array(scores), 0.95)) == list(found)
    assert list(mean_interval(scores[::-1])) == list(found)


def test_partial_credit_of_these_tasks_counts_scores_as_passes_and_failures() -> None:
    found = mean_interval([0.5, 0.75], of="these tasks", n=[10, 12])
    assert list(found) == pytest.approx(list(clopper_pearson(12.5, 20)))
    assert "as passes and failures do; tasks have 10 to 12 trials" in found.note
    assert "tasks have" not in mean_interval([0.5, 0.75], of="these tasks", n=10).note
    assert list(mean_interval([1.0, 1.0], of="these tasks", n=7)) == pytest.approx([0.025 ** (1 / 14), 1])


@pytest.mark.parametrize(
    ("scores", "words", "message"),
    [
        ([], {}, "scores is empty"),
        ([0.5, 1.2], {}, r"scores must be within 0..1, got 1.2 for task 1"),
        ([float("nan")], {}, r"scores must be within 0..1, got nan for task 0"),
        ([None], {}, "scores must be numbers, got None for task 0"),
        (["1"], {}, "scores must be numbers, got '1' for task 0"),
        (0.5, {}, "scores must be a sequence"),
        ([0.5], {"of": "these tasks"}, "n is needed"),
        ([0.5], {"of": "these tasks", "n": [1, 2]}, "one number a task each"),
        ([0.5], {"of": "those"}, "of must be one of"),
    ],
)
def test_impossible_scores_are_refused(scores: Any, words: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mean_interval(scores, **words)


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=30),
    st.sampled_from([0.025, 0.05, 0.5]),
)
@settings(deadline=None)
def test_an_inverted_quantile_has_the_probability_asked_for(values: list[float], error: float) -> None:
    weights = Counter(round(v, 6) for v in values)
    weights[0.0] += 1
    t = quantile(weights, error)
    x, w = np.array(sorted(weights)), np.array([float(weights[v]) for v in sorted(weights)])
    if len(weights) > 2:
        assert distribution(x, w, t) == pytest.approx(error, abs=1e-7)
    elif len(weights) == 2:
        assert t == pytest.approx(x[1] * scipy_stats.beta.ppf(error, w[1], w[0]), abs=1e-12)
    else:
        assert t == 0.0


def test_the_inversion_agrees_with_a_million_random_weights() -> None:
    rng = np.random.default_rng(7)
    scores = np.array([0.0, 0.2, 0.2, 0.6, 0.9, 1.0, 1.0, 1.0])
    draws = rng.dirichlet(np.ones(9), size=1_000_000)
    low = np.quantile(draws @ np.append(scores, 0.0), 0.025)
    high = np.quantile(draws @ np.append(scores, 1.0), 0.975)
    assert list(mean_interval(scores)) == pytest.approx([low, high], abs=0.001)


@pytest.mark.parametrize("tasks", [2, 300, 5000])
def test_many_distinct_scores_and_skewed_suites_are_inverted_too(tasks: int) -> None:
    rng = np.random.default_rng(tasks)
    scores = rng.beta(40, 1, tasks)
    found = mean_interval(scores)
    assert found.low < scores.mean() < found.high
    if tasks == 5000:  # where the normal law holds
        half = 1.96 * scores.std(ddof=1) / np.sqrt(tasks)
        assert list(found) == pytest.approx([scores.mean() - half, scores.mean() + half], abs=0.0004)


def test_scores_that_differ_by_rounding_only_are_one_value() -> None:
    assert list(mean_interval([0.1 + 0.2, 0.3, 0.3])) == pytest.approx(list(mean_interval([0.3] * 3)), abs=1e-12)
    assert task_scores([10, 5], [6, 3]) == [0.6, 0.6]


def test_a_report_of_two_hundred_tasks_takes_a_quarter_of_a_second_of_computing_at_most() -> None:
    rng = np.random.default_rng(1)
    counts = rng.binomial(10, rng.beta(4, 1, 200))
    interval(10, counts, of="tasks like these")  # imports
    taken = []
    for _ in range(3):
        start = time.process_time()
        for k in range(1, 11):
            for of in BOTH:
                interval(10, counts, k=k, rate="pass^k", of=of)
                interval(10, counts, k=k, rate="pass@k", of=of)
        for c in counts:
            wilson(c, 10)
        taken.append(time.process_time() - start)
    assert min(taken) <= 0.25
