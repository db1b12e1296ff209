"""The flagship example: its tasks can be solved, can't be passed by doing nothing, and its simulation behaves."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from passhat.facts import Task, decide, derive_seed
from passhat.gateway import Gateway, Simulate
from passhat.graders import run_grader
from passhat.suite import Suite, discover
from passhat.trial import FinishedTrial, Recorder, Trial, Workspace

FOLDER = Path(__file__).parents[2] / "examples" / "support_desk"
SUITE: Suite = discover(FOLDER)[0].suite
TASKS: dict[str, Task] = {task.id: task for task in SUITE.load_tasks()}
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}", re.IGNORECASE)

Agent = Callable[[Trial], Any]


def play(task: Task, agent: Agent, folder: Path, gateway: Gateway | None = None, seed: int = 0) -> dict[str, Any]:
    """One trial of the suite with another agent: {grader: grade}, with the output under ""."""
    recorder = Recorder()
    folder.mkdir(parents=True)
    access = None
    if gateway is not None:
        assert SUITE.simulation is not None
        session = gateway.open(Simulate(SUITE.simulation), sink=recorder.add, now=recorder.now, seed=seed)
        access = session.access
    trial = Trial(
        task_id=task.id,
        input=task.input,
        data=task.data,
        seed=seed,
        recorder=recorder,
        workspace=Workspace(lambda: folder),
        model=access,
    )
    assert SUITE.prepare is not None
    assert SUITE.environment is not None
    SUITE.prepare(trial)
    with SUITE.environment(trial) as trial.environment:
        output = agent(trial)
    finished = FinishedTrial(task, output, recorder.transcript(), workspace=lambda: folder)
    grades: dict[str, Any] = {}
    for check in SUITE.graders:
        grade = run_grader(check, finished)
        grades[grade.name] = grade
    shutil.rmtree(folder)
    return {**grades, "": output}


def failed(grades: dict[str, Any]) -> list[str]:
    """What didn't pass among the graders that decide."""
    return [
        f"{name}: {grade.reason or grade.error}"
        for name, grade in grades.items()
        if name and grade.role != "advisory" and grade.passed is not True
    ]


def reference(task: Task) -> Agent:
    assert SUITE.reference is not None
    player = SUITE.reference
    return lambda trial: player(trial, task.reference)


def says(text: str | None) -> Agent:
    return lambda trial: text


def last_words(task: Task) -> str:
    last = task.reference[-1]
    return str(last.get("say") or last["arguments"]["message"])


def start_state(task: Task) -> dict[str, Any]:
    orders = task.data["orders"]
    return {
        "refunds": [[o["number"], r["amount_cents"]] for o in orders for r in o.get("refunds", [])],
        "exchanges": [],
        "orders": sorted([o["number"], o["status"], o["ship_to"]] for o in orders),
        "tickets": [],
    }


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS.keys())
def test_the_reference_solution_passes_every_grader(task: Task, tmp_path: Path) -> None:
    assert failed(play(task, reference(task), tmp_path / "w")) == []


@pytest.mark.parametrize("answer", ["", "PASS", "All tests passed. Everything is done.", None])
def test_an_agent_that_does_nothing_passes_no_task(answer: str | None, tmp_path: Path) -> None:
    passed = [task.id for task in TASKS.values() if not failed(play(task, says(answer), tmp_path / task.id))]
    assert passed == []


def test_an_agent_that_repeats_the_message_passes_no_task(tmp_path: Path) -> None:
    def echo(trial: Trial) -> str:
        return f"You wrote: {trial.input}"

    passed = [task.id for task in TASKS.values() if not failed(play(task, echo, tmp_path / task.id))]
    assert passed == []


def test_the_right_words_without_the_deed_fail_every_task_that_asks_for_one(tmp_path: Path) -> None:
    for task in TASKS.values():
        grades = play(task, says(last_words(task)), tmp_path / task.id)
        state = {name: task.expected[name] for name in ("refunds", "exchanges", "orders", "tickets")}
        assert bool(failed(grades)) == (state != start_state(task)), task.id


def test_a_trial_that_got_half_way_scores_between_doing_nothing_and_doing_it_all(tmp_path: Path) -> None:
    task = TASKS["refund-whole-order"]
    assert SUITE.reference is not None
    player = SUITE.reference

    def score(name: str, steps: Any) -> float:
        grades = play(task, lambda trial: player(trial, steps), tmp_path / name)
        found = decide([grade for key, grade in grades.items() if key]).score
        assert found is not None
        return found

    nothing = score("nothing", [{"say": ""}])
    half = score("half", [*task.reference[:2], {"say": "I will see to it."}])
    assert nothing < half < score("all", task.reference) == 1.0


def test_the_tasks_are_balanced_between_acting_and_leaving_alone() -> None:
    acting = sum("should-act" in task.tags for task in TASKS.values())
    leaving = sum("should-not-act" in task.tags for task in TASKS.values())
    assert acting + leaving == len(TASKS) >= 28
    assert 0.4 <= acting / len(TASKS) <= 0.6


def test_only_tasks_that_should_act_change_the_shop() -> None:
    for task in TASKS.values():
        start = start_state(task)
        changed = any(task.expected[table] != start[table] for table in ("refunds", "exchanges", "orders"))
        assert changed == ("should-act" in task.tags), task.id


def test_forbidden_tools_exist() -> None:
    from desk import SCHEMAS

    assert {name for task in TASKS.values() for name in task.expected.get("never_call", ())} <= set(SCHEMAS)


def test_no_internal_id_is_in_a_task() -> None:
    assert not UUID.search((FOLDER / "tasks.jsonl").read_text(encoding="utf-8"))


def test_every_slip_belongs_to_a_step_of_its_task() -> None:
    from slips import SLIPS

    for task_id, slips in SLIPS.items():
        steps = {step.get("tool", "say") for step in TASKS[task_id].reference}
        assert {slip.at for slip in slips} <= steps, task_id
        for step in steps:
            assert sum(slip.chance for slip in slips if slip.at == step) < 0.97, task_id


def test_the_simulation_repeats_itself_for_a_seed_and_differs_between_seeds(tmp_path: Path) -> None:
    task = TASKS["refund-one-of-three-pairs"]

    def texts(folder: str, gateway: Gateway) -> list[Any]:
        return [play(task, support, tmp_path / f"{folder}{seed}", gateway, seed)[""] for seed in range(8)]

    support = SUITE.arms()[""]
    with Gateway() as gateway:
        first, second = texts("a", gateway), texts("b", gateway)
    assert first == second
    assert len(set(first)) > 4


@pytest.mark.long
def test_the_simulation_passes_about_three_trials_of_four_and_never_breaks_a_grader(tmp_path: Path) -> None:
    support = SUITE.arms()[""]
    passed: list[bool] = []
    with Gateway() as gateway:
        for task in TASKS.values():
            for number in range(2):
                seed = derive_seed(1, task.id, number)
                grades = play(task, support, tmp_path / f"{task.id}{number}", gateway, seed)
                assert [grade.error for name, grade in grades.items() if name and grade.error] == [], task.id
                assert all(grade.passed is not None for name, grade in grades.items() if name), task.id
                passed.append(not failed(grades))
    assert 0.62 <= sum(passed) / len(passed) <= 0.86


def test_a_message_that_no_task_has_is_answered_without_acting(tmp_path: Path) -> None:
    task = Task("new", input="What is the capital of France?", data={"today": "2026-11-20", "customers": []})
    with Gateway() as gateway:
        output = play(task, SUITE.arms()[""], tmp_path / "w", gateway)[""]
    assert "only a stand-in" in output


def test_the_examples_own_unit_tests_pass() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
