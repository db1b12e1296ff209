"""``os._exit`` in user code that runs in this process fails its trial, and never ends the process."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

from passhat import Status, Suite, Task, Trial, evaluate
from passhat.facts import TrialRecord
from passhat.gateway import Gateway
from passhat.running import Entrance, SingleTrials, no_exit
from passhat.running._exits import ProcessExit

Only = Callable[..., TrialRecord]


def leaves(*_: Any) -> Any:
    os._exit(0)


async def leaves_async(trial: Any) -> Any:
    await asyncio.sleep(0)
    os._exit(0)


@pytest.mark.parametrize("agent", [leaves, leaves_async])
def test_an_agent_that_leaves_the_process_fails_its_trial(only_trial: Only, agent: Any) -> None:
    real = os._exit
    record = only_trial(agent, graders=[lambda trial: True])
    assert record.status is Status.AGENT_ERROR
    assert record.error is not None
    assert record.error.type == "ProcessExit"
    assert "os._exit(0) would have ended the whole process" in record.error.message
    assert os._exit is real


@pytest.mark.parametrize("grader", [leaves, leaves_async])
def test_a_grader_that_leaves_the_process_is_a_grader_error(only_trial: Only, grader: Any) -> None:
    record = only_trial(lambda trial: "a", graders=[grader])
    assert (record.passed, record.status) == (None, Status.GRADER_ERROR)
    assert "ProcessExit" in str(record.grades[0].error)
    assert "test_exits.py:" in str(record.grades[0].error)


def test_an_exit_on_another_task_or_thread_of_the_agent_does_not_end_the_process(only_trial: Only) -> None:
    raised: list[str] = []

    def quietly() -> None:
        try:
            os._exit(0)
        except BaseException as error:
            raised.append(type(error).__name__)

    async def agent(trial: Trial) -> str:
        thread = threading.Thread(target=quietly)
        thread.start()
        await asyncio.to_thread(thread.join)
        (task,), _ = await asyncio.wait([asyncio.create_task(leaves_async(trial))])
        return type(task.exception()).__name__

    record = only_trial(agent)
    assert (record.output, raised) == ("ProcessExit", ["ProcessExit"])


def test_a_reference_that_leaves_the_process_fails_its_single_trial(gateway: Gateway) -> None:
    suite = Suite("s", tasks=[Task("t")], agent=lambda trial: "a", graders=[lambda trial: True])
    trials = SingleTrials(suite, Entrance(gateway, dict(os.environ)), answers="nobody")
    try:
        record = trials.run(Task("t"), agent=leaves).record
    finally:
        trials.close()
    assert (record.status, record.passed) == (Status.AGENT_ERROR, False)


@pytest.mark.parametrize("options", [{}, {"concurrency": 2}])
@pytest.mark.parametrize("agent", [leaves, leaves_async])
def test_evaluate_survives_an_agent_that_leaves_the_process(agent: Any, options: Any) -> None:
    result = evaluate([{"id": "t", "input": "q", "expected": "a"}], agent, k=2, **options)
    assert result.pass_at_1 == 0.0
    assert {record.error.type for record in result.trials if record.error} == {"ProcessExit"}


def test_evaluate_survives_a_predicate_that_leaves_the_process() -> None:
    result = evaluate([{"id": "t", "input": "q"}], lambda trial: "a", k=1, passes=leaves)
    assert result.pass_at_1 == 0.0
    assert "passes raised ProcessExit" in result.trials[0].grades[0].reason


def test_a_forked_child_really_leaves(only_trial: Only) -> None:
    def agent(trial: Trial) -> int:
        child = os.fork()
        if not child:
            os._exit(7)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert only_trial(agent).output == 7


def test_a_watchdog_that_was_there_before_may_end_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[int] = []
    monkeypatch.setattr(os, "_exit", called.append)
    go = threading.Event()

    def watch() -> None:
        go.wait(30)
        os._exit(3)

    watchdog = threading.Thread(target=watch, name="watchdog")
    watchdog.start()
    with no_exit():
        go.set()
        watchdog.join()
    os._exit(4)
    assert called == [3, 4]


def test_a_watchdog_that_was_started_between_two_trials_may_end_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[int] = []
    monkeypatch.setattr(os, "_exit", called.append)
    with no_exit():
        pass
    go = threading.Event()
    watchdog = threading.Thread(target=lambda: go.wait(30) and os._exit(3), name="watchdog")
    watchdog.start()
    for _ in range(2):
        with no_exit():
            pass
    with no_exit():
        go.set()
        watchdog.join()
    assert called == [3]


def test_holds_may_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[int] = []
    monkeypatch.setattr(os, "_exit", called.append)
    one, other = no_exit(), no_exit()
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    with pytest.raises(ProcessExit):
        os._exit(0)
    other.__exit__(None, None, None)
    os._exit(5)
    assert called == [5]
