"""The headline: estimates, both intervals, which k, the score."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passhat.facts import Manifest, Status, TrialRecord
from passhat.stats import interval, mean_interval
from passhat.summary import Report, summarize

SHARED = Path(os.environ.get("PASSHAT_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))
AIRLINE = SHARED / "taubench_gpt4o_airline.csv"
Reporter = Callable[..., Report]


@pytest.mark.skipif(not AIRLINE.exists(), reason="the published outcomes aren't here")
def test_published_outcomes_give_the_published_pass_hat_k_and_the_share_of_tasks_that_flip() -> None:
    with AIRLINE.open() as file:
        records = [
            TrialRecord(
                task=row["task_id"],
                trial=int(row["trial"]),
                status=Status.COMPLETED,
                passed=abs(float(row["reward"]) - 1) < 1e-6,
            )
            for row in csv.DictReader(file)
        ]
    report = summarize(Manifest(run_id="r", suite="airline"), records, planned=0)
    assert [rate.k for rate in report.pass_hat] == [1, 2, 3, 4]
    assert [round(rate.estimate or 0, 4) for rate in report.pass_hat] == [0.42, 0.2733, 0.22, 0.2]
    assert report.flip_rate == 0.52
    assert all(rate.these_tasks and rate.tasks_like_these for rate in (*report.pass_hat, *report.pass_at))
    assert report.verdicts == {"solid": 10, "flaky": 26, "never": 14}


def test_forty_tasks_of_one_coin_give_the_pinned_numbers(report_of: Reporter) -> None:
    wins = [int(c) for c in "4445555554435353535445443553554555444444"]
    report = report_of({f"t{i}": "+" * c + "-" * (5 - c) for i, c in enumerate(wins)})
    assert report.pass_at_1 == 0.86
    assert [rate.estimate for rate in report.pass_hat] == pytest.approx([0.86, 0.735, 0.625, 0.53, 0.45])
    assert [rate.estimate for rate in report.pass_at[1:3]] == pytest.approx([0.985, 1.0])


def test_each_rate_has_the_interval_of_the_statistics_room_for_each_target(report_of: Reporter) -> None:
    counts = [5, 5, 4, 0, 3, 5, 2, 5, 1, 5]
    report = report_of({f"t{i}": "+" * c + "-" * (5 - c) for i, c in enumerate(counts)})
    for rate in report.pass_hat:
        assert rate.these_tasks == tuple(interval(5, counts, k=rate.k))
        assert rate.tasks_like_these == tuple(interval(5, counts, k=rate.k, of="tasks like these"))
        assert rate.method.startswith("these tasks: Clopper–Pearson")
    first = report.rate(1)
    assert first is not None
    assert first.these_tasks is not None
    assert [round(end, 2) for end in first.these_tasks] == [0.59, 0.80]


def test_every_task_weighs_the_same_and_uses_its_own_n(report_of: Reporter) -> None:
    report = report_of({"a": "++++", "b": "-+"}, options={"planned": 0})
    assert report.pass_at_1 == 0.75
    assert [rate.k for rate in report.pass_hat] == [1, 2]
    assert "conservative-interval" in {finding.rule for finding in report.findings}


def test_pass_hat_k_of_a_suite_is_no_power_of_pass_at_1(report_of: Reporter) -> None:
    report = report_of({"a": "++++", "b": "----"})
    assert [rate.estimate for rate in report.pass_hat] == [0.5] * 4
    assert [rate.estimate for rate in report.pass_at] == [0.5] * 4


@pytest.mark.parametrize(("n", "last"), [(1, [1]), (10, [9, 10]), (12, [10, 12]), (50, [30, 50])])
def test_every_k_up_to_the_trials_is_there_and_fewer_of_the_large_ones(
    report_of: Reporter, n: int, last: list[int]
) -> None:
    report = report_of({"a": "+" * (n - 1) + "-"})
    assert [rate.k for rate in report.pass_hat][-len(last) :] == last


def test_k_beyond_the_trials_has_bounds_and_no_estimate_and_far_beyond_is_refused(report_of: Reporter) -> None:
    report = report_of({"a": "++-", "b": "+++"}, options={"ks": (1, 5, 10)})
    assert [rate.k for rate in report.pass_hat] == [1, 5]
    beyond = report.pass_hat[1]
    assert beyond.estimate is None
    assert beyond.these_tasks is not None
    assert beyond.these_tasks[0] < beyond.these_tasks[1]
    assert {"k-refused", "k-beyond-trials"} <= {finding.rule for finding in report.findings}


def test_below_five_independent_tasks_nothing_is_said_of_tasks_like_these(report_of: Reporter) -> None:
    four, five = ({f"t{i}": "++-" for i in range(T)} for T in (4, 5))
    assert all(rate.tasks_like_these is None for rate in report_of(four).pass_hat)
    assert all(rate.tasks_like_these is not None for rate in report_of(five).pass_hat)
    assert all(rate.tasks_like_these is None for rate in report_of(five, hand_picked=True).pass_hat)


def test_families_and_repeated_inputs_count_as_one_task_each(report_of: Reporter) -> None:
    outcomes = {"a": "++", "b": "++", "c": "--", "d": "+-", "e": "++", "f": "+-", "g": "++"}
    families = {"a": "shop", "b": "shop"}
    report = report_of(outcomes, task_families=families, duplicate_inputs=(("c", "d"),), sampled_from="tickets")
    first = report.rate(1)
    assert first is not None
    assert first.tasks_like_these == tuple(mean_interval([1.0, 0.25, 1.0, 0.5, 1.0]))
    assert first.estimate == pytest.approx(5 / 7)
    report = report_of(outcomes, task_families=families, duplicate_inputs=(("b", "c"), ("c", "d")))
    assert report.pass_hat[0].tasks_like_these is None  # a, b, c and d are one, which leaves four


def test_tasks_of_the_tune_split_stand_apart(report_of: Reporter) -> None:
    report = report_of({"a": "++", "b": "-+", "c": "--"}, task_splits={"c": "tune"})
    assert (report.tasks, report.pass_at_1, report.trials.planned) == (2, 0.75, 4)
    assert [(row.name, row.tasks, row.estimate) for row in report.by_split] == [("holdout", 2, 0.75), ("tune", 1, 0.0)]
    assert [row.task for row in report.by_task] == ["a", "b", "c"]
    assert "tune-tasks" in {finding.rule for finding in report.findings}


def test_a_suite_of_tune_tasks_only_is_reported_and_called_that(report_of: Reporter) -> None:
    report = report_of({"a": "++"}, task_splits={"a": "tune"})
    assert report.pass_at_1 == 1.0
    assert report.findings[0].rule == "only-tune-tasks"


def test_the_split_and_family_of_a_record_do_where_the_manifest_names_none(
    report_of: Reporter, records_of: Callable[..., list[TrialRecord]]
) -> None:
    records = records_of({"a": "++"}) + records_of({"b": "--"}, split="tune", family="x", tags=("hard",))
    report = report_of({"a": "", "b": ""}, records=records, trials=2)
    assert (report.tasks, report.by_task[1].family, report.by_task[1].tags) == (1, "x", ("hard",))
    unknown = report_of({}, records=records, options={"planned": 0})
    assert (unknown.tasks, unknown.by_task[1].family) == (1, "x")


def test_partial_credit_is_a_mean_of_task_means_with_both_intervals(
    report_of: Reporter, trial: Callable[..., TrialRecord]
) -> None:
    records = [trial(f"t{i}", j, passed=False, score=0.5 if j else 0.0) for i in range(5) for j in range(2)]
    score = report_of({f"t{i}": "xx" for i in range(5)}, records=records).score
    assert score is not None
    assert (score.estimate, score.n, score.partial_credit, score.if_missing) == (0.25, 10, True, None)
    assert score.these_tasks == tuple(mean_interval([0.25] * 5, of="these tasks", n=2))
    assert score.tasks_like_these == tuple(mean_interval([0.25] * 5))


def test_failures_without_a_score_are_worth_nothing_and_missing_trials_are_bounded(
    report_of: Reporter, trial: Callable[..., TrialRecord]
) -> None:
    records = [
        trial("a", 0, score=0.5, passed=False),
        trial("a", 1, passed=False, status=Status.PROVIDER_ERROR),
        trial("a", 2, passed=None, status=Status.ENVIRONMENT_ERROR),
    ]
    score = report_of({"a": "xxx"}, records=records).score
    assert score is not None
    assert score.estimate == 0.25
    assert score.if_missing == pytest.approx((0.5 / 3, 0.5))


def test_without_scores_there_is_no_score(report_of: Reporter) -> None:
    assert report_of({"a": "+-"}).score is None


def test_a_run_without_any_verdict_has_no_rate_and_is_incomplete(report_of: Reporter) -> None:
    report = report_of({"a": "", "b": ""}, trials=3)
    assert report.pass_at_1 is None
    assert report.pass_hat[0].if_missing == (0.0, 1.0)
    assert (report.trials.planned, report.trials.missing, report.exit_code) == (6, 6, 3)
    assert report.flip_rate is None
    assert {row.verdict for row in report.by_task} == {"untested"}


def test_a_run_without_tasks_is_a_report_too(report_of: Reporter) -> None:
    report = report_of({})
    assert (report.tasks, report.pass_at_1, report.exit_code) == (0, None, 0)
    assert report.pass_hat[0].if_missing is None


_SIGNS = st.text("+-?", min_size=1, max_size=6)


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.sampled_from("abcdefgh"), _SIGNS, min_size=1), st.randoms(use_true_random=False))
def test_whatever_the_outcomes_curves_are_monotone_intervals_hold_the_estimate_and_order_does_not_matter(
    outcomes: dict[str, str], random: object
) -> None:
    verdicts = {"+": True, "-": False, "?": None}
    records = [
        TrialRecord(
            task=task,
            trial=i,
            status=Status.COMPLETED if verdicts[sign] is not None else Status.UNRESOLVED,
            passed=verdicts[sign],
        )
        for task, signs in outcomes.items()
        for i, sign in enumerate(signs)
    ]
    facts = Manifest(run_id="r", suite="s", task_ids=tuple(outcomes))
    report = summarize(facts, records, planned=0)
    hats = [rate.estimate for rate in report.pass_hat if rate.estimate is not None]
    ats = [rate.estimate for rate in report.pass_at if rate.estimate is not None]
    assert hats == sorted(hats, reverse=True)
    assert ats == sorted(ats)
    for rate in (*report.pass_hat, *report.pass_at):
        for ends in (rate.these_tasks, rate.tasks_like_these):
            if ends is not None and rate.estimate is not None:
                assert 0 <= ends[0] < ends[1] <= 1
        if rate.these_tasks is not None and rate.estimate is not None:
            assert rate.these_tasks[0] <= rate.estimate <= rate.these_tasks[1]
        if rate.if_missing is not None:
            assert rate.if_missing[0] <= rate.if_missing[1]
    random.shuffle(records)  # type: ignore[attr-defined]
    again = summarize(facts, records, planned=0)
    assert again.to_json() == report.to_json()


def test_two_thousand_trials_are_summed_up_without_scipy_stats() -> None:
    program = """
import sys
from passhat.facts import Manifest, Status, TrialRecord
from passhat.summary import summarize
ids = tuple(f"t{i}" for i in range(200))
records = (TrialRecord(task=t, trial=j, status=Status.COMPLETED, passed=(i * 7 + j * 3) % 11 > i % 5)
           for i, t in enumerate(ids) for j in range(10))
report = summarize(Manifest(run_id="r", suite="s", trials=10, task_ids=ids, gates=("pass@1 >= 0.5",)), records)
print(report.trials.counted, any(name.startswith("scipy.stats") for name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2000", "False"]
