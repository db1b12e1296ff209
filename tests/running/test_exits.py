"""``os._exit`` and ``os.exec…`` in user code that runs in this process fail its trial, and never end the process."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from passhat import Status, Suite, Task, Trial, evaluate
from passhat.facts import TrialRecord
from passhat.gateway import Gateway
from passhat.running import Entrance, SingleTrials, exits_refused, last_exit, no_exit, phase_over
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


PROGRAMS: dict[str, Callable[[], object]] = {
    "execl": lambda: os.execl("/bin/true", "true"),
    "execle": lambda: os.execle("/bin/true", "true", {}),
    "execlp": lambda: os.execlp("true", "true"),
    "execlpe": lambda: os.execlpe("true", "true", {}),
    "execv": lambda: os.execv("/bin/true", ["true"]),
    "execve": lambda: os.execve("/bin/true", ["true"], {}),
    "execvp": lambda: os.execvp("true", ["true"]),
    "execvpe": lambda: os.execvpe("true", ["true"], {}),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_program_takes_the_place_of_the_process(name: str) -> None:
    before, refused = (os.execv, os.execve), exits_refused()
    with no_exit(), pytest.raises(ProcessExit, match=r"true', …\) would have put another program in the place"):
        PROGRAMS[name]()
    assert exits_refused() == refused + 1
    assert (os.execv, os.execve) == before


def test_a_forked_child_may_become_another_program() -> None:
    with no_exit():
        child = os.fork()
        if not child:
            os.execv(sys.executable, [sys.executable, "-c", "raise SystemExit(7)"])
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", "raise SystemExit(6)"]) == 6


def timer(status: int, raised: list[BaseException]) -> threading.Thread:
    """A thread that ends the process as the timer of pytest-timeout's thread method does."""
    names = {"__name__": "pytest_timeout", "os": os, "status": status}

    def run() -> None:
        try:
            exec("os._exit(status)", names)
        except BaseException as error:
            raised.append(error)

    return threading.Thread(target=run)


def test_a_watchdog_leaves_the_process_alone_when_what_it_watched_ends() -> None:
    raised: list[BaseException] = []
    with no_exit():
        before, watchdog = exits_refused(), timer(1, raised)
        watchdog.start()
        while exits_refused() == before:  # it has rung; the test goes on, and ends
            pass
        phase_over()
        watchdog.join()
    assert [str(error).partition(",")[0] for error in raised] == ["timeout: pytest-timeout's timer ran out"]
    assert last_exit() == str(raised[0])


def test_a_watchdog_ends_the_process_when_what_it_watched_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[int] = []
    monkeypatch.setattr(os, "_exit", called.append)
    monkeypatch.setattr("passhat.running._exits._PATIENCE", 0.0)
    raised: list[BaseException] = []
    with no_exit():
        watchdog = timer(1, raised)
        watchdog.start()
        watchdog.join()
    assert (called, raised) == ([1], [])
