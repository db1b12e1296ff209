"""What a report, and one trial's page, say of judges."""

from __future__ import annotations

import json
import re

import msgspec
import pytest

from passhat.facts import Grade, Judged, JudgeSample, Manifest, Role, Status, TrialRecord, Usage
from passhat.reporting import render_expected, render_html, render_markdown, render_terminal, render_trial
from passhat.running import Expected
from passhat.summary import Report, summarize


def judged(*words: str, verdict: str | None = None, notes: tuple[str, ...] = (), reason: str = "so") -> Judged:
    samples = tuple(JudgeSample(word, reason, (), "openai/judge", "judge-2026-11") for word in words)
    return Judged(
        kind="rubric",
        over="answer",
        models=("openai/judge",),
        rubric="r",
        prompt="p",
        verdict=verdict,
        samples=samples,
        usage=Usage(len(words), 100, 0, 10, 0, 0.01),
        notes=notes,
    )


def trial(number: int, grade: Grade, *, calls: int = 3, status: Status = Status.COMPLETED) -> TrialRecord:
    usage = Usage(calls, 100 * calls, 0, 10 * calls, 0, 0.01 * calls)
    return TrialRecord(
        task="t",
        trial=number,
        status=status,
        passed=grade.passed,
        grades=(grade,),
        usage=Usage(1, 5, 0, 5, 0, 0.5),
        judge_usage=usage,
    )


GRADES = (
    Grade(True, name="polite", judged=judged("pass", "pass", "fail", verdict="pass")),
    Grade(True, name="polite", judged=judged("pass", "pass", "pass", verdict="pass", notes=("answer: cut",))),
    Grade(False, name="polite", judged=judged("fail", "fail", "fail", verdict="fail")),
    Grade(None, "no verdict", name="polite", judged=judged("pass", "fail", "unknown")),
    Grade(None, error="the judge's provider failed", name="polite", judged=judged("pass")),
)


@pytest.fixture
def report() -> Report:
    statuses = [Status.COMPLETED] * 3 + [Status.UNRESOLVED, Status.GRADER_ERROR]
    records = [trial(n, grade, status=s) for n, (grade, s) in enumerate(zip(GRADES, statuses, strict=True))]
    manifest = Manifest(
        run_id="r",
        suite="s",
        trials=5,
        task_ids=("t",),
        graders={"polite": "v"},
        judge_models=("openai/judge",),
        judge_source="live",
        model_source="live",
    )
    return summarize(manifest, records)


def test_the_report_keeps_judges_apart_and_counts_what_they_leave_open(report: Report) -> None:
    found = report.judging
    assert found is not None
    assert (found.model_calls, found.tokens, found.reported) == (15, 1650, {"judge-2026-11": 13})
    assert found.dollars == pytest.approx(0.15)
    assert (report.usage.model_calls, report.usage.dollars) == (5, 2.5)
    (row,) = found.judges
    assert (row.judged, row.verdicts, row.unresolved, row.errors) == (5, {"pass": 2, "fail": 1}, 1, 1)
    assert (row.disputed, row.altered) == (2, 1)
    assert row.example is not None
    assert row.example.trial == 3


def test_every_way_to_show_a_report_shows_them(report: Report) -> None:
    said = "5 trials: 2 pass, 1 fail, 1 unresolved, for people, 1 error without a verdict"
    for text in (
        render_terminal(report, width=200),
        render_markdown(report),
        re.sub(r"\s+", " ", render_html(report)),
    ):
        assert said in text
        assert "openai/judge; answered as judge-2026-11" in text.replace("\\", "")
        assert "15 calls" in text
        assert "not part of what the agent spent" in text
    assert json.loads(report.to_json())["judging"]["judges"][0]["unresolved"] == 1


def test_levels_of_a_score_are_in_order_and_told_from_numbers_of_trials(report: Report) -> None:
    assert report.judging is not None
    [row] = report.judging.judges
    score = msgspec.structs.replace(row, kind="score", verdicts={"10": 3, "2": 1}, unresolved=0, errors=0, judged=4)
    shown = msgspec.structs.replace(report, judging=msgspec.structs.replace(report.judging, judges=(score,)))
    assert "4 trials: 1 at level 2, 3 at level 10" in render_terminal(shown, width=200)


def test_errors_that_are_not_graded_again_are_said() -> None:
    """A trial that code failed has its verdict: nobody asks the judge again."""
    failed = Grade(None, error="down", name="polite", judged=judged("pass"))
    record = msgspec.structs.replace(trial(0, failed, status=Status.GRADER_ERROR), passed=False)
    other = msgspec.structs.replace(trial(1, failed, status=Status.GRADER_ERROR), passed=None)
    some = summarize(Manifest(run_id="r", suite="s", trials=2), [record, other])
    text = "2 errors without a verdict (1 in trials that another grader failed: passhat resume doesn't ask again)"
    assert text in render_terminal(some, width=200)
    whole = summarize(Manifest(run_id="r", suite="s", trials=1), [record])
    assert "(all in trials that another grader failed" in render_terminal(whole, width=200)


def test_answers_that_fail_unasked_are_no_verdicts_of_the_judge() -> None:
    unasked = judged(verdict="fail", notes=("failed without asking: the answer is empty",))
    grades = [GRADES[0], GRADES[2], Grade(False, "the answer is empty", name="polite", judged=unasked)]
    report = summarize(Manifest(run_id="r", suite="s"), [trial(n, grade) for n, grade in enumerate(grades)])
    assert report.judging is not None
    [row] = report.judging.judges
    assert (row.judged, row.verdicts, row.unasked, row.altered) == (3, {"pass": 1, "fail": 1}, 1, 0)
    shown = " ".join(render_terminal(report, width=100).split())
    assert "3 trials: 1 pass, 1 fail, 1 failed unasked (empty answer)" in shown


def test_a_narrow_terminal_wraps_them(report: Report) -> None:
    assert all(len(line) <= 60 for line in render_terminal(report, width=60).splitlines())


def rules(report: Report) -> dict[str, str]:
    return {finding.rule: finding.message for finding in report.findings if finding.rule.startswith("judge-")}


def test_findings_say_what_waits_for_people_and_that_nobody_calibrated_it(report: Report) -> None:
    found = rules(report)
    assert set(found) == {"judge-unresolved", "judge-uncalibrated"}
    assert "'polite' came to no verdict in 1 of 5 trials" in found["judge-unresolved"]


def test_a_made_up_judge_of_a_real_agent_is_an_error_unless_it_only_records() -> None:
    manifest = Manifest(run_id="r", suite="s", model_source="live", judge_source="simulated", judge_models=("a/b",))
    assert "judge-simulated" in rules(summarize(manifest, [trial(0, GRADES[0])]))
    advisory = msgspec.structs.replace(GRADES[0], role=Role.ADVISORY)
    assert rules(summarize(manifest, [trial(0, advisory)])) == {}
    simulated = msgspec.structs.replace(manifest, model_source="simulated")
    assert rules(summarize(simulated, [trial(0, GRADES[0])])) == {}


def test_a_judge_that_changes_is_named() -> None:
    other = msgspec.structs.replace(
        GRADES[2], judged=msgspec.structs.replace(judged("fail"), samples=(JudgeSample("fail", reported="judge-2"),))
    )
    manifest = Manifest(run_id="r", suite="s", trials=2, model_source="live", judge_models=("openai/judge",))
    found = rules(summarize(manifest, [trial(0, GRADES[0]), trial(1, other)]))
    assert "2 models answered where 1 judge was asked (judge-2026-11, judge-2)" in found["judge-changed"]


def test_without_judges_there_is_no_word_of_them() -> None:
    report = summarize(Manifest(run_id="r", suite="s"), [trial(0, Grade(True, name="g"), calls=0)])
    assert report.judging is None
    assert "Judged by a model" not in render_terminal(report) + render_markdown(report) + render_html(report)


def test_a_label_that_is_only_recorded_is_no_row_of_the_graders_and_not_unknown() -> None:
    recorded = Grade(None, "warm", name="tone", role=Role.ADVISORY, judged=judged("warm", verdict="warm"))
    record = trial(0, recorded)
    report = summarize(Manifest(run_id="r", suite="s"), [record])
    assert report.graders == ()
    assert report.judging is not None
    assert report.judging.judges[0].verdicts == {"warm": 1}
    assert "· tone (advisory)  warm" in render_trial(record, None)


@pytest.mark.parametrize("passed", [False, None], ids=["a score of one's own", "a judge's level"])
def test_a_grader_that_only_scores_shows_its_mean_score_and_passes_nothing(passed: bool | None) -> None:
    level = judged("4", verdict="4") if passed is None else None
    scores = [Grade(passed, score=0.8, name="clear", role=Role.ADVISORY, judged=level) for _ in range(5)]
    report = summarize(Manifest(run_id="r", suite="s"), [trial(n, grade) for n, grade in enumerate(scores)])
    [row] = report.graders
    assert (row.only_scores, row.scored) == (True, 5)
    assert row.score == pytest.approx(0.8)
    shown = " ".join(render_terminal(report).split())
    assert "clear of 5 score 0.800 – advisory" in shown
    assert "| clear | of 5 | score 0.800 |" in render_markdown(report)
    assert re.search(r">of 5</td>\s*<td[^>]*>score 0.800<", render_html(report))


def test_a_grader_with_a_bar_shows_what_it_passed() -> None:
    barred = [Grade(score >= 0.7, score=score, name="clear", role=Role.ADVISORY) for score in (0.8, 0.6)]
    shares = [
        Grade(word == "pass", score=share, name="clear", role=Role.ADVISORY, judged=judged("pass", "fail", word))
        for word, share in (("pass", 2 / 3), ("fail", 1 / 3))
    ]
    required = [Grade(False, score=0.8, name="clear"), Grade(True, score=1.0, name="clear")]
    for grades in (barred, shares, required):
        report = summarize(Manifest(run_id="r", suite="s"), [trial(n, grade) for n, grade in enumerate(grades)])
        assert "clear 1/2 0.500" in " ".join(render_terminal(report).split())


def test_one_error_of_a_grader_is_in_the_singular() -> None:
    report = summarize(Manifest(run_id="r", suite="s"), [trial(0, GRADES[0]), trial(1, GRADES[4])])
    assert re.search(r"polite +1/1 .* 1 error\n", render_terminal(report))


def test_a_trial_shows_each_sample_with_its_quotes_and_nothing_of_it_touches_the_terminal() -> None:
    samples = (
        JudgeSample("pass", "kind\x1b[2J", ("thank\u202eyou",), "openai/judge"),
        JudgeSample("fail", "rude", (), "openai/judge"),
    )
    base = judged("pass", notes=("answer: 3 characters left out",))
    grade = Grade(None, "no verdict", name="polite", judged=msgspec.structs.replace(base, samples=samples))
    text = render_trial(trial(0, grade, status=Status.UNRESOLVED), None)
    assert "pass  kind\\x1b[2J  “thank\\u202eyou”" in text
    assert "fail  rude" in text
    assert "answer: 3 characters left out" in text
    assert "\x1b" not in text


def test_a_dry_run_names_the_judge_and_its_calls() -> None:
    expected = Expected(
        tasks=2,
        trials=10,
        model="openai/m",
        source="live",
        model_calls=None,
        tokens=None,
        dollars=None,
        seconds=None,
        based_on=None,
        most_calls=100,
        most_dollars=None,
        judge_models=("openai/judge",),
        judge_calls=30,
        most_judge_calls=1000,
    )
    assert "judge calls  30  (at most 1,000), price unknown; openai/judge" in render_expected("s", expected)


def test_a_heading_that_is_too_long_goes_on_indented(report: Report) -> None:
    lines = render_terminal(report, width=60).splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("Judged by a model  opinions"))
    assert lines[place + 1] == "  people: passhat calibrate"
    assert max(map(len, lines)) <= 60
