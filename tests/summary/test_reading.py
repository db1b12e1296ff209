"""What the report says of the transcripts that people read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from passhat.facts import Fault, Label
from passhat.stats import interval
from passhat.summary import Reading, Report, agreements

Reporter = Callable[..., Report]
SIX = {f"t{i}": "+++-" for i in range(5)} | {"broken": "----"}
LIVE = {"model_source": "live", "isolation": "process"}


def said(
    task: str, trial: int, verdict: Any = "fail", fault: Fault | None = None, *, rater: str = "ann", **more: Any
) -> Label:
    return Label(task, trial, verdict, rater, "2026-11-30T10:00:00Z", fault=fault, **more)


def reading(report: Report) -> Reading:
    assert report.reading is not None
    return report.reading


def rules(report: Report) -> dict[str, str]:
    return {finding.rule: finding.severity for finding in report.findings}


def test_a_report_says_which_share_of_the_failures_was_read_by_whom_and_whose_fault_they_were(
    report_of: Reporter,
) -> None:
    labels = [said("broken", i, fault="task") for i in range(3)]
    labels += [said("t0", 3, fault="agent"), said("t0", 3, fault="agent", rater="ben"), said("t1", 0, "pass")]
    found = reading(report_of(SIX, options={"labels": labels}))
    assert (found.failed, found.failed_read, found.passed, found.passed_read) == (9, 4, 15, 1)
    assert found.raters == ("ann", "ben")
    assert found.faults == {"task": 3, "agent": 1}


def test_a_label_that_passes_a_trial_and_blames_the_agent_blames_nobody(report_of: Reporter) -> None:
    labels = [said("t0", 3, "pass", fault="agent"), said("t1", 3, "pass", fault="grader")]
    assert reading(report_of(SIX, options={"labels": labels})).faults == {"grader": 1}


def test_the_rate_without_others_faults_stands_beside_the_rate_with_its_interval(report_of: Reporter) -> None:
    labels = [said("broken", i, fault="task") for i in range(3)]
    report = report_of(SIX, options={"labels": labels})
    assert report.pass_at_1 == pytest.approx(15 / 24)
    assert report.pass_at_1 == report_of(SIX).pass_at_1
    without = reading(report).without
    assert without is not None
    assert (without.taken_out, without.n, without.c) == (3, 21, 15)
    assert without.estimate == pytest.approx((5 * 0.75 + 0) / 6)
    ns, cs = [4, 4, 4, 4, 4, 1], [3, 3, 3, 3, 3, 0]
    assert without.these_tasks == pytest.approx(tuple(interval(ns, cs)))
    assert without.tasks_like_these is not None
    everything = [*labels, said("broken", 3, fault="grader")]
    whole = reading(report_of(SIX, options={"labels": everything})).without
    assert whole is not None
    assert (whole.n, whole.estimate) == (20, 0.75)


def test_a_failure_stays_the_agents_where_raters_blame_different_things(report_of: Reporter) -> None:
    labels = [said("t0", 3, fault="agent"), said("t0", 3, fault="grader", rater="ben")]
    found = reading(report_of(SIX, options={"labels": labels}))
    assert found.faults == {"raters differ": 1}
    assert found.without is None


def test_verdicts_that_contradict_the_grade_are_counted(report_of: Reporter) -> None:
    labels = [said("t0", 3, "pass", "grader"), said("t1", 0), said("t1", 1), said("t1", 1, "pass", rater="ben")]
    report = report_of(SIX, options={"labels": labels})
    assert (reading(report).failed_cleared, reading(report).passed_failed) == (1, 1)
    assert rules(report)["passes-people-fail"] == "warning"


def test_labels_of_other_arms_of_tuned_tasks_and_of_no_trial_are_left_out(report_of: Reporter) -> None:
    labels = [said("t0", 3, arm="other"), said("broken", 0), said("t0", 99), said("gone", 0)]
    found = reading(report_of(SIX, task_splits={"broken": "tune"}, options={"labels": labels}))
    assert (found.failed, found.failed_read, found.raters) == (5, 0, ())


def test_a_label_on_one_criterion_means_that_the_trial_was_read_and_blames_nobody(report_of: Reporter) -> None:
    found = reading(report_of(SIX, options={"labels": [said("t0", 3, fault="task", grader="tone")]}))
    assert (found.failed_read, found.faults, found.without) == (1, {}, None)


def test_agreement_of_two_raters_is_in_the_report(report_of: Reporter) -> None:
    labels = [said(f"t{i}", 3) for i in range(4)] + [said(f"t{i}", 3, rater="ben") for i in range(2)]
    labels += [said("t2", 3, "pass", rater="ben"), said("t0", 0, "pass"), said("t0", 0, "pass", rater="ben")]
    [pair] = reading(report_of(SIX, options={"labels": labels})).agreement
    assert (pair.raters, pair.n, pair.agreed) == (("ann", "ben"), 4, 3)
    assert pair.kappa == pytest.approx(0.5)
    assert pair.interval is not None
    assert pair.interval[0] < 0.5 < pair.interval[1]


def test_kappa_is_unknown_where_both_raters_used_one_verdict_only() -> None:
    labels = [said("t", i) for i in range(3)] + [said("t", i, rater="ben") for i in range(3)]
    [pair] = agreements(labels)
    assert (pair.n, pair.observed, pair.kappa, pair.interval) == (3, 1.0, None, None)


def test_a_live_run_whose_failures_nobody_read_says_so_and_a_read_one_does_not(report_of: Reporter) -> None:
    unread = report_of(SIX, options={"labels": []}, **LIVE)
    assert rules(unread)["no-failure-read"] == "note"
    notes = [each.rule for each in unread.findings if each.severity == "note"]
    assert (notes[0], notes[-1], len(notes) > 2) == ("no-failure-read", "conservative-interval", True)
    assert "no-failure-read" not in rules(report_of(SIX, **LIVE))
    assert "no-failure-read" not in rules(report_of(SIX, options={"labels": []}, model_source="simulated"))
    assert "no-failure-read" not in rules(report_of(SIX, options={"labels": [said("t0", 3)]}, **LIVE))
    assert "no-failure-read" not in rules(report_of({"a": "+++"}, options={"labels": []}, **LIVE))


def test_failures_that_are_not_the_agents_are_a_warning(report_of: Reporter) -> None:
    labels = [said("broken", 0, fault="environment"), said("broken", 1, fault="task"), said("t0", 3, fault="agent")]
    report = report_of(SIX, options={"labels": labels})
    [message] = [each.message for each in report.findings if each.rule == "failures-not-the-agents"]
    assert "Of 3 failures that people read, 2 are blamed on the task (1), the environment (1)" in message
    alone = report_of(SIX, options={"labels": labels[2:]})
    assert "failures-not-the-agents" not in rules(alone)


def test_the_reading_is_in_the_json_and_null_where_nobody_could_read(report_of: Reporter) -> None:
    assert json.loads(report_of(SIX).to_json())["reading"] is None
    data = json.loads(report_of(SIX, options={"labels": [said("broken", 0, fault="task")]}).to_json())["reading"]
    assert data["without"]["taken_out"] == 1
    assert data["faults"] == {"task": 1}


def test_a_label_on_an_attempt_that_was_run_again_counts_no_more(
    trial: Callable[..., Any], report_of: Reporter
) -> None:
    records = [
        trial("a", 0, False, started="2026-11-30T09:00:00.000+00:00"),
        trial("a", 1, False, started="2026-11-30T11:00:00.000+00:00"),
        trial("a", 2, False),
    ]
    labels = [said("a", number, fault="task") for number in range(3)]
    found = reading(report_of({"a": "---"}, records=records, options={"labels": labels}))
    assert (found.failed_read, found.faults) == (2, {"task": 2})
