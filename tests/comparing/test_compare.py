"""What a comparison says."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable

import pytest

from passhat.comparing import CompareError, compare
from passhat.comparing._verdict import Judge, needs, spread
from passhat.facts import GitState
from passhat.reporting import render_comparison
from passhat.stats import Move, Target, comparison_power
from passhat.summary import ExitCode, Report

MakeReport = Callable[..., Report]


def counts(passes: list[int], n: int) -> dict[str, str]:
    """Signs of tasks with so many passes of n trials each."""
    return {f"t{place:02d}": "+" * c + "-" * (n - c) for place, c in enumerate(passes)}


def test_the_golden_case_of_lift_and_telemetry(report: MakeReport) -> None:
    before = report(
        {"a": "-", "b": "+"}, tokens={"a": 100, "b": 200}, seconds={"a": 1.0, "b": 1.0}, dollars={"a": 0.01, "b": 0.01}
    )
    after = report(
        {"a": "+", "b": "+"},
        "after",
        tokens={"a": 120, "b": 180},
        seconds={"a": 0.8, "b": 0.8},
        dollars={"a": 0.02, "b": 0.02},
    )
    found = compare(before, after).candidates[0]
    assert found.first is not None
    assert (found.first.baseline, found.first.candidate, found.first.estimate) == (0.5, 1.0, 0.5)
    assert (found.wins, found.losses, found.ties, found.gain) == (1, 0, 1, 1.0)
    tokens, seconds, dollars = (found.telemetry[name] for name in ("tokens", "seconds", "dollars"))
    assert (tokens.baseline, tokens.candidate, tokens.delta) == (150, 150, 0)
    assert (seconds.delta, dollars.delta) == (-0.2, 0.01)


def test_missing_telemetry_is_never_zero(report: MakeReport) -> None:
    before = report({"a": "+", "b": "+"}, tokens={"a": 100, "b": 200})
    after = report({"a": "+", "b": "+"}, "after", tokens={"a": 130})
    found = compare(before, after).candidates[0].telemetry
    assert (found["tokens"].pairs, found["tokens"].delta) == (1, 30)
    assert (found["dollars"].pairs, found["dollars"].delta, found["dollars"].p) == (0, None, None)


def test_a_side_without_any_verdict_has_no_lift_and_no_zero(report: MakeReport) -> None:
    found = compare(report({"a": "?"}), report({"a": "+"}, "after"))
    candidate = found.candidates[0]
    assert (candidate.first, candidate.gain, candidate.lift, candidate.pairs) == (None, None, (), 0)
    assert candidate.blocked[0].reason == "baseline: no verdict, 1 trial missing"
    assert found.exit_code == ExitCode.INCOMPLETE
    (partial,) = [finding.message for finding in candidate.findings if finding.rule == "partial"]
    assert partial == "1 of 1 task could not be compared: the lift is over a subset"


def test_blocked_pairs_have_reasons_and_make_the_lift_partial(report: MakeReport) -> None:
    before = report({"a": "++", "b": "+-", "c": "--"})
    after = report({"a": "++", "b": "??", "d": "++"}, "after")
    candidate = compare(before, after).candidates[0]
    assert {each.task: each.reason for each in candidate.blocked} == {
        "b": "candidate: no verdict, 2 trials missing",
        "c": "not in the candidate",
        "d": "not in the baseline",
    }
    assert candidate.partial
    assert (candidate.pairs, candidate.total) == (1, 4)
    assert "partial" in [finding.rule for finding in candidate.findings]


def test_a_clear_gain_is_better_and_a_clear_loss_worse_with_exit_code_1(report: MakeReport) -> None:
    low, high = report(counts([2] * 12, 10)), report(counts([8] * 12, 10), "after")
    assert compare(low, high).candidates[0].verdict == "better"
    worse = compare(high, low)
    assert worse.candidates[0].verdict == "worse"
    assert worse.exit_code == ExitCode.GATE_NOT_MET
    assert worse.worse


def test_a_loss_within_the_margin_does_not_fail(report: MakeReport) -> None:
    before, after = report(counts([95] * 10, 100)), report(counts([91] * 10, 100), "after")
    assert compare(before, after).exit_code == ExitCode.GATE_NOT_MET
    within = compare(before, after, margin=0.05)
    assert within.exit_code == ExitCode.FINE
    assert within.candidates[0].message.endswith("less than the margin")
    wide = compare(before, after, margin=0.1).candidates[0]
    assert (wide.verdict, wide.message[:40]) == ("no difference", "no difference larger than 10 points: −4.")


def test_alike_sides_with_many_trials_show_no_difference(report: MakeReport) -> None:
    before, after = report(counts([90] * 20, 100)), report(counts([90] * 20, 100), "after")
    found = compare(before, after).candidates[0]
    assert found.verdict == "no difference"
    assert found.message.startswith("no difference larger than 5 points")


def test_an_open_question_says_how_many_more_tasks_or_trials(report: MakeReport) -> None:
    before, after = report(counts([3, 2, 4, 1, 3, 2], 5)), report(counts([4, 2, 4, 2, 3, 3], 5), "after")
    found = compare(before, after).candidates[0]
    assert found.verdict == "can't tell"
    assert found.needs is not None
    assert found.needs.difference == pytest.approx(0.1)
    assert found.needs.tasks
    assert found.needs.trials
    assert f"about {found.needs.tasks} more tasks or {found.needs.trials} more trials of each" in found.message


def test_fewer_than_6_moved_tasks_say_so(report: MakeReport) -> None:
    before, after = report(counts([5, 5, 5, 5, 5, 5, 5], 5)), report(counts([5, 5, 0, 0, 0, 0, 0], 5), "after")
    found = compare(before, after, of="tasks like these").candidates[0]
    assert found.verdict == "can't tell"
    assert "only 5 tasks moved, and fewer than 6 can never reach p = .05 (5 reach .0625 at best)" in found.message
    assert "too-few-moved" in [finding.rule for finding in compare(before, after).candidates[0].findings]


def test_one_broken_task_of_60_is_named_though_the_mean_hardly_moves(report: MakeReport) -> None:
    passes = [5] * 30 + [4, 3, 2, 1, 0] * 6
    broken = [*passes]
    broken[10] = 0
    found = compare(report(counts(passes, 5)), report(counts(broken, 5), "after")).candidates[0]
    assert found.first is not None
    assert -0.02 < found.first.estimate < 0
    assert [each.task for each in found.changed_tasks] == ["t10"]
    assert (found.changed_tasks[0].before, found.changed_tasks[0].after) == ((5, 5), (0, 5))


def test_below_5_trials_no_task_is_named_and_the_number_needed_is(report: MakeReport) -> None:
    before, after = report(counts([4] * 20, 4)), report(counts([4] * 19 + [0], 4), "after")
    found = compare(before, after).candidates[0]
    assert found.changed_tasks == ()
    assert "5 trials on each side would find a task that stops passing" in found.changed_note


def test_missing_trials_that_could_decide_leave_it_open(report: MakeReport) -> None:
    before = report(counts([8] * 10, 10))
    after = report({f"t{i:02d}": "+" * 3 + "-" * 1 + "?" * 6 for i in range(10)}, "after")
    found = compare(before, after)
    candidate = found.candidates[0]
    assert candidate.if_missing == (-0.5, 0.1)
    assert candidate.verdict == "can't tell"
    assert "60 trials without a verdict could decide it" in candidate.message
    assert found.exit_code == ExitCode.INCOMPLETE


def test_missing_trials_that_could_not_decide_change_nothing(report: MakeReport) -> None:
    after = report({f"t{i:02d}": "-" * 9 + "?" for i in range(10)}, "after")
    found = compare(report(counts([10] * 10, 10)), after)
    assert (found.candidates[0].verdict, found.exit_code) == ("worse", ExitCode.GATE_NOT_MET)


def test_tags_have_their_own_lift(report: MakeReport) -> None:
    tags = {"a": ("late",), "b": ("late", "vip")}
    found = compare(report({"a": "+-", "b": "--"}, tags=tags), report({"a": "++", "b": "--"}, "after", tags=tags))
    rows = {row.tag: row for row in found.candidates[0].by_tag}
    assert (rows["late"].pairs, rows["late"].estimate) == (2, 0.25)
    assert (rows["vip"].pairs, rows["vip"].estimate) == (1, 0.0)


def test_tasks_of_one_family_count_once_for_tasks_like_these(report: MakeReport) -> None:
    families = {f"t{place:02d}": f"f{place % 6}" for place in range(24)}
    low, high = counts([2] * 24, 5), counts([3] * 24, 5)
    alone = compare(report(low), report(high, "after")).candidates[0].first
    grouped = compare(report(low, families=families), report(high, "after", families=families)).candidates[0].first
    assert alone is not None
    assert grouped is not None
    assert alone.tasks_like_these is not None
    assert grouped.tasks_like_these is not None
    assert grouped.tasks_like_these.p == 2 / 2**6
    assert alone.tasks_like_these.p < 1e-6
    worse = compare(report(high, families=families), report(low, "after", families=families)).candidates[0].first
    assert worse is not None
    assert worse.tasks_like_these is not None
    assert worse.tasks_like_these.p == 2 / 2**6


def test_hand_picked_tasks_say_nothing_about_others(report: MakeReport) -> None:
    before, after = report(counts([2] * 8, 5), hand_picked=True), report(counts([5] * 8, 5), "b", hand_picked=True)
    found = compare(before, after, of="tasks like these").candidates[0]
    assert found.first is not None
    assert found.first.tasks_like_these is None
    assert found.message == "nothing can be said of tasks like these: the tasks were picked by hand"


@pytest.mark.parametrize(
    ("one", "two", "word", "part"),
    [
        ({}, {"model_source": "simulated"}, "sources", "a live model answered in the baseline and a simulated one"),
        ({"model_source": "mixed"}, {}, "sources", "in before several kinds of model source answered"),
        ({"graders": {"exact": "1"}}, {"graders": {"exact": "2"}}, "graders", "grader 'exact' changed"),
        ({"task_hashes": {"a": "1"}}, {"task_hashes": {"a": "2"}}, "tasks", "task 'a' changed"),
        ({"tasks_hash": "1"}, {"tasks_hash": "2"}, "tasks", "different hashes"),
    ],
)
def test_sides_that_measure_different_things_are_refused_unless_told(
    report: MakeReport, one: dict[str, object], two: dict[str, object], word: str, part: str
) -> None:
    before, after = report({"a": "++"}, **one), report({"a": "++"}, "after", **two)
    with pytest.raises(CompareError, match=f"{part}.*--allow-different {word}"):
        compare(before, after)
    told = compare(before, after, allow_different=[word]).candidates[0]
    assert f"different-{word}" in [finding.rule for finding in told.findings]


def test_live_and_unseen_runs_may_be_compared(report: MakeReport) -> None:
    assert compare(report({"a": "+"}), report({"a": "+"}, "after", model_source="unseen")).candidates[0].pairs == 1


def test_each_candidate_is_compared_with_the_baseline_at_a_shared_level(report: MakeReport) -> None:
    sides = [report({"a": "+-"}, name) for name in ("one", "two", "three")]
    found = compare(*sides)
    assert (found.baseline, [each.name for each in found.candidates]) == ("one", ["two", "three"])
    assert found.alpha == pytest.approx(0.025)


def test_sides_need_names_of_their_own_and_a_candidate(report: MakeReport) -> None:
    with pytest.raises(CompareError, match="two sides are called 'before'"):
        compare(report({"a": "+"}), report({"a": "+"}))
    with pytest.raises(CompareError, match="no candidate"):
        compare(report({"a": "+"}))


@pytest.mark.parametrize("options", [{"margin": 1.5}, {"margin": -0.1}, {"level": 1}, {"of": "all tasks"}])
def test_numbers_out_of_range_are_refused(report: MakeReport, options: dict[str, object]) -> None:
    with pytest.raises(CompareError, match=next(iter(options))):
        compare(report({"a": "+"}), report({"a": "+"}, "after"), **options)  # type: ignore[arg-type]


def test_two_runs_of_one_commit_are_called_chance(report: MakeReport) -> None:
    git = GitState("abc", False)
    before, after = report(counts([2] * 9, 5), git=git), report(counts([4] * 9, 5), "after", git=git)
    assert "same-commit" in [finding.rule for finding in compare(before, after).candidates[0].findings]


def test_a_task_that_never_passes_on_either_side_is_suspect(report: MakeReport) -> None:
    found = compare(report({"a": "---", "b": "+++"}), report({"a": "---", "b": "+++"}, "after")).candidates[0]
    floor = next(finding for finding in found.findings if finding.rule == "floor")
    assert floor.tasks == ("a",)


def test_an_exit_code_says_its_reason_also_on_the_screen(report: MakeReport) -> None:
    before, after = report(counts([10, *[8] * 11], 10)), report(counts([0, *[9] * 11], 10), "after")
    assert (compare(before, after).exit_code, compare(before, after).exit_reason) == (ExitCode.FINE, "")
    found = compare(before, after, no_regressions=True)
    assert (found.exit_code, found.exit_reason) == (ExitCode.GATE_NOT_MET, "no task may get worse, and 't00' did")
    assert "Exit code 1: no task may get worse, and 't00' did." in render_comparison(found)
    worse = compare(report(counts([10] * 8, 10)), report(counts([1] * 8, 10), "after"), margin=0.05)
    assert worse.exit_reason == "'after' is worse by 5 points or more"


def test_what_cannot_be_told_fails_only_where_that_was_asked(report: MakeReport) -> None:
    sides = report(counts([3, 3, 3], 5)), report(counts([2, 2, 2], 5), "after")
    assert compare(*sides).exit_code == ExitCode.FINE
    found = compare(*sides, undecided="fail")
    assert (found.candidates[0].verdict, found.exit_code) == ("can't tell", ExitCode.UNDECIDED)
    assert "nothing can be told of 'after'" in found.exit_reason
    with pytest.raises(CompareError, match="undecided='perhaps'"):
        compare(*sides, undecided="perhaps")  # type: ignore[arg-type]


def test_the_level_of_a_verdict_has_no_digits_of_the_machine(report: MakeReport) -> None:
    sides = report(counts([3] * 6, 5)), report(counts([3] * 6, 5), "after"), report(counts([4] * 6, 5), "other")
    assert compare(*sides[:2]).alpha == 0.05
    assert compare(*sides).alpha == 0.025


def test_a_narrow_page_stacks_the_two_intervals_and_keeps_the_costs(report: MakeReport) -> None:
    amounts = {f"t{place:02d}": 123_456 for place in range(8)}
    sides = (
        report(counts([3, 4, 2, 3, 4, 2, 3, 4], 5), tokens=amounts),
        report(counts([2, 4, 3, 4, 2, 3, 4, 3], 5), "after", tokens={task: n + 700 for task, n in amounts.items()}),
    )
    text = render_comparison(compare(*sides), width=60)
    assert max(map(len, text.splitlines())) <= 60
    assert text.count("pass@1  0.") == 2
    assert "tasks like these\n" in text
    tokens = next(line for line in text.splitlines() if line.strip().startswith("tokens"))
    assert ("123k" in tokens or "123.5k" in tokens, "+700" in tokens, "…" in tokens) == (True, True, False)
    assert not [line for line in text.splitlines() if line.strip().startswith("dollars")]  # nobody knows them
    assert "fell furthest, by chance or not: " in text
    assert "rose furthest, by chance or not: " in text
    assert render_comparison(compare(*sides), width=80).count("pass@1  0.") == 1


def test_the_json_has_the_shape_that_is_fixed(report: MakeReport) -> None:
    before, after = report(counts([5, 4, 2, 3, 1, 0], 5)), report(counts([0, 4, 2, 3, 1, 0], 5), "after")
    data = json.loads(compare(before, after).to_json())
    assert (data["schema"], data["baseline"]) == (1, "before")
    row = data["candidates"][0]
    assert {"name", "pairs", "blocked", "lift", "verdict", "changed_tasks", "telemetry"} <= set(row)
    lift = row["lift"][0]
    assert {"rate", "estimate", "these_tasks", "tasks_like_these"} <= set(lift)
    assert {"interval", "p", "test"} <= set(lift["these_tasks"]) & set(lift["tasks_like_these"])
    assert row["changed_tasks"][0] | {"q": 0} == {
        "task": "t00",
        "before": [5, 5],
        "after": [0, 5],
        "q": 0,
        "change": "worse",
    }


def test_one_moved_task_reads_as_one(report: MakeReport) -> None:
    before, after = report(counts([5] * 7, 5)), report(counts([5] * 6 + [4], 5), "after")
    found = compare(before, after, of="tasks like these").candidates[0]
    assert "only 1 task moved" in found.message
    assert "(1 reaches 1 at best)" in found.message
    assert found.first is not None
    assert found.first.tasks_like_these is not None
    assert found.first.tasks_like_these.note.startswith("only 1 task differs: ")


@pytest.mark.parametrize("of", ["these tasks", "tasks like these"])
def test_the_tasks_or_trials_said_to_be_needed_find_the_difference_four_times_in_five(
    report: MakeReport, of: Target
) -> None:
    before = [2] * 81 + [1] * 18 + [0]  # as two trials at .9 fall
    after = ([2] * 64 + [1] * 32 + [0] * 4)[::-1]  # and at .8
    order = random.Random(4)
    order.shuffle(after)
    first = compare(report(counts(before, 2)), report(counts(after, 2), "after")).candidates[0].first
    assert first is not None
    rows = [(2, c1, 2, c2) for c1, c2 in zip(before, after, strict=True)]
    found = needs(rows, first, Judge(0.05, 0.0, of, 0.95))
    assert found.difference == pytest.approx(0.1)
    assert found.tasks is not None
    response = spread(rows)[1] ** 0.5
    more = comparison_power([Move(0.9, 0.8)], 100 + found.tasks, 2, response=response, of=of)
    assert 0.79 <= more <= 0.83
    assert found.trials == 1  # 100 tasks with three trials, of these tasks 2.2 would do


def test_the_verdict_on_these_tasks_rests_on_cmh_with_its_continuity_correction(report: MakeReport) -> None:
    before, after = [2] * 12 + [4] * 2, [3] * 12 + [4] * 2
    shift = sum((two - one) / 2 for one, two in zip(before, after, strict=True))
    passes = [one + two for one, two in zip(before, after, strict=True)]
    variance = sum(5 * 5 * both * (10 - both) / (10 * 10 * 9) for both in passes)  # hypergeometric, 5 trials a side
    corrected, plain = (math.erfc((shift - less) / math.sqrt(2 * variance)) for less in (0.5, 0.0))
    assert plain < 0.05 < corrected
    (candidate,) = compare(report(counts(before, 5)), report(counts(after, 5), "after")).candidates
    assert candidate.lift[0].these_tasks.p == pytest.approx(corrected)
    assert candidate.verdict == "can't tell"


def test_a_difference_that_is_proved_though_its_interval_holds_0_says_which_of_them_decides(report: MakeReport) -> None:
    before, after = [3] * 6, [4] * 6
    sides = report(counts(before, 5)), report(counts(after, 5), "after")
    (candidate,) = compare(*sides, of="tasks like these").candidates
    assert candidate.verdict == "better"
    claim = candidate.lift[0].tasks_like_these
    assert claim is not None
    assert claim.p <= 0.05
    assert claim.interval[0] <= 0 <= claim.interval[1]
    assert candidate.message.endswith(
        "The test decides; the interval allows also for a task unlike all those seen, and so holds 0 as well"
    )
    (plain,) = compare(report(counts([0] * 9, 5)), report(counts([5] * 9, 5), "after")).candidates
    assert "The test decides" not in plain.message


@pytest.mark.parametrize("width", range(50, 82, 3))
def test_a_p_value_stands_on_one_line(report: MakeReport, width: int) -> None:
    text = render_comparison(compare(report(counts([1] * 9, 5)), report(counts([5] * 9, 5), "after")), width=width)
    assert "(p < .001)" in text
    assert max(map(len, text.splitlines())) <= width
