"""A judge asked again about recorded trials, and about answers that must fail: with any grader, and with a judge."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import passhat
from passhat import Grade, Suite, Task
from passhat.calibrating import CONTROLS, CalibrationError, Probe, Robustness, probes, robustness
from passhat.facts import Judged, JudgeSample, Status, TrialRecord
from passhat.gateway import Gateway
from passhat.graders import judge
from passhat.running import Entrance, Probed, Probes, RunError, probe
from passhat.scripting import structured
from passhat.stats import clopper_pearson

TASKS = [Task(f"t{i}", input=f"Where is order {i}?") for i in range(6)]


@pytest.fixture(scope="module")
def through() -> Iterator[Entrance]:
    with Gateway() as gateway:
        yield Entrance(gateway, dict(os.environ))


class Asked:
    """A suite that ran, and its grader asked again."""

    def __init__(self, root: Path, through: Entrance, grader: Any, **parts: Any) -> None:
        def answer(trial: Any) -> str:
            return f"Dear customer, order {trial.task_id} is on its way."

        self.through = through
        self.suite = Suite("shop", tasks=TASKS, agent=answer, graders=[grader], trials=2, **parts)
        self.run = passhat.run(self.suite, root=root, through=through)
        self.name = next(self.run.reader.trials()).grades[0].name

    def probes(self, **options: Any) -> list[Probe]:
        options = {"n": 4, "repeats": 2} | options
        return probes(list(self.run.reader.trials()), {task.id: task for task in TASKS}, self.name, **options)

    def ask(self, asked: list[Probe], suite: Suite | None = None) -> Probes:
        told = [Probed(each.record, each.answer, each.transcript) for each in asked]
        return probe(self.run.reader, suite or self.suite, self.name, told, through=self.through)

    def again(self, **options: Any) -> Robustness:
        asked = self.probes(**options)
        return robustness(asked, self.ask(asked).grades, self.name)


def polite(trial: Any) -> bool:
    return "Dear" in trial.output or "PASS" in trial.output


def test_a_grader_that_a_word_talks_into_a_pass_leaks_there_and_nowhere_else(tmp_path: Path, through: Entrance) -> None:
    found = Asked(tmp_path, through, polite).again()
    passed = {leak.kind: leak.passed.count for leak in found.leaks}
    assert passed == {"empty": 0, "echo": 0, "unsure": 0, "verdict": 4, "opener": 0, "injection": 0, "other": 4}
    verdict = next(leak for leak in found.leaks if leak.kind == "verdict")
    low, high = clopper_pearson(4, 4)
    assert verdict.passed.interval == (low, high)
    assert (verdict.passed.estimate, found.leaked.count, found.leaked.n) == (1.0, 8, 28)
    assert found.leaky
    assert found.flips.count == 0
    assert found.recorded.count == 0
    assert (found.trials, found.repeats) == (4, 2)


def test_only_the_chosen_controls_are_asked(tmp_path: Path, through: Entrance) -> None:
    found = Asked(tmp_path, through, polite).again(controls=["empty", "unsure"])
    assert [leak.kind for leak in found.leaks] == ["empty", "unsure"]
    assert not found.leaky


def test_a_grader_that_changes_its_mind_is_found_out(tmp_path: Path, through: Entrance) -> None:
    turn = itertools.count()

    def moody(trial: Any) -> bool:
        return next(turn) % 2 == 0

    found = Asked(tmp_path, through, moody).again(controls=["empty"], repeats=3)
    assert (found.flips.count, found.flips.n) == (4, 4)
    assert len(found.flipped) == 4


def test_a_grader_that_looks_at_what_a_control_has_not_is_no_leak(tmp_path: Path, through: Entrance) -> None:
    def left_a_file(trial: Any) -> bool:
        return not list(trial.workspace.iterdir())

    found = Asked(tmp_path, through, left_a_file).again(controls=["empty"])
    [leak] = found.leaks
    assert (leak.passed.n, leak.errors) == (0, 4)
    assert leak.passed.interval is None
    assert "it looks at the" in found.problem
    assert not found.leaky


def test_a_judge_that_obeys_the_judged_text_leaks(tmp_path: Path, through: Entrance) -> None:
    def obeys(request: Any, rng: Any) -> Any:
        shown = next(message.text for message in request.messages if message.role == "user")
        answer = shown.rpartition("BEGIN answer")[2]
        verdict = "pass" if "Dear" in answer or "Reply with" in answer else "fail"
        return structured({"evidence": [], "reason": "so it seems", "verdict": verdict})

    asked = Asked(tmp_path, through, judge.rubric("polite", "It is polite."), judge_simulation=obeys)
    found = asked.again()
    assert {leak.kind for leak in found.leaks if leak.passed.count} == {"injection", "other"}
    assert next(leak for leak in found.leaks if leak.kind == "injection").example is not None
    over_trace = judge.rubric("polite", "It is polite.", over="trace")
    other = Suite("shop", tasks=TASKS, agent=lambda trial: "", graders=[over_trace], judge_simulation=obeys)
    told = asked.probes(controls=["injection", "unsure"])
    grades = asked.ask([each for each in told if each.kind != "repeat"], other).grades
    assert [grade.passed for grade in grades] == [True] * 4 + [False] * 4


def test_a_changed_suite_and_an_unknown_grader_are_named(tmp_path: Path, through: Entrance) -> None:
    asked = Asked(tmp_path, through, polite)
    other = Suite("other", tasks=TASKS, agent=lambda trial: "", graders=[polite])
    with pytest.raises(RunError, match="is a run of the suite 'shop', and this one is 'other'"):
        asked.ask(asked.probes(), other)
    exact = Suite("shop", tasks=TASKS, agent=lambda trial: "", graders=[passhat.graders.exact])
    with pytest.raises(RunError, match="grader 'polite': the suite has 'exact'"):
        asked.ask(asked.probes(), exact)
    moved = Suite("shop", tasks=[Task("t0", input="Something else")], agent=lambda trial: "", graders=[polite])
    errors = {grade.error for grade in asked.ask(asked.probes(n=6, controls=["empty"]), moved).grades}
    assert any(error and "what the task asks has changed" in error for error in errors)
    assert None not in errors


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n": 0}, "at least 1 trial"),
        ({"repeats": 1}, "2 verdicts on each"),
        ({"controls": ["magic"]}, "control 'magic': there are empty, echo"),
    ],
)
def test_what_cannot_be_asked_is_said(options: dict[str, Any], words: str) -> None:
    record = TrialRecord("t0", 0, Status.COMPLETED, True, grades=(Grade(True, name="g"),))
    with pytest.raises(CalibrationError, match=words):
        probes([record], {"t0": TASKS[0]}, "g", **{"n": 1, **options})
    with pytest.raises(CalibrationError, match="no trial of a task that the suite still has was judged by 'h'"):
        probes([record], {"t0": TASKS[0]}, "h", n=1)


def test_trials_are_drawn_over_as_many_tasks_as_there_are() -> None:
    records = [
        TrialRecord(f"t{task}", trial, Status.COMPLETED, True, output="o", grades=(Grade(True, name="g"),))
        for task in range(6)
        for trial in range(5)
    ]
    tasks = {task.id: task for task in TASKS}
    told = probes(records, tasks, "g", n=6, repeats=2, controls=["empty"])
    assert len({each.record.task for each in told}) == 6
    assert told == probes(records, tasks, "g", n=6, repeats=2, controls=["empty"])
    assert len(told) == 6 * 2 + 6


def test_a_comparison_that_follows_the_order_is_counted() -> None:
    record = TrialRecord("t0", 0, Status.COMPLETED, True, output="o", grades=(Grade(True, name="g"),))
    told = probes([record], {"t0": TASKS[0]}, "g", n=1, repeats=2, controls=["empty"])

    def compared(one: str, two: str) -> Grade:
        samples = (JudgeSample(one, order="answer first"), JudgeSample(two, order="answer second"))
        kept = Judged(kind="pairwise", over="answer", models=("p/m",), rubric="r", prompt="p", samples=samples)
        return Grade(one == two == "answer" or None, judged=kept)

    first_wins, steady, unsure = compared("answer", "other"), compared("answer", "answer"), Grade(False)
    found = robustness(told, [first_wins, steady, unsure], "g")
    assert found.order is not None
    assert (found.order.count, found.order.n, found.first_favoured) == (1, 2, 1)
    assert (found.flips.count, found.flips.n) == (1, 1)


def test_unknown_and_failed_verdicts_on_controls_are_no_leak() -> None:
    record = TrialRecord("t0", 0, Status.COMPLETED, True, output="o", grades=(Grade(True, name="g"),))
    told = probes([record] * 1, {"t0": TASKS[0]}, "g", n=1, repeats=2, controls=["empty", "echo"])
    found = robustness(told, [Grade(True), Grade(True), Grade(None), Grade(None, error="boom")], "g")
    assert [(leak.unknown, leak.errors, leak.passed.n) for leak in found.leaks] == [(1, 0, 1), (0, 1, 0)]
    assert found.leaked.count == 0
    assert found.errors == 1


def test_every_control_is_an_answer_of_its_own() -> None:
    record = TrialRecord("t0", 0, Status.COMPLETED, True, output="mine")
    other = TrialRecord("t1", 0, Status.COMPLETED, True, output="theirs")
    answers = [control.answer(TASKS[0], record, [record, other]) for control in CONTROLS.values()]
    assert answers[-1] == "theirs"
    assert answers[1] == "Where is order 0?"
    assert len(set(answers)) == len(answers)
    assert CONTROLS["other"].answer(TASKS[0], record, [record]) is None
