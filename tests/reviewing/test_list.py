"""Which trials are read, in which order, and how each was chosen."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import pytest

from passhat.facts import Grade, Judged, JudgeSample, Label, Role, Status, TrialRecord
from passhat.reviewing import ReadingItem, ReviewError, disputes, progress_of, reading_list
from passhat.summary import holding, starts


def trial(task: str, number: int, passed: bool | None, *grades: Grade, arm: str = "") -> TrialRecord:
    status = Status.UNRESOLVED if passed is None else Status.COMPLETED
    return TrialRecord(task, number, status, passed, grades=grades, arm=arm)


def suite(outcomes: dict[str, str]) -> list[TrialRecord]:
    verdicts = {"+": True, "-": False}
    return [trial(task, i, verdicts[sign]) for task, signs in outcomes.items() for i, sign in enumerate(signs)]


def judge(passed: bool | None, name: str = "tone", *said: str) -> Grade:
    samples = tuple(JudgeSample(word) for word in said)
    judged = Judged(kind="rubric", over="answer", models=("p/m",), rubric="r", prompt="p", samples=samples)
    return Grade(passed, name=name, judged=judged)


def names(items: Iterable[ReadingItem]) -> list[str]:
    return [f"{item.task}{item.trial}" for item in items]


def test_failed_trials_come_first_one_of_each_task_then_the_next() -> None:
    items = reading_list(suite({"a": "---+", "b": "-+", "c": "--"}), passed=0)
    assert names(items) == ["a0", "b0", "c0", "a1", "c1", "a2"]
    assert {item.sample for item in items} == {"failed"}


def test_disputed_trials_come_next_and_then_passed_ones() -> None:
    records = [*suite({"a": "+-"}), trial("b", 0, None, Grade(None, name="g"))]
    items = reading_list(records)
    assert [(item.task, item.trial, item.sample) for item in items] == [
        ("a", 1, "failed"),
        ("b", 0, "disputed"),
        ("a", 0, "passed"),
    ]
    assert items[1].why == "g can't tell"
    assert names(reading_list(records, kinds=["disputed"])) == ["b0"]


@pytest.mark.parametrize(
    ("grades", "found"),
    [
        ([Grade(True, name="rows", evidence="state"), judge(False)], ["tone says fail, rows says pass"]),
        ([Grade(True, name="exact", evidence="answer"), judge(False)], []),
        ([judge(True), judge(False, "facts")], ["tone says pass, facts says fail"]),
        ([judge(True, "tone", "pass", "fail", "pass")], ["the answers of tone differ"]),
        ([judge(True, "tone", "pass", "pass")], []),
        ([judge(None)], ["tone can't tell"]),
        ([Grade(None, name="note", role=Role.ADVISORY)], []),
        ([Grade(None, name="tone", error="boom"), Grade(True, name="rows", evidence="state")], []),
    ],
)
def test_a_dispute_is_an_unknown_grade_or_a_judge_that_differs(grades: list[Grade], found: list[str]) -> None:
    assert disputes(trial("t", 0, True, *grades)) == found


def test_only_disputes_of_the_named_grader_count_when_one_is_named() -> None:
    record = trial("t", 0, True, judge(True), judge(False, "facts"), judge(True, "style", "pass", "fail"))
    assert disputes(record, grader="style") == ["the answers of style differ", "facts says fail, style says pass"]


def test_every_passed_trial_has_the_same_chance_also_when_it_is_disputed() -> None:
    records = suite({"a": "+" * 12, "b": "+" * 3}) + [
        trial("c", i, True, judge(True, "j", "pass", "fail")) for i in range(5)
    ]
    drawn: Counter[str] = Counter()
    for seed in range(2_000):
        items = [item for item in reading_list(records, passed=5, seed=seed) if item.sample == "passed"]
        assert len(items) == 5
        assert {item.probability for item in items} == {0.25}
        drawn.update(names(items))
    # 20 trials, each 500 times on average; standard deviation 19
    assert len(drawn) == 20
    assert all(abs(number - 500) < 90 for number in drawn.values())


def test_passed_trials_are_spread_over_the_tasks() -> None:
    records = suite({"big": "+" * 30, "small": "+" * 10})
    for seed in range(20):
        tasks = Counter(item.task for item in reading_list(records, kinds=["passed"], passed=8, seed=seed))
        assert tasks == {"big": 6, "small": 2}


def test_a_random_sample_is_of_all_verdicts_and_each_trial_keeps_its_probability() -> None:
    records = suite({f"t{i}": "+++-" for i in range(25)})
    items = reading_list(records, kinds=["random", "failed"], drawn=20)
    random_ones = [item for item in items if item.sample == "random"]
    assert items[:20] == random_ones
    assert {item.probability for item in random_ones} == {0.2}
    assert len({item.key for item in items}) == len(items)
    failed = {item.key for item in items if item.sample == "failed"}
    assert len(failed | {item.key for item in random_ones}) == len(items)


def test_a_grader_is_read_by_a_random_sample_of_what_it_judged() -> None:
    graded = [trial("t", i, True, Grade(i % 2 > 0, name="tone")) for i in range(10)]
    broken = trial("t", 10, None, Grade(None, name="tone", error="boom"))
    items = reading_list([*graded, broken, trial("t", 11, True)], grader="tone")
    assert len(items) == 10
    assert {(item.sample, item.probability) for item in items} == {("random", 1.0)}
    assert names(reading_list(graded, grader="tone", kinds=["failed"])) == ["t0", "t2", "t4", "t6", "t8"]


def test_naming_tasks_makes_every_trial_a_picked_one() -> None:
    items = reading_list(suite({"a": "+-", "b": "+-"}), tasks=["a"])
    assert {(item.task, item.sample, item.probability) for item in items} == {("a", "picked", None)}


def test_the_same_seed_gives_everybody_the_same_list_and_blind_mixes_the_order() -> None:
    records = suite({f"t{i}": "++--" for i in range(10)})
    shuffled = random.Random(0).sample(records, len(records))
    assert reading_list(records, seed=7) == reading_list(shuffled, seed=7)
    assert reading_list(records, seed=7) != reading_list(records, seed=8)
    blind = reading_list(records, seed=7, blind=True)
    assert sorted(names(blind)) == sorted(names(reading_list(records, seed=7)))
    assert {item.sample for item in blind[:15]} == {"failed", "passed"}


def test_trials_that_count_nowhere_are_not_read() -> None:
    assert reading_list([TrialRecord("a", 0, Status.SKIPPED, None), TrialRecord("a", 1, Status.NOT_NEEDED, None)]) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tasks": ["gone"]}, "no recorded trial of 'gone'"),
        ({"tasks": ["a", "gone"]}, "no recorded trial of task 'gone'"),
        ({"arm": "new"}, "no recorded trial of arm 'new'"),
        ({"grader": "nice"}, "no trial has a grade of 'nice'; the graders are: tone"),
    ],
)
def test_what_no_trial_has_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ReviewError, match=message):
        reading_list([trial("a", 0, True, judge(True))], **options)  # type: ignore[arg-type]


def test_a_rater_goes_on_after_what_they_judged_whatever_others_did() -> None:
    items = reading_list(suite({"a": "--", "b": "-"}))
    labels = [
        Label("a", 0, "fail", "ann", ""),
        Label("b", 0, "fail", "ben", ""),
        Label("a", 1, "fail", "ann", "", grader="tone"),
    ]
    progress = progress_of(items, labels, "ann")
    assert (names(progress.done), names(progress.left), progress.total) == (["a0"], ["b0", "a1"], 3)
    assert names(progress_of(items, labels, "ann", grader="tone").done) == ["a1"]


def test_a_trial_that_was_run_again_after_it_was_judged_is_to_be_read_again() -> None:
    times = ("2026-11-30T10:00:00.900+00:00", "2026-11-30T10:00:02.000+00:00", "", "sometime")
    records = [TrialRecord("a", i, Status.COMPLETED, False, started=when) for i, when in enumerate(times)]
    labels = [Label("a", i, "fail", "ann", "2026-11-30T10:00:00Z") for i in range(5)]
    about = holding(labels, starts(records))
    assert [label.trial for label in about] == [0, 2, 3]
    assert names(progress_of(reading_list(records), about, "ann").left) == ["a1"]
