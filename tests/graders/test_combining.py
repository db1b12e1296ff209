import asyncio
import itertools
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from passhat.facts import Grade, Role, Task, Transcript, decide
from passhat.graders import (
    GraderSetup,
    advisory,
    all_of,
    answers,
    any_of,
    critical,
    exact,
    grade,
    grader,
    not_,
    outcome,
    required,
    run_grader,
    run_grader_async,
    source_version,
    trace,
    weighted,
)
from passhat.trial import FinishedTrial

TRIAL = FinishedTrial(Task("t", expected=3), 3)


def yes(trial: Any) -> bool:
    return True


def no(trial: Any) -> bool:
    return False


def half(trial: Any) -> float:
    return 0.5


def unknown(trial: Any) -> Grade:
    return Grade(None, "a tie")


def broken(trial: Any) -> bool:
    raise ValueError("boom")


async def later(trial: Any) -> bool:
    await asyncio.sleep(0)
    return True


T, F, U, E = yes, no, unknown, broken


@pytest.mark.parametrize(
    ("parts", "every", "some"),
    [
        ((T,), "T", "T"),
        ((F,), "F", "F"),
        ((U,), "U", "U"),
        ((E,), "E", "E"),
        ((T, T), "T", "T"),
        ((T, F), "F", "T"),
        ((T, U), "U", "T"),
        ((T, E), "E", "T"),
        ((F, U), "F", "U"),
        ((F, E), "F", "E"),
        ((U, E), "E", "E"),
        ((T, F, U, E), "F", "T"),
        ((half, T), "F", "T"),
        ((advisory(F), T), "T", "T"),
        ((advisory(T), F), "F", "F"),
        ((advisory(E),), "T", "T"),
        ((critical(F), T), "F", "F"),
        ((critical(E), T), "E", "E"),
        ((critical(T), F), "F", "T"),
    ],
)
def test_parts_are_combined_by_three_valued_logic(parts: Any, every: str, some: str) -> None:
    for combined, expected in ((all_of(*parts), every), (any_of(*parts), some)):
        result = run_grader(combined, TRIAL)
        words = {True: "T", False: "F", None: "U" if result.error is None else "E"}
        assert words[result.passed] == expected, combined.name


def test_all_of_agrees_with_what_decides_a_trial() -> None:
    for parts in itertools.product((T, F, U, E, half), repeat=3):
        grades = [run_grader(part, TRIAL) for part in parts]
        whole = run_grader(all_of(*parts), TRIAL)
        verdict = decide(grades)
        assert whole.passed == verdict.passed
        assert (whole.error is not None) == (verdict.passed is None and any(g.error for g in grades))
        assert whole.score == pytest.approx(verdict.score)


@pytest.mark.parametrize(
    ("parts", "threshold", "passed", "score"),
    [
        ([(T, 4), (F, 1)], 0.8, True, 0.8),
        ([(T, 3), (F, 1)], 0.8, False, 0.75),
        ([(T, 0.1), (T, 0.7), (F, 0.2)], 0.8, True, 0.8),
        ([(half, 1), (T, 1)], 0.75, True, 0.75),
        ({T: 1, F: 1}, 0.5, True, 0.5),
        ([T, F], 0.5, True, 0.5),
        ([(T, 4), (U, 1)], 0.8, True, 0.8),
        ([(T, 1), (U, 4)], 0.8, None, None),
        ([(T, 1), (E, 4)], 0.8, None, None),
        ([(F, 4), (U, 1)], 0.8, False, 0.0),
        ([(critical(F), 1), (T, 9)], 0.5, False, 0.0),
        ([(critical(U), 1), (T, 9)], 0.5, None, None),
        ([(advisory(F), 100), (T, 1)], 1.0, True, 1.0),
        ([(F, 1)], 0, True, 0.0),
    ],
)
def test_weights_and_a_threshold(parts: Any, threshold: float, passed: bool | None, score: float | None) -> None:
    result = run_grader(weighted(parts, threshold), TRIAL)
    assert result.passed is passed
    assert result.score == (None if score is None else pytest.approx(score))


def test_an_error_of_a_part_is_named_when_it_leaves_the_whole_open() -> None:
    assert "broken: ValueError: boom" in str(run_grader(weighted([(T, 1), (E, 4)], 0.8), TRIAL).error)
    assert "broken: ValueError: boom" in str(run_grader(all_of(T, E), TRIAL).error)
    assert run_grader(weighted([(T, 1), (U, 4)], 0.8), TRIAL).error is None


def test_the_reason_tells_each_part_that_didnt_pass() -> None:
    result = run_grader(all_of(yes, exact(4), unknown, advisory(no), critical(broken), name="whole"), TRIAL)
    assert result.name == "whole"
    lines = result.reason.splitlines()
    assert lines[0] == "exact (failed): expected 4, found 3"
    assert lines[1] == "unknown (unknown): a tie"
    assert lines[2] == "no (failed, advisory)"
    assert lines[3].startswith("broken (error, critical): ValueError: boom")
    assert result.evidence == "answer"
    assert len(all_of(*[exact()] * 40).name) == 80
    assert all_of(yes, yes).names == ("yes", "yes 2")


def test_not_turns_a_verdict_and_leaves_the_unknown_unknown() -> None:
    assert run_grader(not_(no), TRIAL).passed is True
    assert run_grader(not_(yes), TRIAL).passed is False
    assert run_grader(not_(unknown), TRIAL).passed is None
    assert "boom" in str(run_grader(not_(broken), TRIAL).error)
    assert run_grader(not_(half), TRIAL).score == 0.5
    assert run_grader(not_(advisory(no)), TRIAL).passed is True
    assert not_(answers.contains(["x"])).name == "not contains"


def test_async_parts_are_awaited_together_with_plain_ones() -> None:
    check = all_of(later, yes, critical(later), any_of(no, later), weighted([(later, 1)], 1), not_(no))
    assert check.is_async
    assert run_grader(check, TRIAL).passed is True
    assert asyncio.run(run_grader_async(check, TRIAL)).passed is True
    assert run_grader(all_of(later, no), TRIAL).passed is False
    assert not all_of(yes).is_async


def test_plain_parts_of_an_async_whole_stay_on_one_thread(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "a.db")  # refuses to be used from another thread
    connection.execute("create table t (a)")
    trial = FinishedTrial(Task("t"), environment=lambda trial: connection)

    async def both() -> Grade:
        check = all_of(later, outcome.rows(lambda trial: trial.environment, "select a from t", []))
        return await run_grader_async(check, trial)

    assert asyncio.run(both()).passed is True
    connection.close()


def test_roles_names_and_weights_are_given_to_any_grader() -> None:
    @grader(name="marked", role="advisory", weight=2, threshold=0.4)
    def marked(trial: Any) -> float:
        return 0.5

    kept = run_grader(required(marked), TRIAL)
    assert (kept.name, kept.role, kept.weight, kept.passed) == ("marked", Role.REQUIRED, 2.0, True)
    changed = run_grader(critical(yes, name="safe", weight=3), TRIAL)
    assert (changed.name, changed.role, changed.weight) == ("safe", Role.CRITICAL, 3.0)
    assert run_grader(advisory(later), TRIAL).role is Role.ADVISORY
    assert run_grader(advisory(lambda trial: "yes"), TRIAL).passed is None
    assert source_version(critical(yes)) != source_version(critical(no))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: all_of(), "all_of needs graders"),
        (lambda: any_of(3), "a grader is a function of a finished trial, got 3"),
        (lambda: all_of(Grade), "a grader is a function"),
        (lambda: weighted([(yes, 1, 2)], 0.5), "is no (grader, weight) pair"),
        (lambda: weighted([(yes, -1)], 0.5), "weight=-1"),
        (lambda: weighted([(yes, 0)], 0.5), "no deciding part has a weight above 0"),
        (lambda: weighted([advisory(yes)], 0.5), "no deciding part has a weight above 0"),
        (lambda: weighted([(yes, 1)], 1.5), "threshold=1.5"),
        (lambda: weighted([(yes, 1)], None), "weighted needs a threshold"),  # type: ignore[arg-type]
    ],
)
def test_combinations_that_make_no_sense_are_refused(make: Any, message: str) -> None:
    with pytest.raises(GraderSetup) as caught:
        make()
    assert message in str(caught.value)


def test_graders_work_on_data_outside_tests(tmp_path: Path) -> None:
    assert grade(answers.regex("[0-9a-f]{8}"), "no ids here").passed is False
    assert grade(exact(), 3, expected=3.0).passed is True
    assert grade(exact("n"), 3, task=Task("t", expected={"n": 3})).passed is True
    assert grade(trace.text_never("secret"), "a secret", transcript=Transcript()).passed is False
    (tmp_path / "a.txt").write_text("x")
    assert grade(outcome.exists("a.txt"), workspace=tmp_path).passed is True
    assert grade(lambda trial: trial.environment["open"], environment={"open": True}).passed is True
    assert grade(outcome.unchanged(), diff={}).passed is True
    assert grade(outcome.unchanged()).error is not None
    with pytest.raises(ValueError, match="give the task, or expected alone"):
        grade(exact(), 3, task=Task("t"), expected=3)


def test_a_combination_is_verified_in_a_test() -> None:
    all_of(exact()).verify(TRIAL)
    with pytest.raises(AssertionError, match="exact \\(failed\\): expected 4, found 3"):
        all_of(exact(4)).verify(TRIAL)
