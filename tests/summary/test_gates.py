"""Gate verdicts, their bounds, and the exit code."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from passhat.facts import Damage, Grade, Status, TrialRecord, Usage
from passhat.stats import interval
from passhat.suite import Gate, SuiteError
from passhat.summary import ExitCode, GateRow, MissingPolicy, Report, gate_feasibility
from passhat.summary._gates import exit_code

Reporter = Callable[..., Report]
Maker = Callable[..., TrialRecord]


def judged(report: Report) -> GateRow:
    """The only gate of a report."""
    (row,) = report.gates
    return row


@pytest.mark.parametrize(
    ("signs", "gate", "verdict", "code"),
    [
        ("+" * 14, "pass@1 >= 0.8", "met", 0),
        ("+" * 13, "pass@1 >= 0.8", "undecided", 4),
        ("-" * 14, "pass@1 >= 0.8", "not met", 1),
        ("-" * 14, "pass@1 <= 0.2", "met", 0),
        ("+" * 27, "pass^2 >= 0.8", "met", 0),
        ("+" * 26, "pass^2 >= 0.8", "undecided", 4),
        ("+" * 28, "pass@2 >= 0.8", "met", 0),
        ("+" * 9, "pass@1 >= 0.8 at 0.6", "met", 0),
        ("+" * 9, "pass@1 >= 0 of tasks like these", "undecided", 4),
        ("+" * 2, "pass^7 >= 0.5", "undecided", 4),
        ("+" * 14, "missing <= 0", "met", 0),
    ],
)
def test_a_gate_is_proved_disproved_or_undecided(
    report_of: Reporter, signs: str, gate: str, verdict: str, code: int
) -> None:
    report = report_of({"a": signs}, gates=(gate,), kind="regression")
    assert judged(report).verdict == verdict
    assert report.exit_code == code


def test_the_bound_that_decided_is_the_one_sided_bound_of_the_statistics_room(report_of: Reporter) -> None:
    counts = [5, 5, 4, 0, 3]
    outcomes = {f"t{i}": "+" * c + "-" * (5 - c) for i, c in enumerate(counts)}
    for gate, side, level in (
        ("pass@1 >= 0.4", "lower", 0.95),
        ("pass@1 >= 0.9", "upper", 0.95),
        ("pass@1 >= 0.7", "lower", 0.95),
        ("pass@1 <= 0.3", "lower", 0.95),
        ("pass@1 >= 0.4 at 0.9", "lower", 0.9),
    ):
        row = judged(report_of(outcomes, gates=(gate,)))
        ends = interval(5, counts, side=side, level=level)  # type: ignore[arg-type]
        assert row.bound == (ends.low if side == "lower" else ends.high)
        assert (row.level, row.estimate) == (level, 0.68)
        assert f"{row.bound:.3f}" in row.message
    like = judged(report_of(outcomes, gates=("pass@1 >= 0.1 of tasks like these",)))
    assert like.bound == interval(5, counts, of="tasks like these", side="lower").low


@pytest.mark.parametrize(
    ("signs", "policy", "verdict", "code"),
    [
        ("+" * 40 + "?", "bound", "met", 0),
        ("-" * 40 + "?", "bound", "not met", 1),
        ("+" * 14 + "?", "bound", "incomplete", 3),
        ("+" * 14 + "?", "exclude", "met", 0),
        ("+" * 14 + "?", "fail", "undecided", 4),
        ("+" * 14 + "?", "exclude-provider", "incomplete", 3),
        ("+" * 5 + "-" * 2 + "?", "bound", "undecided", 4),
        ("?" * 14, "bound", "incomplete", 3),
        ("?" * 14, "exclude", "incomplete", 3),
    ],
)
def test_missing_trials_leave_a_gate_incomplete_unless_both_bounds_agree(
    report_of: Reporter, signs: str, policy: MissingPolicy, verdict: str, code: int
) -> None:
    report = report_of({"a": signs}, gates=("pass@1 >= 0.8",), kind="regression", options={"missing": policy})
    assert judged(report).verdict == verdict
    assert report.exit_code == code


def test_an_agreed_verdict_shows_the_bound_of_the_worse_world(report_of: Reporter) -> None:
    row = judged(report_of({"a": "+" * 40 + "?"}, gates=("pass@1 >= 0.8",)))
    assert row.bound == interval(41, [40], side="lower").low
    assert row.message.endswith("whatever the 1 missing trial had been")


def test_a_capability_suite_passes_undecided_gates_unless_told(report_of: Reporter) -> None:
    undecided = {"outcomes": {"a": "++"}, "gates": ("pass@1 >= 0.8",)}
    assert report_of(**undecided).exit_code == 0
    assert report_of(**undecided, undecided="fail").exit_code == 4
    assert report_of(**undecided, undecided="fail", options={"undecided": "pass"}).exit_code == 0
    assert report_of(**undecided, kind="regression", options={"undecided": "pass"}).exit_code == 0


def test_gates_given_to_summarize_replace_those_of_the_run(report_of: Reporter) -> None:
    gates = ["score >= 0", Gate.parse("missing <= 1")]
    report = report_of({"a": "++"}, gates=("pass@1 >= 0.8",), options={"gates": gates})
    assert [row.gate for row in report.gates] == ["score >= 0", "missing <= 1"]
    with pytest.raises(SuiteError, match="can't be read"):
        report_of({"a": "+"}, options={"gates": ["often"]})


def test_several_looks_cost_their_share_of_the_error(report_of: Reporter) -> None:
    assert judged(report_of({"a": "+" * 14}, gates=("pass@1 >= 0.8",))).looks == 1
    report = report_of({"a": "+" * 14}, gates=("pass@1 >= 0.8",), options={"looks": {"pass@1 >= 0.8": 2}})
    assert (judged(report).verdict, judged(report).looks) == ("undecided", 2)
    assert judged(report).level == pytest.approx(0.975)
    assert "several-looks" in {finding.rule for finding in report.findings}


def test_no_gate_holds_over_mixed_sources_unless_told(report_of: Reporter) -> None:
    mixed = {"outcomes": {"a": "+" * 14}, "gates": ("pass@1 >= 0.8",), "model_source": "mixed"}
    assert (judged(report_of(**mixed)).verdict, report_of(**mixed).exit_code) == ("incomplete", 3)
    assert judged(report_of(**mixed, options={"mix_sources": True})).verdict == "met"


def graded(trial: Maker, verdicts: Sequence[bool | None]) -> list[TrialRecord]:
    """Trials of one task that passed, each with the grade of one grader."""
    return [trial("a", i, grades=(Grade(each, name="policy"),)) for i, each in enumerate(verdicts)]


@pytest.mark.parametrize(
    ("verdicts", "gate", "verdict"),
    [
        ([True] * 14, "grader:policy >= 0.8", "met"),
        ([False] * 14, "grader:policy >= 0.8", "not met"),
        ([True] * 14 + [None], "grader:policy >= 0.8", "incomplete"),
        ([True] * 14, "grader:tone >= 0.8", "incomplete"),
    ],
)
def test_a_graders_rate_can_be_a_gate(
    report_of: Reporter, trial: Maker, verdicts: list[bool | None], gate: str, verdict: str
) -> None:
    records = graded(trial, verdicts)
    assert judged(report_of({"a": "x" * len(records)}, records=records, gates=(gate,))).verdict == verdict


def test_a_grader_that_never_ran_says_nothing_when_missing_trials_are_excluded(
    report_of: Reporter, trial: Maker
) -> None:
    report = report_of({"a": "x"}, records=[trial()], gates=("grader:tone >= 0.8",), options={"missing": "exclude"})
    assert judged(report).message == "no trial says anything about grader:tone"


def test_the_score_can_be_a_gate(report_of: Reporter, trial: Maker) -> None:
    records = [trial("a", i, score=0.9, passed=False) for i in range(30)]
    for gate, verdict in (("score >= 0.7", "met"), ("score >= 0.99", "not met"), ("score >= 0.9", "undecided")):
        assert judged(report_of({"a": "x" * 30}, records=records, gates=(gate,))).verdict == verdict
    assert judged(report_of({"a": "+"}, gates=("score >= 0.5",))).verdict == "incomplete"


KNOWN = Usage(2, 100, 0, 20, 0, 0.01)
UNPRICED = Usage(2, 100, 0, 20, 0)


@pytest.mark.parametrize(
    ("usages", "gate", "verdict", "estimate"),
    [
        ([KNOWN, KNOWN], "dollars <= 0.02", "met", 0.01),
        ([KNOWN, KNOWN], "dollars <= 0.005", "not met", 0.01),
        ([KNOWN, KNOWN], "tokens <= 120", "met", 120),
        ([KNOWN, KNOWN], "model_calls <= 1", "not met", 2),
        ([KNOWN, KNOWN], "model_calls >= 2", "met", 2),
        ([KNOWN, KNOWN], "seconds <= 5", "met", 4),
        ([KNOWN, UNPRICED], "dollars <= 0.02", "incomplete", 0.005),
        ([KNOWN, UNPRICED], "dollars <= 0.004", "not met", 0.005),
        ([KNOWN, UNPRICED], "dollars >= 0.005", "met", 0.005),
        ([KNOWN, UNPRICED], "dollars >= 0.006", "incomplete", 0.005),
        ([UNPRICED, UNPRICED], "dollars <= 0.02", "incomplete", None),
    ],
)
def test_amounts_a_trial_are_plain_means_and_unknown_ones_are_never_0(
    report_of: Reporter, trial: Maker, usages: list[Usage], gate: str, verdict: str, estimate: float | None
) -> None:
    for split in (False, True):  # two trials of one task, or one trial of each of two
        records = [trial(f"t{i * split}", i * (not split), usage=usage, seconds=4.0) for i, usage in enumerate(usages)]
        row = judged(
            report_of({each.task: "" for each in records}, records=records, trials=1 + (not split), gates=(gate,))
        )
        assert row.verdict == verdict
        assert row.estimate == (None if estimate is None else pytest.approx(estimate))
        assert row.bound is None


def test_an_amount_of_trials_that_never_ran_is_unknown(report_of: Reporter) -> None:
    assert judged(report_of({"a": ""}, gates=("seconds <= 5",))).verdict == "incomplete"


def test_gates_on_amounts_do_not_excuse_missing_trials(report_of: Reporter) -> None:
    assert report_of({"a": "+?"}, gates=("model_calls <= 5",)).exit_code == 3
    assert report_of({"a": "+" * 40 + "?"}, gates=("pass@1 >= 0.5",)).exit_code == 0
    assert report_of({"a": "+" * 9 + "?"}, gates=("missing <= 0.1",)).exit_code == 0
    assert report_of({"a": "+" * 9 + "?"}, gates=("missing <= 0.05",)).exit_code == 1


ROW = {
    word: GateRow("pass@1 >= 0.5", word, None, 1, None, 0.95, "")
    for word in ("met", "not met", "undecided", "incomplete")
}


@pytest.mark.parametrize(
    ("verdicts", "missing", "fails", "code"),
    [
        ([], 0, True, ExitCode.FINE),
        ([], 1, True, ExitCode.INCOMPLETE),
        (["met"], 1, True, ExitCode.FINE),
        (["met", "undecided"], 0, True, ExitCode.UNDECIDED),
        (["met", "undecided"], 0, False, ExitCode.FINE),
        (["undecided", "incomplete"], 1, True, ExitCode.INCOMPLETE),
        (["undecided", "incomplete", "not met"], 1, True, ExitCode.GATE_NOT_MET),
        (["not met"], 0, False, ExitCode.GATE_NOT_MET),
    ],
)
def test_the_exit_code_says_the_worst(verdicts: list[str], missing: int, fails: bool, code: ExitCode) -> None:
    gates = [Gate.parse("pass@1 >= 0.5")] * len(verdicts)
    said, why = exit_code([ROW[each] for each in verdicts], gates, missing, "bound", undecided_fails=fails)
    assert said is code
    assert bool(why) == (code is not ExitCode.FINE)


def test_a_run_that_others_wrote_to_is_never_green(report_of: Reporter) -> None:
    damage = Damage("trials.jsonl", "has 9 bytes", 5, "ab")
    for policy in ("bound", "fail", "exclude"):
        report = report_of({"a": "++"}, state="damaged", damages=(damage,), missing_policy=policy)
        assert (report.exit_code, report.exit_reason) == (
            ExitCode.INCOMPLETE,
            "incomplete: others wrote to the run's files while it went on",
        )
    report = report_of({"a": "+" * 40}, gates=("pass@1 >= 0.5", "pass@1 >= 0.99"), state="damaged", damages=(damage,))
    assert report.exit_code == ExitCode.INCOMPLETE
    assert [gate.verdict for gate in report.gates] == ["incomplete", "incomplete"]
    assert "while it went on: nothing is proved" in report.gates[0].message
    assert report_of({"a": "-" * 40}, gates=("pass@1 >= 0.5",), state="damaged").exit_code == ExitCode.GATE_NOT_MET
    mended = report_of({"a": "++"}, damages=(Damage("trials.jsonl", "has 9 bytes"),))
    assert (mended.exit_code, mended.exit_reason) == (ExitCode.FINE, "")  # a resume cut off what others wrote
    for damage in (Damage("run.json", "was changed"), Damage("transcripts.zst", "holds other content", lasting=True)):
        report = report_of({"a": "++"}, state="finished", damages=(damage,))
        assert (report.exit_code, bool(report.exit_reason)) == (ExitCode.INCOMPLETE, True)


def test_a_gate_that_no_mixture_of_sources_can_meet_is_not_said_to_miss_trials(report_of: Reporter) -> None:
    report = report_of({"a": "+" * 40}, gates=("pass@1 >= 0.5",), model_source="mixed")
    assert (report.exit_code, report.exit_reason) == (ExitCode.INCOMPLETE, "incomplete: a gate can't be judged")


def test_the_exit_codes_are_those_that_continuous_integration_relies_on() -> None:
    assert {code.name: int(code) for code in ExitCode} == {
        "FINE": 0,
        "GATE_NOT_MET": 1,
        "WRONG_USE": 2,
        "INCOMPLETE": 3,
        "UNDECIDED": 4,
        "OUR_FAULT": 70,
        "INTERRUPTED": 130,
    }


@pytest.mark.parametrize(
    ("gate", "tasks", "trials", "possible", "needed"),
    [
        ("pass@1 >= 0.80", 1, 14, True, (1, 14)),
        ("pass@1 >= 0.80", 1, 13, False, (1, 14)),
        ("pass@1 >= 0.85", 1, 18, False, (1, 19)),
        ("pass@1 >= 0.90", 1, 28, False, (1, 29)),
        ("pass@1 >= 0.95", 1, 58, False, (1, 59)),
        ("pass@1 >= 0.95", 10, 5, False, (10, 6)),
        ("pass@1 >= 0.95", 10, 6, True, (10, 6)),
        ("pass^3 >= 0.80", 5, 8, False, (5, 9)),
        ("pass^2 >= 0.80", 1, 26, False, (1, 27)),
        ("pass@1 <= 0.20", 1, 13, False, (1, 14)),
        ("pass@1 <= 0.20", 1, 14, True, (1, 14)),
        ("score >= 0.80", 1, 13, False, (1, 14)),
        ("score <= 0.20", 1, 14, True, (1, 14)),
        ("grader:x >= 0.80", 2, 7, True, (2, 7)),
        ("pass@1 >= 0.80 of tasks like these", 13, 100, False, (14, 100)),
        ("pass@1 >= 0.80 of tasks like these", 14, 1, True, (14, 1)),
        ("pass@1 >= 0.10 of tasks like these", 4, 9, False, (5, 9)),
        ("pass@1 >= 1", 9, 9, False, (None, None)),
        ("pass@1 >= 0", 1, 1, True, (1, 1)),
        ("pass^9 >= 0.1", 3, 2, False, (3, 9)),
        ("missing <= 0", 1, 1, True, (None, None)),
        ("dollars <= 0.1", 1, 1, True, (None, None)),
    ],
)
def test_whether_a_gate_can_be_met_is_known_before_anything_runs(
    gate: str, tasks: int, trials: int, possible: bool, needed: tuple[int | None, int | None]
) -> None:
    reach = gate_feasibility(gate, tasks, trials)
    assert (reach.possible, (reach.needed_tasks, reach.needed_trials)) == (possible, needed)
    if needed != (None, None) and not possible:
        assert gate_feasibility(gate, *needed).possible  # type: ignore[arg-type]


def test_a_hand_picked_suite_can_meet_no_gate_about_tasks_like_these() -> None:
    reach = gate_feasibility("pass@1 >= 0.5 of tasks like these", 50, 5, hand_picked=True)
    assert not reach.possible
    assert reach.message.endswith("can't be decided: the tasks were picked by hand")
    with pytest.raises(ValueError, match="got tasks=0, trials=1"):
        gate_feasibility("pass@1 >= 0.5", 0, 1)


def test_a_gate_out_of_reach_is_a_finding(report_of: Reporter) -> None:
    rules = {
        gate: [finding.message for finding in report_of({"a": "++"}, gates=(gate,)).findings if "reach" in finding.rule]
        for gate in ("pass@1 >= 0.8", "pass@1 >= 0.2", "pass@1 >= 0.8 of tasks like these")
    }
    assert [len(messages) for messages in rules.values()] == [1, 0, 1]
    assert "even if all pass they prove 0.224; 14 trials a task could" in rules["pass@1 >= 0.8"][0]


def test_a_trial_lost_to_the_provider_is_a_failure_for_gates_too(report_of: Reporter, trial: Maker) -> None:
    records = [trial("a", i) for i in range(14)] + [trial("a", 14, passed=False, status=Status.PROVIDER_ERROR)]
    assert judged(report_of({"a": "x" * 15}, records=records, gates=("pass@1 >= 0.8",))).verdict == "undecided"


@pytest.mark.parametrize("gate", ["pass@1 >= 0.8", "pass@1 <= 0.2", "pass^2 >= 0.5"])
def test_a_provider_that_never_answered_is_no_proof_against_the_agent(
    report_of: Reporter, trial: Maker, gate: str
) -> None:
    records = [trial("a", i, passed=False, status=Status.PROVIDER_ERROR) for i in range(30)]
    report = report_of({"a": "-" * 30}, records=records, gates=(gate,))
    row = judged(report)
    assert (row.verdict, row.bound, report.exit_code) == ("incomplete", None, ExitCode.INCOMPLETE)
    assert row.message.startswith("all 30 trials with a verdict failed because the provider did")


@pytest.mark.parametrize(
    ("own", "passed", "words"),
    [
        (0, 5, ". All 20 failures are the provider's; --missing exclude-provider judges without them"),
        (4, 1, ". 20 of the 24 failures are the provider's; --missing exclude-provider judges without them"),
    ],
)
def test_a_gate_says_how_many_of_the_failures_are_the_providers(
    report_of: Reporter, trial: Maker, own: int, passed: int, words: str
) -> None:
    records = [trial("a", i, passed=False, status=Status.PROVIDER_ERROR) for i in range(20)]
    records += [trial("a", 20 + i, passed=i >= own) for i in range(own + passed)]
    row = judged(report_of({"a": "-" * len(records)}, records=records, gates=("pass@1 >= 0.8",)))
    assert row.verdict == "not met"
    assert row.message.endswith(words)
    fine = [trial("a", i) for i in range(60)]
    fine.append(trial("a", 60, passed=False, status=Status.PROVIDER_ERROR))
    met = judged(report_of({"a": "+" * 61}, records=fine, gates=("pass@1 >= 0.8",)))
    assert (met.verdict, "provider" in met.message) == ("met", False)
