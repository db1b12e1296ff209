"""Isolation changes where a trial runs, not what it says: one suite, inline and by process."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from passhat.facts import AgentEvent, ModelCall, Status, ToolRun, TrialRecord
from passhat.isolation._leftovers import make_scratch
from passhat.running import Run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no process isolation")

SUITE = """
    import asyncio, json, os, sqlite3, urllib.error, urllib.request
    from contextlib import contextmanager
    import passhat
    from passhat import Grade, Suite, Task
    from passhat.scripting import say

    def ask(trial, text):
        body = {"model": "m-1", "messages": [{"role": "user", "content": text}]}
        request = urllib.request.Request(
            trial.model.openai["base_url"] + "/chat/completions", json.dumps(body).encode(),
            {"authorization": f"Bearer {trial.model.api_key}", "content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)["choices"][0]["message"]["content"]
        except urllib.error.HTTPError as error:
            with error:
                raise OSError(error.code) from None

    def simulation(request, rng):
        return say(f"{request.messages[-1].text} {rng.randrange(1000)}")

    def prepare(trial):
        if trial.data["do"] == "unprepared":
            raise LookupError("no orders")
        if "db" in trial.tags:
            with sqlite3.connect(trial.workspace / "shop.db") as db:
                db.execute("create table refunds (n integer)")
            db.close()

    @contextmanager
    def environment(trial):
        if "db" not in trial.tags:
            yield None
            return
        db = sqlite3.connect(trial.workspace / "shop.db")
        try:
            yield db
        finally:
            db.close()
        if trial.task_id == "torn" and not hasattr(trial, "output"):
            raise OSError("can't be closed")

    @passhat.tool
    def refund(db, n):
        db.execute("insert into refunds values (?)", [n])
        db.commit()
        return n

    async def later(trial):
        await asyncio.sleep(0)
        return ask(trial, trial.input)

    def agent(trial):
        do = trial.data["do"]
        if do == "ask":
            return ask(trial, trial.input)
        if do == "refund":
            trial.environment.execute("pragma journal_mode=wal")
            ask(trial, "may I?")
            trial.record("sure", {"n": 7})
            refund(trial.environment, 7)
            ask(trial, "done")
            (trial.workspace / "note.txt").write_text("hello")
            return {"refunded": 7}
        if do == "later":
            return later(trial)
        if do == "raise":
            raise ValueError("no idea")
        if do == "object":
            return object()
        if do == "exit":
            raise SystemExit(3)
        if do == "many":
            for number in range(9):
                ask(trial, str(number))
        return "none"

    def answered(trial):
        return trial.output == trial.task.expected or (trial.task.expected is None and bool(trial.output))

    def in_the_books(trial):
        if "db" not in trial.tags:
            return Grade(True, "nothing to look at")
        return trial.environment.execute("select n from refunds").fetchall() == [(7,)]

    async def changed(trial):
        expected = {"note.txt": "added", "shop.db": "changed"} if trial.data["do"] == "refund" else None
        return expected is None or {k: v for k, v in trial.diff.items() if "-" not in k} == expected

    def partly(trial):
        return 0.25 if trial.task.id == "ask" else 1.0

    partly.threshold = 0.5
    partly.role = "advisory"
    partly.weight = 2.0

    def undecided(trial):
        if trial.task.id == "undecided":
            return "perhaps"
        if trial.task.id == "broken grader":
            raise RuntimeError("my own fault")
        return True

    tasks = [Task("ask", input="hi", data={"do": "ask"}), Task("refund", expected={"refunded": 7}, tags=("db",),
             data={"do": "refund"}), Task("later", input="soon", data={"do": "later"})]
    tasks += [Task(do, data={"do": do}) for do in ("raise", "object", "exit", "many", "unprepared")]
    tasks += [Task(name, expected="none", data={"do": "nothing"}) for name in ("undecided", "broken grader")]
    tasks += [Task("torn", expected="none", tags=("db",), data={"do": "nothing"})]
    suite = Suite("equal", tasks=tasks, agent=agent, prepare=prepare, environment=environment, simulation=simulation,
                  graders=[answered, in_the_books, changed, partly, undecided], trials=2,
                  limits=passhat.Limits(model_calls=4))
"""


@pytest.fixture(scope="module")
def inline(run_file: Callable[..., Run]) -> Run:
    """In this process."""
    return run_file(SUITE, isolation="inline", retries=1)


@pytest.fixture(scope="module")
def process(run_file: Callable[..., Run]) -> Run:
    """Each in its own, three at once."""
    return run_file(SUITE, retries=1, concurrency=3)


def _projection(run: Run) -> list[tuple[Any, ...]]:
    return sorted(
        (
            record.task,
            record.trial,
            record.status,
            record.passed,
            record.score,
            record.output,
            record.error and (record.error.kind, record.error.type, record.error.message),
            record.usage.tokens,
            [
                (grade.name, grade.passed, grade.score, grade.role, grade.weight, grade.error is None)
                for grade in record.grades
            ],
            len(record.attempts),
            record.seed,
        )
        for record in run.trials()
    )


def _by_task(run: Run) -> dict[str, TrialRecord]:
    return {record.task: record for record in run.trials() if record.trial == 0}


def test_every_trial_ends_as_it_does_inline(inline: Run, process: Run) -> None:
    assert _projection(process) == _projection(inline)


def test_the_statuses_are_those_that_the_suite_was_made_for(process: Run) -> None:
    assert {task: record.status for task, record in _by_task(process).items()} == {
        "ask": Status.COMPLETED,
        "refund": Status.COMPLETED,
        "later": Status.COMPLETED,
        "raise": Status.AGENT_ERROR,
        "object": Status.AGENT_ERROR,
        "exit": Status.AGENT_ERROR,
        "many": Status.LIMIT,
        "unprepared": Status.ENVIRONMENT_ERROR,
        "undecided": Status.GRADER_ERROR,
        "broken grader": Status.GRADER_ERROR,
        "torn": Status.COMPLETED,  # its grader fails it, which closing badly is no excuse for
    }


def test_events_of_the_process_and_of_the_gateway_stand_in_the_order_in_which_they_happened(process: Run) -> None:
    transcript = process.transcript(_by_task(process)["refund"])
    assert transcript is not None
    assert [type(event) for event in transcript.events] == [ModelCall, AgentEvent, ToolRun, ModelCall]
    assert [event.author for event in transcript.events] == ["seen", "told", "told", "seen"]


def test_the_trace_of_an_exception_names_the_line_of_the_suite(process: Run) -> None:
    error = _by_task(process)["raise"].error
    assert error is not None
    assert 'raise ValueError("no idea")' in error.traceback


def test_workspaces_are_kept(process: Run) -> None:
    assert _by_task(process)["refund"].workspace


def test_a_run_that_is_over_leaves_no_directory_behind(process: Run) -> None:
    own = Path(make_scratch())
    shutil.rmtree(own)
    mine = own.name.rpartition("-")[0]
    assert mine.startswith("passhat-")
    assert [path.name for path in Path(tempfile.gettempdir()).iterdir() if path.name.startswith(mine)] == []
