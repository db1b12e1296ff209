"""Agreement with people, and pass rates corrected for a judge's errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passhat.stats import (
    Refused,
    Stratum,
    cohen_kappa,
    judge_quality,
    labels_needed_elsewhere,
    labels_needed_here,
    post_stratified,
    rogan_gladen,
    rogan_gladen_by_task,
    stratified_rate,
    stratified_rate_by_task,
    wilson,
)

CELL = st.integers(0, 40)


@given(st.lists(st.lists(CELL, min_size=3, max_size=3), min_size=3, max_size=3))
@settings(deadline=None)
def test_kappa_lies_in_its_interval_and_does_not_care_who_is_rater_one(table: list[list[int]]) -> None:
    found = cohen_kappa(table)
    turned = cohen_kappa([list(row) for row in zip(*table, strict=True)])
    if found is None:
        assert turned is None
        return
    assert turned is not None
    assert found.kappa == pytest.approx(turned.kappa)
    assert -1 - 1e-9 <= found.kappa <= 1 + 1e-9
    assert found.interval.low <= found.kappa + 1e-9
    assert found.kappa <= found.interval.high + 1e-9
    assert found.interval.width > 0


@pytest.mark.parametrize("table", [[[50, 0], [0, 0]], [[0, 0], [0, 9]], [[0, 0], [0, 0]]])
def test_kappa_is_undefined_where_chance_alone_makes_raters_agree_on_everything(table: list[list[int]]) -> None:
    assert cohen_kappa(table) is None


@pytest.mark.parametrize("table", [[[40, 10], [0, 0]], [[40, 0], [10, 0]], [[2, 0], [2, 0]], [[0, 9], [0, 0]]])
def test_a_rater_with_one_category_agrees_as_often_as_chance_and_kappa_says_0_with_a_width(
    table: list[list[int]],
) -> None:
    found = cohen_kappa(table)
    assert found is not None
    assert found.kappa == 0
    assert found.observed == found.expected
    assert -1 <= found.interval.low <= 0 < found.interval.high <= 1
    assert found.interval.method == "Clopper–Pearson of the agreement"


def test_full_agreement_still_has_a_width() -> None:
    for table, kappa in (([[20, 0], [0, 20]], 1), ([[0, 20], [20, 0]], -1)):
        found = cohen_kappa(table)
        assert found is not None
        assert found.kappa == kappa
        assert found.interval.width > 0.1
        assert found.interval.method == "Clopper–Pearson of the agreement"


@pytest.mark.parametrize("table", [[[1, 2, 3], [4, 5, 6]], [[1]], [[1, 2], [3]], []])
def test_a_table_that_is_not_square_is_refused(table: Any) -> None:
    with pytest.raises(ValueError, match="table must be square"):
        cohen_kappa(table)


def test_a_table_of_three_categories_is_no_table_of_passes() -> None:
    with pytest.raises(ValueError, match="table must have 2 rows and 2 columns"):
        judge_quality([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    with pytest.raises(ValueError, match="each count of the table must be an integer of at least 0, got -1"):
        judge_quality([[1, -1], [0, 1]])


def test_a_judges_parts_are_unknown_where_no_label_speaks_to_them() -> None:
    found = judge_quality([[9, 1], [0, 0]])
    assert found.sensitivity == 0.9
    assert found.sensitivity_interval is not None
    assert list(found.sensitivity_interval) == list(wilson(9, 10))
    assert (found.specificity, found.specificity_interval, found.better_than_chance) == (None,) * 3
    assert judge_quality([[0, 0], [1, 9]]).sensitivity is None
    assert found.labels == 10


def test_a_coin_of_a_judge_is_not_better_than_chance() -> None:
    low = judge_quality([[6, 4], [6, 4]]).better_than_chance
    assert low is not None
    assert low < 0


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30), st.integers(0, 30), st.data())
@settings(deadline=None)
def test_post_stratified_intervals_hold_their_estimate(a: int, b: int, c: int, d: int, data: Any) -> None:
    passed = a + c + data.draw(st.integers(0, 100))
    total = passed + b + d + data.draw(st.integers(0, 100))
    if a + b + c + d == 0:
        if total:
            with pytest.raises(Refused, match="nothing was labelled"):
                post_stratified([[a, b], [c, d]], passed, total)
        return
    found = post_stratified([[a, b], [c, d]], passed, total)
    assert 0 <= found.interval.low <= found.estimate <= found.interval.high <= 1
    assert found.interval.width > 0
    mirrored = post_stratified([[d, c], [b, a]], total - passed, total)
    assert list(mirrored.interval) == pytest.approx([1 - found.interval.high, 1 - found.interval.low])


def test_post_stratified_says_which_verdict_has_no_label() -> None:
    found = post_stratified([[10, 0], [0, 0]], 150, 200)
    assert found.interval.note == "no label among what the judge failed: anything is allowed for there"
    assert found.interval.low < 0.75
    assert post_stratified([[0, 2], [0, 8]], 9, 200).interval.note.startswith("no label among what the judge passed")
    assert post_stratified([[0, 2], [0, 8]], 0, 200).interval.note == ""
    assert post_stratified([[8, 2], [1, 8]], 100, 200).interval.note == ""


def test_a_one_sided_corrected_rate_is_the_end_with_twice_the_error() -> None:
    table = [[38, 2], [2, 8]]
    both = post_stratified(table, 760, 1000, level=0.9).interval
    assert list(post_stratified(table, 760, 1000, side="lower").interval) == pytest.approx([both.low, 1])
    assert list(post_stratified(table, 760, 1000, side="upper").interval) == pytest.approx([0, both.high])


def test_labels_of_other_items_than_the_judged_are_refused() -> None:
    with pytest.raises(ValueError, match="the labels must be of judged items, got 40 labels of 30 judged to pass"):
        post_stratified([[38, 2], [2, 8]], 30, 100)
    with pytest.raises(ValueError, match="judged_pass must be at most judged, got 101 of 100"):
        rogan_gladen([[38, 2], [2, 8]], 101, 100)


def test_rogan_gladen_refuses_what_labels_cannot_carry() -> None:
    with pytest.raises(Refused, match="people passed 10 and failed 0 of the labelled items: both are needed"):
        rogan_gladen([[9, 1], [0, 0]], 80, 100)
    with pytest.raises(Refused, match="do not show that the judge is better than chance"):
        rogan_gladen([[6, 4], [6, 4]], 80, 100)
    for passed in (0, 2000):
        with pytest.raises(Refused, match="would not do at any pass rate"):
            rogan_gladen([[900, 100], [100, 900]], passed, 2000)


@pytest.mark.parametrize("width", [0.2, 0.15])
def test_so_many_labels_make_the_interval_about_so_narrow(width: float) -> None:
    """The numbers are normal approximations; the intervals that they plan for are Jeffreys' and Lang–Reiczigel's."""
    here = labels_needed_here([Stratum(54, 60, 600), Stratum(8, 40, 400)], 0.62, width, items=1000)
    assert here is not None
    passed, failed = round(here * 0.6), here - round(here * 0.6)
    kept, slipped = round(passed * 0.9), round(failed * 0.2)
    table = [[kept, slipped], [passed - kept, failed - slipped]]
    low, high = post_stratified(table, 600, 1000).interval
    assert high - low == pytest.approx(width, rel=0.15)
    elsewhere = labels_needed_elsewhere([[47, 3], [6, 44]], 600, 1000, 0.6, width)
    assert elsewhere is not None
    half = elsewhere // 2
    table = [[round(half * 0.94), half - round(half * 0.94)], [half - round(half * 0.88), round(half * 0.88)]]
    low, high = rogan_gladen(table, 600, 1000).interval
    assert high - low == pytest.approx(width, rel=0.15)


def test_labels_cannot_take_away_what_the_number_of_trials_leaves_uncertain() -> None:
    assert labels_needed_here([Stratum(54, 60, 60), Stratum(8, 40, 40)], 0.62, 0.1, items=100) is None
    assert labels_needed_elsewhere([[47, 3], [6, 44]], 60, 100, 0.6, 0.1) is None
    with pytest.raises(ValueError, match="passes and fails of people, got 0 passes of 5 labels"):
        labels_needed_elsewhere([[0, 0], [1, 4]], 60, 100, 0.6, 0.1)
    with pytest.raises(ValueError, match="judged_passed=101: more than the 100 items"):
        labels_needed_elsewhere([[47, 3], [6, 44]], 101, 100, 0.6, 0.1)


@pytest.mark.parametrize("rate", [0.5, 0.9])
def test_post_stratified_intervals_cover_where_labels_are_a_random_sample(rate: float) -> None:
    rng = np.random.default_rng(13)
    hits = 0
    for _ in range(400):
        human = rng.random(200) < rate
        judge = np.where(human, rng.random(200) < 0.9, rng.random(200) < 0.2)
        h, j = human[:50], judge[:50]
        table = [[int((h & j).sum()), int((h & ~j).sum())], [int((~h & j).sum()), int((~h & ~j).sum())]]
        hits += rate in post_stratified(table, int(judge.sum()), 200).interval
    assert hits / 400 >= 0.942 - 3 * 0.011  # the measured minimum at 50 labels, less three standard errors


def test_rogan_gladen_covers_where_the_labels_come_from_elsewhere() -> None:
    rng = np.random.default_rng(14)
    hits = tried = 0
    for _ in range(400):
        tp, fp = int(rng.binomial(50, 0.95)), int(rng.binomial(50, 0.1))
        judged = int(rng.binomial(1000, 0.8 * 0.95 + 0.2 * 0.1))
        tried += 1
        hits += 0.8 in rogan_gladen([[tp, 50 - tp], [fp, 50 - fp]], judged, 1000).interval
    assert hits / tried >= 0.952 - 3 * 0.011


def test_a_stratum_that_was_read_whole_stands_for_itself_and_random_labels_for_the_rest() -> None:
    read = Stratum(passes=3, labels=20, items=20)
    found = stratified_rate([read, Stratum(18, 20, 180), Stratum(0, 0, 0)])
    assert found.estimate == pytest.approx((3 + 0.9 * 180) / 200)
    alone = stratified_rate([Stratum(18, 20, 180)]).interval
    assert found.interval.width < alone.width
    with pytest.raises(Refused, match="nothing was labelled"):
        stratified_rate([Stratum(0, 0, 30)])
    with pytest.raises(ValueError, match="got 31 labels of 30 items"):
        stratified_rate([Stratum(3, 31, 30)])
    with pytest.raises(ValueError, match=r"passes must be within 0\.\.labels, got 5 of 4"):
        stratified_rate([Stratum(5, 4, 30)])


def test_unequal_weights_make_labels_worth_less() -> None:
    equal = stratified_rate([Stratum(30, 40, 100)])
    unequal = stratified_rate([Stratum(30, 40, 100, squares=80)])
    assert unequal.estimate == equal.estimate
    assert list(unequal.interval) == list(stratified_rate([Stratum(15, 20, 100)]).interval)


def _tasks(
    rng: np.random.Generator, tasks: int, n: int, labels: int, whole: bool, rates: Any
) -> tuple[list[list[Stratum]], list[list[list[int]]], list[tuple[int, int]]]:
    """A judge whose errors differ from task to task, and labels of random trials or of random tasks."""
    human = rng.random((tasks, n)) < rates[:, None]
    sensitivity, specificity = rng.beta(1.8, 0.2, tasks)[:, None], rng.beta(1.4, 0.6, tasks)[:, None]
    judge = np.where(human, rng.random((tasks, n)) < sensitivity, rng.random((tasks, n)) >= specificity)
    labelled = np.zeros((tasks, n), bool)
    if whole:
        labelled[rng.choice(tasks, labels // n, replace=False)] = True
    else:
        labelled.flat[rng.choice(tasks * n, labels, replace=False)] = True

    def cell(h: bool, j: bool) -> Any:
        return (labelled & (human == h) & (judge == j)).sum(axis=1)

    tp, fn, fp, tn = cell(True, True), cell(True, False), cell(False, True), cell(False, False)
    strata = [
        [
            Stratum(int(tp[i]), int(tp[i] + fp[i]), int(judge[i].sum())),
            Stratum(int(fn[i]), int(fn[i] + tn[i]), int((~judge[i]).sum())),
        ]
        for i in range(tasks)
    ]
    tables = [[[int(tp[i]), int(fn[i])], [int(fp[i]), int(tn[i])]] for i in range(tasks)]
    return strata, tables, [(int(judge[i].sum()), n) for i in range(tasks)]


def _population_coverage(tasks: int, n: int, labels: int, whole: bool, repeats: int, seed: int) -> tuple[float, float]:
    """(of single items, over tasks): shares of the intervals that hold the population's rate, .5 by Beta(.5, .5)."""
    rng = np.random.default_rng(seed)
    item = by_task = 0
    for _ in range(repeats):
        strata, _, _ = _tasks(rng, tasks, n, labels, whole, rng.beta(0.5, 0.5, tasks))
        totals = [Stratum(*(sum(x[i] for x in column) for i in range(3))) for column in zip(*strata, strict=True)]
        item += 0.5 in stratified_rate(totals).interval
        by_task += 0.5 in stratified_rate_by_task(strata).interval
    return item / repeats, by_task / repeats


@pytest.mark.parametrize(("whole", "item_at_most"), [(False, 0.88), (True, 0.70)])
def test_rates_corrected_by_task_cover_where_single_items_do_not(whole: bool, item_at_most: float) -> None:
    item, by_task = _population_coverage(30, 10, 60, whole, repeats=150, seed=21)
    assert item < item_at_most
    assert by_task >= 0.94 - 3.1 * 0.0194


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tasks", "n", "labels", "whole"),
    [(10, 30, 60, False), (30, 10, 60, False), (30, 10, 60, True), (30, 10, 30, True), (100, 3, 60, False)],
)
def test_rates_corrected_by_task_cover_on_the_grid(tasks: int, n: int, labels: int, whole: bool) -> None:
    _, by_task = _population_coverage(tasks, n, labels, whole, repeats=2000, seed=22)
    assert by_task >= 0.92


def test_rogan_gladens_interval_is_that_of_lang_and_reiczigel() -> None:
    """By hand from their paper (2014): one success and one failure more in each row, z²/2 of each in the rate."""
    low, high = rogan_gladen([[47, 3], [6, 44]], 760, 1000).interval
    assert [low, high] == pytest.approx([0.7128683724, 0.8804018932], abs=1e-9)


def test_the_jackknife_over_tasks_is_that_of_the_rates_without_each_task_in_turn() -> None:
    """Tukey's formula with a t quantile over the labelled tasks, computed apart for both corrections."""
    apart: list[list[list[int]]] = [[[10, 0], [2, 8]], [[6, 4], [2, 8]], [[9, 1], [0, 10]]] * 3
    here = [(12, 20), (16, 20), (5, 20)] * 4

    def rate(tables: Any, judged: Any) -> float:
        (tp, missed), (slipped, tn) = np.sum(tables, axis=0)
        passed, total = np.sum(judged, axis=0)
        specificity = tn / (tn + slipped)
        return float((passed / total + specificity - 1) / (tp / (tp + missed) + specificity - 1))

    def without(rates: list[float]) -> float:
        return float((len(rates) - 1) / len(rates) * np.sum((np.array(rates) - np.mean(rates)) ** 2))

    variance = without([rate(apart[:i] + apart[i + 1 :], here) for i in range(9)])
    variance += without([rate(apart, here[:i] + here[i + 1 :]) for i in range(12)])
    half = 2.306004135 * variance**0.5  # t, 8 degrees of freedom
    found = rogan_gladen_by_task(apart, here)
    assert list(found.interval) == pytest.approx([found.estimate - half, found.estimate + half], abs=1e-8)

    strata = [[Stratum(p, 4, 6), Stratum(f, 3, 4)] for p, f in ((4, 0), (3, 1), (0, 0), (4, 3), (2, 0), (4, 2))]

    def stratified(tasks: list[list[Stratum]]) -> float:
        passed, failed = (sum(each[i].passes for each in tasks) / sum(each[i].labels for each in tasks) for i in (0, 1))
        return 0.6 * passed + 0.4 * failed

    rates = [stratified(strata[:i] + strata[i + 1 :]) for i in range(6)]
    half = 2.570581836 * without(rates) ** 0.5  # 5 degrees of freedom
    spread = stratified_rate_by_task(strata)
    assert list(spread.interval) == pytest.approx([spread.estimate - half, spread.estimate + half], abs=1e-8)


def test_labels_of_two_tasks_say_nothing_about_tasks_like_these() -> None:
    strata = [[Stratum(3, 5, 8), Stratum(1, 2, 2)]] * 2 + [[Stratum(0, 0, 8), Stratum(0, 0, 2)]] * 10
    with pytest.raises(Refused, match="2 tasks with labels say nothing about tasks like these: 3 are the least"):
        stratified_rate_by_task(strata)
    tables, judged = [[[8, 2], [2, 8]]] * 10, [(13, 20)] * 20
    with pytest.raises(Refused, match="1 task with labels says nothing"):
        rogan_gladen_by_task([[[80, 20], [20, 80]]], judged)
    with pytest.raises(Refused, match="2 tasks that the judge judged say nothing"):
        rogan_gladen_by_task(tables, judged[:2])


def test_rogan_gladen_by_task_is_wider_where_the_judge_errs_by_task() -> None:
    alike = [[[8, 2], [2, 8]]] * 10
    apart: list[list[list[int]]] = [[[10, 0], [2, 8]], [[6, 4], [2, 8]]] * 5
    here = [(13, 20)] * 20
    same, other = rogan_gladen_by_task(alike, here), rogan_gladen_by_task(apart, here)
    item = rogan_gladen([[80, 20], [20, 80]], 260, 400)
    assert same.estimate == other.estimate == item.estimate
    assert list(same.interval) == list(item.interval)
    assert other.interval.width > 1.2 * item.interval.width
    one = [[[0, 0], [5, 5]]] * 4 + [[[10, 0], [0, 0]]]
    assert list(rogan_gladen_by_task(one, here).interval) == [0, 1]  # sensitivity hangs on one task


def _elsewhere_coverage(repeats: int, seed: int) -> tuple[float, float]:
    """(of single items, over tasks): Rogan–Gladen intervals that hold .6, labels of a suite of another rate."""
    rng = np.random.default_rng(seed)
    item = by_task = 0
    for _ in range(repeats):
        _, _, here = _tasks(rng, 30, 10, 60, False, np.tile([0.2, 0.4, 0.6, 0.8, 1.0], 6))
        _, tables, _ = _tasks(rng, 30, 10, 60, False, np.tile([0.2, 0.3, 0.4, 0.5, 0.6], 6))
        table = np.sum(tables, axis=0).tolist()
        try:
            item += 0.6 in rogan_gladen(table, sum(passed for passed, _ in here), 300).interval
            by_task += 0.6 in rogan_gladen_by_task(tables, here).interval
        except Refused:
            continue  # a miss
    return item / repeats, by_task / repeats


@pytest.mark.slow
def test_rogan_gladen_by_task_covers_where_some_tasks_fool_the_judge() -> None:
    item, by_task = _elsewhere_coverage(2000, seed=31)
    assert item < 0.94
    assert by_task >= 0.95
