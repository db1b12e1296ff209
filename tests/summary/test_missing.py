"""What each status counts as, and what the policies make of missing trials."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from passhat.facts import RULES, Counts, Manifest, Status, TrialRecord
from passhat.summary import MissingPolicy, Report, summarize

Reporter = Callable[..., Report]
Maker = Callable[..., TrialRecord]

BY_STATUS = {  # status -> what a trial that claims True, False, None is: passed, failed, missing, left out
    Status.COMPLETED: "+-?",
    Status.AGENT_ERROR: "---",
    Status.TIMEOUT: "---",
    Status.LIMIT: "---",
    Status.PROVIDER_ERROR: "---",
    Status.ENVIRONMENT_ERROR: "???",
    Status.SIMULATOR_ERROR: "???",
    Status.UNRESOLVED: "?-?",
    Status.GRADER_ERROR: "?-?",
    Status.INTERRUPTED: "???",
    Status.NOT_STARTED: "???",
    Status.SKIPPED: "   ",
    Status.NOT_NEEDED: "   ",
}


@pytest.mark.parametrize("status", Status)
def test_a_trial_counts_as_its_status_says_whatever_else_the_record_claims(
    report_of: Reporter, trial: Maker, status: Status
) -> None:
    for claim, expected in zip((True, False, None), BY_STATUS[status], strict=True):
        report = report_of({"a": "x"}, records=[trial("a", 0, claim, status=status)])
        assert (report.by_task[0].outcomes or " ") == expected
        planned = RULES[status].counts is not Counts.NOT_PLANNED
        assert report.trials.planned == planned
        counted = {"-": report.failures, "?": report.missing}.get(expected)
        if counted is not None:
            assert counted == {status.value: 1}


def test_the_report_of_a_regrade_says_so_and_counts_what_it_could_not_judge(report_of: Reporter, trial: Maker) -> None:
    lost = ("not judged again: its workspace wasn't kept",)
    records = [
        trial("a", 0, passed=False, status=Status.TIMEOUT, score=0.5),
        trial("a", 1, passed=False, status=Status.TIMEOUT, score=None, notes=lost),
        trial("a", 2, passed=None, status=Status.UNRESOLVED, notes=lost),
        trial("a", 3, passed=False, status=Status.PROVIDER_ERROR),
    ]
    report = report_of({"a": "xxxx"}, records=records, options={"regrade": "r-1"})
    assert report.by_task[0].outcomes == "--?-"
    assert report.score is not None
    assert report.score.estimate == pytest.approx(0.5 / 3)
    assert report.missing == {"unresolved": 1}
    assert report.regrade == "r-1"
    found = {finding.rule: finding.message for finding in report.findings}
    assert "grades of the regrade r-1, not the run's own" in found["regraded"]
    assert found["not-regraded"].startswith("2 trials could not be judged again")
    assert not {"regraded", "not-regraded"} & {each.rule for each in report_of({"a": "+-"}).findings}


def test_seven_of_eight_trials_raising_is_exactly_an_eighth(report_of: Reporter, trial: Maker) -> None:
    records = [trial("a", i, passed=False, status=Status.AGENT_ERROR) for i in range(7)] + [trial("a", 7)]
    report = report_of({"a": "x" * 8}, records=records)
    assert (report.pass_at_1, report.exit_code) == (0.125, 0)
    assert report.failures == {"agent_error": 7}


@pytest.mark.parametrize("c", [0, 3, 7])
def test_one_grader_error_in_eight_gives_both_bounds_and_exit_code_3(report_of: Reporter, c: int) -> None:
    report = report_of({"a": "+" * c + "-" * (7 - c) + "?"})
    first = report.rate(1)
    assert first is not None
    assert first.if_missing == (c / 8, (c + 1) / 8)
    assert first.estimate == c / 7
    assert (report.trials.counted, report.trials.missing, report.exit_code) == (7, 1, 3)


@pytest.mark.parametrize(
    ("policy", "estimate", "n", "missing", "code"),
    [
        ("bound", 2 / 4, 4, 1, 3),
        ("fail", 2 / 5, 5, 1, 0),
        ("exclude", 2 / 4, 4, 1, 0),
        ("exclude-provider", 2 / 3, 3, 2, 3),
    ],
)
def test_each_policy_counts_a_missing_trial_and_a_providers_failure_its_own_way(
    report_of: Reporter, trial: Maker, policy: MissingPolicy, estimate: float, n: int, missing: int, code: int
) -> None:
    records = [trial("a", 0), trial("a", 1), trial("a", 2, passed=False), trial("a", 3, passed=None)]
    records.append(trial("a", 4, passed=False, status=Status.PROVIDER_ERROR))
    for report in (
        report_of({"a": "x" * 5}, records=records, options={"missing": policy}),
        report_of({"a": "x" * 5}, records=records, missing_policy=policy),
    ):
        assert report.pass_at_1 == estimate
        assert (report.by_task[0].n, report.trials.missing, report.trials.policy) == (n, missing, policy)
        assert report.trials.planned == report.trials.counted + missing == 5
        assert report.exit_code == code
        message = next(finding.message for finding in report.findings if finding.rule == "missing-trials")
        assert message.startswith(f"{missing} of 5 trials have no verdict")


def test_trials_without_a_record_are_not_started(report_of: Reporter) -> None:
    report = report_of({"a": "++", "b": ""}, trials=3)
    assert report.missing == {"not_started": 4}
    assert report.by_task[0].outcomes == "++?"
    assert "untested-tasks" in {finding.rule for finding in report.findings}
    assert report.rate(1) == report.pass_at[0]
    assert report.rate(9) is None


def test_the_plan_can_be_given_for_all_tasks_or_some(report_of: Reporter) -> None:
    assert report_of({"a": "++", "b": "+"}, options={"planned": 0}).trials.missing == 0
    assert report_of({"a": "++", "b": "+"}, options={"planned": {"b": 1}}).trials.missing == 0
    assert report_of({"a": "++", "b": "+"}, options={"planned": 4}).trials.missing == 5


def test_skipped_trials_are_neither_missing_nor_counted(report_of: Reporter, trial: Maker) -> None:
    records = [trial("a", 0), trial("a", 1, passed=None, status=Status.SKIPPED)]
    records += [trial("b", i, passed=None, status=Status.NOT_NEEDED) for i in range(2)]
    report = report_of({"a": "xx", "b": "xx"}, records=records)
    assert (report.tasks, report.trials.planned, report.trials.missing) == (1, 1, 0)


def test_a_trial_recorded_twice_or_with_a_negative_number_is_refused(report_of: Reporter, trial: Maker) -> None:
    for number in (3, 70_000):
        with pytest.raises(ValueError, match=f"trial {number} of task 'a' is recorded twice"):
            report_of({"a": "x"}, records=[trial("a", number), trial("a", number)])
    with pytest.raises(ValueError, match="numbered -1; trials count from 0"):
        report_of({"a": "x"}, records=[trial("a", -1)])


def test_unknown_words_are_refused(report_of: Reporter) -> None:
    with pytest.raises(ValueError, match="missing='drop': must be one of 'bound', 'fail'"):
        report_of({"a": "+"}, options={"missing": "drop"})
    with pytest.raises(ValueError, match="undecided='maybe': must be 'pass' or 'fail'"):
        report_of({"a": "+"}, options={"undecided": "maybe"})
    with pytest.raises(ValueError, match="arm='c': the run has 'a', 'b'"):
        report_of({"a": "+"}, arms=("a", "b"), options={"arm": "c"})


def test_a_report_is_about_one_arm_and_says_which(manifest_of: Callable[..., Manifest], trial: Maker) -> None:
    facts = manifest_of(arms=("old", "new"), baseline="new", task_ids=("t",))
    records = [trial("t", 0, arm="old"), trial("t", 0, passed=False, arm="new")]
    assert summarize(facts, records).pass_at_1 == 0.0
    report = summarize(facts, records, arm="old")
    assert (report.arm, report.pass_at_1) == ("old", 1.0)
    assert any("'new' (1 trials)" in finding.message for finding in report.findings)
