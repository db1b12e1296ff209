"""Each rule fires when it should, and keeps quiet when it shouldn't."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from passhat.facts import Attempt, Damage, GitState, Grade, Role, Status, TrialRecord, Usage
from passhat.summary import Finding, Report

Reporter = Callable[..., Report]
Maker = Callable[..., TrialRecord]
MIXED = {f"t{i}": "+-+" for i in range(6)}
LIVE = {"model_source": "live", "model_requested": "gpt-5-2026-08-07", "isolation": "process"}


def found(report: Report, rule: str) -> Finding | None:
    """The first finding of a rule."""
    return next((finding for finding in report.findings if finding.rule == rule), None)


NO_AND_YES = {"a": ("no-x",), **dict.fromkeys("bcdef", ("x",))}
SHOULD_AND_NOT = {"a": ("should-not",), "b": ("should",), "c": ("should",)}
CASES: list[tuple[str, Mapping[str, str], dict[str, Any], str | None]] = [
    ("never-solved", {"a": "---", "b": "+++"}, {}, "warning"),
    ("never-solved", {"a": "---", "b": "---"}, {}, "error"),
    ("never-solved", {"a": "--", "b": "+++"}, {}, None),
    ("saturated", {"a": "+++"}, {}, "warning"),
    ("saturated", {"a": "+++"}, {"kind": "regression"}, "note"),
    ("saturated", {"a": "++-"}, {}, None),
    ("saturated", {"a": "???"}, {}, None),
    ("all-easy", {f"t{i}": "++++-" for i in range(5)}, {}, "warning"),
    ("all-easy", {f"t{i}": "++++-" for i in range(5)}, {"asked": "structural"}, None),
    ("all-easy", {f"t{i}": "+++++" for i in range(5)}, {}, None),
    ("all-easy", {**{f"t{i}": "+++++" for i in range(5)}, "hard": "+----"}, {}, None),
    ("repeated-input", {"a": "+-", "b": "+-"}, {"duplicate_inputs": (("a", "b"),)}, "error"),
    ("repeated-input", {"a": "+-", "b": "+-", "c": "--"}, {"duplicate_inputs": (("a", "b"),)}, "warning"),
    ("repeated-input", {"a": "+-"}, {"duplicate_inputs": (("a", "b"),)}, None),
    ("shared-state", {"a": "+-"}, {"variance": ("shared database",)}, "warning"),
    ("shared-process", {"a": "+-"}, {"isolation": "inline"}, "note"),
    ("shared-process", {"a": "+-"}, {"isolation": "inline", "model_source": "simulated"}, None),
    ("shared-process", {"a": "+-"}, {"isolation": "process"}, None),
    ("order-dependence", {f"t{i}": "+++---" for i in range(12)}, {}, "warning"),
    ("order-dependence", {f"t{i}": "+++---" for i in range(4)}, {}, None),
    ("order-dependence", {"a": "+-+--+", "b": "-+--++", "c": "+--++-", "d": "-++-+-", "e": "--++-+"}, {}, None),
    ("families", {"a": "+", "b": "-"}, {"task_families": {"a": "f", "b": "f"}}, "note"),
    ("families", {"a": "+", "b": "-"}, {"task_families": {"a": "f"}}, None),
    (
        "imbalance",
        dict.fromkeys("abcdef", "+-"),
        {"task_tags": NO_AND_YES},
        "warning",
    ),
    (
        "imbalance",
        dict.fromkeys("abc", "+-"),
        {"task_tags": SHOULD_AND_NOT},
        None,
    ),
    ("imbalance", dict.fromkeys("abc", "+-"), {"task_tags": {"a": ("not-refund",)}}, None),
    ("mixed-sources", {"a": "+-"}, {"model_source": "mixed"}, "error"),
    ("few-tasks", {"a": "+-+"}, {}, "warning"),
    ("few-tasks", {"a": "???"}, {}, None),  # without a verdict there is nothing that could speak of others
    ("few-tasks", MIXED, {}, "note"),
    ("few-tasks", {f"t{i}": "+-+" for i in range(20)}, {}, None),
    ("few-tasks", {"a": "+-+"}, {"asked": "scripted"}, None),
    ("hand-picked", {"a": "+-+"}, {"hand_picked": True}, "note"),
    ("hand-picked", {"a": "+-+"}, {}, None),
    ("not-sampled", MIXED, {}, "note"),
    ("not-sampled", MIXED, {"sampled_from": "tickets"}, None),
    ("not-sampled", {"a": "+-+"}, {}, None),
    ("few-trials", {"a": "++", "b": "+-"}, {}, "warning"),
    ("few-trials", {"a": "+++", "b": "+-"}, {}, "warning"),
    ("few-trials", {"a": "+++"}, {}, None),
    ("k-stops-short", {"a": "+++", "b": "++?"}, {}, "warning"),
    ("k-stops-short", {"a": "+++", "b": "+++"}, {}, None),
    ("conservative-interval", {"a": "+-+"}, {}, "note"),
    ("conservative-interval", {"a": "+-" * 10}, {"ks": (1,)}, None),
    ("model-moved", {"a": "+"}, {"models_reported": {"gpt-4o-2024-05-13@": 1, "gpt-4o-2024-08-06@": 1}}, "error"),
    ("model-moved", {"a": "+"}, {"models_reported": {"gpt-4o@a": 1, "gpt-4o-mini@b": 1}}, None),
    ("model-configuration-moved", {"a": "+"}, {"models_reported": {"gpt-4o@a": 1, "gpt-4o@": 1}}, "note"),
    ("model-configuration-moved", {"a": "+"}, {"models_reported": {"gpt-4o@a": 1}}, None),
    ("moving-alias", {"a": "+"}, {**LIVE, "model_requested": "gpt-5"}, "note"),
    ("moving-alias", {"a": "+"}, LIVE, None),
    ("moving-alias", {"a": "+"}, {"model_source": "simulated", "model_requested": "gpt-5"}, None),
    ("stale", {"a": "+"}, {"started": "2026-09-30T10:00:00"}, "warning"),
    ("stale", {"a": "+"}, {**LIVE, "ended": "2026-09-30T10:00:00+00:00"}, None),
    ("stale", {"a": "+"}, {**LIVE, "ended": "2026-03-30T10:00:00Z"}, "warning"),
    ("stale", {"a": "+"}, {"started": "yesterday"}, None),
    ("stale", {"a": "+"}, {"started": "2020-01-01T00:00:00Z", "model_source": "simulated"}, None),
    ("incomplete-record", {"a": "+"}, {}, "note"),
    ("incomplete-record", {"a": "+"}, LIVE, None),
    ("incomplete-record", {"a": "+"}, {"model_source": "scripted"}, None),
    ("uncommitted-changes", {"a": "+"}, {"git": GitState("0123456789abcdef", True)}, "note"),
    ("uncommitted-changes", {"a": "+"}, {"git": GitState("0123456789abcdef", False)}, None),
    ("uncommitted-changes", {"a": "+"}, {"git": GitState("0123456789abcdef", None)}, "note"),
    ("resumed", {"a": "+"}, {"resumed": 2}, "note"),
    ("missing-trials", {"a": "+?"}, {}, "warning"),
    ("missing-trials", {"a": "+-"}, {}, None),
    ("untested-tasks", {"a": "++", "b": "??"}, {}, "warning"),
    ("untested-tasks", {"a": "??"}, {}, "error"),
]


@pytest.mark.parametrize(("rule", "outcomes", "fields", "severity"), CASES)
def test_a_rule_fires_when_it_should(
    report_of: Reporter, rule: str, outcomes: Mapping[str, str], fields: dict[str, Any], severity: str | None
) -> None:
    fields = dict(fields)
    options = {"ks": fields.pop("ks")} if "ks" in fields else {}
    finding = found(report_of(outcomes, options=options, **fields), rule)
    assert (finding and finding.severity) == severity
    if finding is not None:
        assert finding.message[0].isupper() or finding.message.startswith(("pass", "gpt", *"0123456789"))
        assert "  " not in finding.message


@pytest.mark.parametrize(
    ("first", "missing", "said"), [(False, "bound", True), (None, "bound", False), (False, "fail", False)]
)
def test_an_outage_of_a_judge_after_which_only_failures_are_known_is_said(
    report_of: Reporter, trial: Maker, first: bool | None, missing: str, said: bool
) -> None:
    """In task b the judge failed: where code failed the trial too, it stays a failure, and the others go missing."""
    records = [trial("a", i, i < 3) for i in range(4)]
    grades = (Grade(first, name="code"), Grade(None, name="kind", error="down"))
    status = Status.COMPLETED if first is False else Status.GRADER_ERROR
    records += [trial("b", 0, first, status=status, grades=grades)]
    records += [trial("b", i, None, status=Status.GRADER_ERROR, grades=grades[1:]) for i in range(1, 4)]
    report = report_of({}, records=records, options={"missing": missing}, trials=4)
    finding = found(report, "one-sided")
    assert (finding is not None) is said
    if finding is not None:
        assert (finding.severity, finding.tasks) == ("warning", ("b",))
        assert "failed on 4 trials of 1 task: 1 counts as a failure all the same" in finding.message
        assert "the bounds (0.375 to 0.750)" in finding.message
        assert "passhat resume r1" in finding.message


def test_errors_come_first_and_notes_last(report_of: Reporter) -> None:
    report = report_of({"a": "---?", "b": "----"}, models_reported={"m-0613@": 1, "m-1106@": 1})
    order = [finding.severity for finding in report.findings]
    assert order == sorted(order, key=["error", "warning", "note"].index)
    assert set(order) == {"error", "warning", "note"}


@pytest.mark.parametrize(
    ("source", "prints", "severity"),
    [
        ("live", ["a", "a", "a"], "warning"),
        ("unseen", ["a", "a", "a"], "warning"),
        ("simulated", ["a", "a", "a"], "note"),
        ("scripted", ["a", "a", "a"], None),
        ("replayed", ["a", "a", "a"], None),
        ("live", ["a", "a", "b"], None),
        ("live", ["a", "b", "a"], None),
        ("live", ["", "", ""], None),
        ("live", ["a", "a"], None),
    ],
)
def test_trials_with_one_transcript_are_one_trial(
    report_of: Reporter, trial: Maker, source: str, prints: list[str], severity: str | None
) -> None:
    records = [trial("a", i, fingerprint=each) for i, each in enumerate(prints)]
    finding = found(report_of({"a": "x" * len(prints)}, records=records, model_source=source), "identical-transcripts")
    assert (finding and finding.severity) == severity


def test_a_simulation_may_repeat_itself_on_some_tasks(report_of: Reporter, trial: Maker) -> None:
    records = [trial("a", i, fingerprint="same") for i in range(3)]
    records += [trial("b", i, fingerprint=str(i)) for i in range(3)]
    assert (
        found(report_of({"a": "", "b": ""}, records=records, model_source="simulated"), "identical-transcripts") is None
    )


def test_a_provider_that_failed_and_limits_that_were_reached_are_said(report_of: Reporter, trial: Maker) -> None:
    records = [trial("a", i) for i in range(8)]
    records += [trial("a", 8, passed=False, status=Status.PROVIDER_ERROR)]
    assert found(report_of({"a": ""}, records=records, trials=9), "limits-reached") is None
    records += [trial("a", 9, passed=False, status=Status.TIMEOUT), trial("a", 10, passed=False, status=Status.LIMIT)]
    report = report_of({"a": ""}, records=records, trials=11)
    provider, limits = found(report, "provider-errors"), found(report, "limits-reached")
    assert provider is not None
    assert provider.message.startswith("1 trial failed because the provider did")
    assert limits is not None
    assert limits.message.startswith("2 trials (18 %) reached")
    excluded = report_of({"a": ""}, records=records, trials=11, options={"missing": "exclude-provider"})
    assert found(excluded, "provider-errors") is None


def test_sums_that_leave_something_out_and_attempts_that_were_repeated_are_said(
    report_of: Reporter, trial: Maker
) -> None:
    attempt = Attempt(Status.ENVIRONMENT_ERROR, seconds=1.0, usage=Usage(1, 5, None, 5))
    records = [
        trial("a", 0, usage=Usage(1, 10, None, 2, None, 0.1), attempts=(attempt,)),
        trial("a", 1, usage=Usage(1)),
    ]
    report = report_of({"a": "xx"}, records=records)
    partial, retried = found(report, "partial-sums"), found(report, "retried")
    assert partial is not None
    assert "input tokens, output tokens, dollars, tokens are known subtotals" in partial.message
    assert retried is not None
    assert retried.message.startswith("1 attempt failed for reasons outside the agent and was run again")
    assert "1 pass came on a later try: passhat show RUN names them" in retried.message


@pytest.mark.parametrize(
    ("status", "passed", "later"),
    [
        (Status.ENVIRONMENT_ERROR, True, 1),
        (Status.TIMEOUT, True, 1),
        (Status.PROVIDER_ERROR, False, 0),
        (Status.GRADER_ERROR, True, 0),
    ],
)
def test_a_pass_on_a_later_try_is_counted_and_one_that_was_only_graded_again_is_not(
    report_of: Reporter, trial: Maker, status: Status, passed: bool, later: int
) -> None:
    records = [trial("a", 0, passed=passed, attempts=(Attempt(status),)), trial("a", 1)]
    report = report_of({"a": ""}, records=records, trials=2)
    assert (report.usage.retried, report.usage.passed_later) == (1, later)
    finding = found(report, "retried")
    assert finding is not None
    assert ("came on a later try" in finding.message) == bool(later)


def grades(trial: Maker, verdicts: Mapping[str, list[bool | str]], *, role: Role = Role.REQUIRED) -> list[TrialRecord]:
    """Trials whose grader says so; the trial itself passes every other time."""
    return [
        trial(
            task,
            i,
            passed=i % 2 == 0,
            grades=(Grade(None, error=each, name="g") if isinstance(each, str) else Grade(each, name="g", role=role),),
        )
        for task, signs in verdicts.items()
        for i, each in enumerate(signs)
    ]


@pytest.mark.parametrize(
    ("verdicts", "rule"),
    [
        ({t: [True] * 4 for t in "abc"}, "grader-never-fails"),
        ({t: [False] * 4 for t in "abc"}, "grader-never-passes"),
        ({t: [True, False] * 2 for t in "abc"}, None),
        ({t: [True] * 4 for t in "ab"}, None),
        ({t: [True] * 3 for t in "abc"}, None),
    ],
)
def test_a_grader_that_only_ever_says_one_thing_is_named(
    report_of: Reporter, trial: Maker, verdicts: Mapping[str, list[bool | str]], rule: str | None
) -> None:
    records = grades(trial, verdicts)
    report = report_of({task: "x" * len(signs) for task, signs in verdicts.items()}, records=records)
    rules = {finding.rule for finding in report.findings if finding.rule.startswith("grader")}
    assert rules == ({rule} if rule else set())


@pytest.mark.parametrize(("of_the_failed", "said"), [(True, True), ("boom", False)])
def test_failed_trials_are_named_only_where_the_grader_judged_some(
    report_of: Reporter, trial: Maker, of_the_failed: bool | str, said: bool
) -> None:
    records = grades(trial, {t: [True, of_the_failed] * 4 for t in "abc"})
    finding = found(report_of(dict.fromkeys("abc", "x" * 8), records=records), "grader-never-fails")
    assert finding is not None
    assert ("failed ones too" in finding.message) is said


def test_in_a_saturated_suite_graders_that_never_fail_are_no_news(report_of: Reporter, trial: Maker) -> None:
    records = [trial(t, i, grades=(Grade(True, name="g"),)) for t in "abc" for i in range(4)]
    assert found(report_of(dict.fromkeys("abc", "xxxx"), records=records), "grader-never-fails") is None


@pytest.mark.parametrize(("verdicts", "severity"), [(["boom", True], "warning"), (["boom", "boom"], "error")])
def test_a_grader_that_failed_is_named_with_its_first_error(
    report_of: Reporter, trial: Maker, verdicts: list[bool | str], severity: str
) -> None:
    finding = found(report_of({"a": "xx"}, records=grades(trial, {"a": verdicts})), "grader-errors")
    assert finding is not None
    assert finding.severity == severity
    assert finding.message.endswith("failed it: boom")


def test_a_refused_k_is_explained_once_for_each_rate(report_of: Reporter) -> None:
    messages = [f.message for f in report_of({"a": "++"}, options={"ks": (1, 20)}).findings if f.rule == "k-refused"]
    assert len(messages) == 2
    assert all("20" in message for message in messages)


def test_a_trial_that_nobody_meant_to_run_counts_nowhere_and_is_an_error(report_of: Reporter, trial: Maker) -> None:
    plan: dict[str, Any] = {"task_ids": ("a", "b"), "task_hashes": {"a": "1", "b": "2"}, "trials": 2}
    own = [trial(task, number, False) for task in "ab" for number in range(2)]
    report = report_of({}, records=[*own, trial("zz", 0), trial("a", 2), trial("a", 7)], **plan)
    assert (report.pass_at_1, [row.task for row in report.by_task], report.trials.planned) == (0.0, ["a", "b"], 4)
    error = found(report, "unforeseen-trials")
    assert error is not None
    assert (error.severity, error.tasks) == ("error", ("zz", "a"))
    assert error.message.startswith("3 records are of trials that the run never meant to run ('zz', 'a')")
    assert report.exit_code == 3
    assert found(report_of({}, records=own, **plan), "unforeseen-trials") is None
    growing = report_of({}, records=[*own, trial("zz", 0)], **{**plan, "task_hashes": {}})
    assert found(growing, "unforeseen-trials") is None  # a session of tests learns of them as they run


def test_what_others_did_to_the_files_of_a_run_is_said_and_what_became_of_it(report_of: Reporter) -> None:
    for damage, then in (
        (Damage("trials.jsonl", "has 9 bytes", 5, "ab"), "The run ended there"),
        (Damage("trials.jsonl", "has 9 bytes"), "What others wrote was cut off when the run was resumed"),
        (Damage("run.json", "was changed by another hand"), "It was written anew"),
        (Damage("transcripts.zst", "holds other content", lasting=True), "What transcripts.zst says can't be believed"),
    ):
        error = found(report_of({"a": "+-"}, damages=(damage,)), "damaged")
        assert error is not None
        assert (error.severity, then in error.message) == ("error", True)
        assert error.message.startswith(f"{damage.file} {damage.problem} while the run went on")
    assert found(report_of({"a": "+-"}), "damaged") is None
