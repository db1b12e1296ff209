import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from passhat.facts import Task
from passhat.graders import GraderSetup, outcome, run_grader
from passhat.trial import FinishedTrial

STATE = outcome.queries(
    "shop.db",
    refunds="select order_id, amount from refunds",
    orders="select id, status from orders order by id",
)


def prepare(trial: Any) -> None:
    with sqlite3.connect(trial.workspace / "shop.db") as connection:
        connection.execute("create table orders (id, status)")
        connection.execute("create table refunds (order_id, amount, note)")
        connection.executemany("insert into orders values (?, 'open')", [(order,) for order in trial.data["orders"]])
    connection.close()


class Shop:
    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path)

    def refund(self, order: str, amount: float) -> None:
        self.connection.execute("insert into refunds values (?, ?, ?)", (order, amount, f"by {id(self)}"))
        self.connection.execute("update orders set status = 'refunded' where id = ?", (order,))
        self.connection.commit()


@contextmanager
def environment(trial: Any) -> Iterator[Shop]:
    shop = Shop(trial.workspace / "shop.db")
    try:
        yield shop
    finally:
        shop.connection.close()


def reference(trial: Any, steps: Any) -> str:
    for step in steps:
        trial.environment.refund(step["order"], step["amount"])
    return "done"


TASK = Task("t", data={"orders": ["A1", "B2"]}, reference=[{"order": "A1", "amount": 20}])
GOAL = outcome.goal(STATE, reference=reference, prepare=prepare, environment=environment)


def after(folder: Path, *refunds: tuple[str, float], task: Task = TASK) -> FinishedTrial:
    trial = FinishedTrial(task, workspace=lambda: folder)
    prepare(trial)
    with environment(trial) as shop:
        for order, amount in refunds:
            shop.refund(order, amount)
    return trial


def test_the_state_that_the_reference_reaches_passes_whatever_the_way_there(tmp_path: Path) -> None:
    grade = run_grader(GOAL, after(tmp_path, ("A1", 20.0)))
    assert (grade.passed, grade.error, grade.evidence) == (True, None, "state")


def test_another_state_fails_with_the_difference(tmp_path: Path) -> None:
    grade = run_grader(GOAL, after(tmp_path, ("A1", 2000), ("B2", 5)))
    assert grade.passed is False
    assert grade.reason.splitlines() == [
        "refunds: expected 1 row, found 2",
        "  in ('A1', 2000): amount is 2000, expected 20",
        "  unexpected ('B2', 5)",
        "orders: expected 2 rows, found 2",
        "  in ('B2', 'refunded'): status is 'refunded', expected 'open'",
    ]


def test_doing_nothing_fails(tmp_path: Path) -> None:
    assert run_grader(GOAL, after(tmp_path)).passed is False


def test_a_database_that_the_agent_removed_is_its_failure(tmp_path: Path) -> None:
    trial = after(tmp_path)
    (tmp_path / "shop.db").unlink()
    grade = run_grader(GOAL, trial)
    assert (grade.passed, grade.error) == (False, None)
    assert "there is no database 'shop.db'" in grade.reason


def test_the_replay_leaves_the_trial_as_it_is(tmp_path: Path) -> None:
    trial = after(tmp_path, ("A1", 20.0))
    before = (tmp_path / "shop.db").read_bytes()
    run_grader(GOAL, trial)
    assert (tmp_path / "shop.db").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["shop.db"]


def test_any_function_of_the_trial_can_be_the_state_and_async_references_are_awaited(tmp_path: Path) -> None:
    seeds = []

    async def write(trial: Any, steps: Any) -> None:
        seeds.append((trial.seed, trial.number, trial.task_id, trial.environment))
        (trial.workspace / "out.txt").write_text(f"{steps[0]} {(trial.workspace / 'in.txt').read_text()}")

    def state(trial: Any) -> dict[str, Any]:
        return {"out": (trial.workspace / "out.txt").read_text(), "n": 1.0, "world": trial.environment}

    template, work = tmp_path / "template", tmp_path / "work"
    template.mkdir()
    work.mkdir()
    (template / "in.txt").write_text("x")
    (work / "out.txt").write_text("go x")
    goal = outcome.goal(state, reference=write, template=template, environment=lambda trial: "plain")
    task = Task("t", reference=["go"])
    trial = FinishedTrial(task, number=3, seed=9, workspace=lambda: work, environment=lambda trial: "plain")
    assert run_grader(goal, trial).passed is True
    assert seeds == [(9, 3, "t", "plain")]
    (work / "out.txt").write_text("went")
    assert run_grader(goal, trial).reason == "out: expected 'go x', found 'went'"


def test_a_reference_that_cant_be_replayed_is_an_error_of_the_grader(tmp_path: Path) -> None:
    async def broken(trial: Any, steps: Any) -> None:
        raise ValueError("no such order")

    trial = after(tmp_path)
    for function in (broken, lambda trial, steps: steps.nothing):
        grade = run_grader(outcome.goal(STATE, reference=function, prepare=prepare), trial)
        assert grade.passed is None
        assert "Error" in str(grade.error)
    bare = FinishedTrial(Task("t"), workspace=lambda: tmp_path)
    assert "task 't' has no reference to replay" in str(run_grader(GOAL, bare).error)
    unnamed = outcome.goal(lambda trial: [1], reference=reference, prepare=prepare, environment=environment)  # type: ignore[arg-type,return-value]
    assert "state must return named parts, got list" in str(run_grader(unnamed, trial).error)


def test_wrong_settings_are_refused_at_once() -> None:
    with pytest.raises(GraderSetup, match="state must be a function"):
        outcome.goal("shop.db", reference=reference)  # type: ignore[arg-type]
    with pytest.raises(GraderSetup, match="reference must be a function"):
        outcome.goal(STATE, reference=None)  # type: ignore[arg-type]
    with pytest.raises(GraderSetup, match="needs named queries"):
        outcome.queries("shop.db")
