"""The small door under a deadline."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from passhat import Task, Trial, evaluate
from passhat.running import _calling
from passhat.running._evaluate import share_of

TASKS = [Task("a", input=1), Task("b", input=2), Task("c", input=3)]


def yes(output: Any, task: Task) -> bool:
    return True


@pytest.fixture
def released() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.mark.parametrize(
    ("timeout", "trials", "ms"), [(1, 21, 47), (0.001, 50, 1), (0.29, 1, 290), (0.3, 3, 100), (2.5, 2, 1250)]
)
def test_the_total_is_shared_out_among_the_trials(timeout: float, trials: int, ms: int) -> None:
    assert share_of(timeout, trials) == ms


def test_the_timer_gets_the_work_and_its_milliseconds() -> None:
    given = []

    def timer(function: Any, ms: int) -> Any:
        given.append(ms)
        return function()

    result = evaluate(TASKS, lambda trial: trial.input, k=7, passes=yes, timeout=1, timer=timer)
    assert given == [47] * 21
    assert result.per_trial_ms == 47
    assert result.pass_at_1 == 1.0


def test_without_a_timeout_no_timer_is_used() -> None:
    def timer(function: Any, ms: int) -> Any:
        raise AssertionError("a timer ran")

    assert evaluate(TASKS, lambda trial: 1, k=2, passes=yes, timer=timer).pass_at_1 == 1.0


def test_a_timer_that_gives_up_makes_a_timeout_and_one_that_passes_an_error_on_an_agent_error() -> None:
    async def timer(function: Any, ms: int) -> Any:
        value = await function()
        if value == 2:
            raise TimeoutError("too slow")
        return value

    def agent(trial: Trial) -> Any:
        if trial.input == 3:
            raise RuntimeError("broken")
        return trial.input

    result = evaluate(TASKS, agent, k=1, passes=yes, timeout=9, timer=timer)
    assert [record.status.value for record in result.trials] == ["completed", "timeout", "agent_error"]


def test_a_sync_agent_that_overruns_is_a_failed_trial_and_holds_nothing_up(released: threading.Event) -> None:
    def agent(trial: Trial) -> Any:
        if trial.input == 2:
            released.wait(60)
        return trial.input

    result = evaluate(TASKS, agent, k=1, passes=yes, timeout=1.5)
    assert [record.passed for record in result.trials] == [True, False, True]
    error = result.trials[1].error
    assert error is not None
    assert error.message == "timed out after 500ms"
    assert result.failures == {"timeout": 1}


def test_the_agent_is_told_that_its_trial_is_over(released: threading.Event) -> None:
    trials = []

    def agent(trial: Trial) -> None:
        trials.append(trial)
        released.wait(60)

    evaluate(TASKS[:1], agent, k=1, passes=yes, timeout=0.01)
    assert trials[0].cancelled
    assert trials[0].remaining() == 0


def test_an_async_agent_that_overruns_is_cancelled() -> None:
    ended = []

    async def agent(trial: Trial) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append(trial.task_id)
            raise

    result = evaluate(TASKS, agent, k=1, passes=yes, timeout=0.03)
    assert result.failures == {"timeout": 3}
    assert ended == ["a", "b", "c"]


def test_an_async_agent_that_ignores_its_cancellation_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_calling, "GRACE", 0.01)

    async def agent(trial: Trial) -> None:
        for _ in range(3):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    assert evaluate(TASKS[:1], agent, k=1, passes=yes, timeout=0.01).failures == {"timeout": 1}


def test_a_late_result_or_error_is_observed_and_changes_nothing(recwarn: pytest.WarningsRecorder) -> None:
    released, late = threading.Event(), threading.Barrier(4, timeout=20)
    complaints: list[Any] = []

    async def never() -> None:
        raise AssertionError("nobody awaits this")

    def agent(trial: Trial) -> Any:
        released.wait(60)
        late.wait()
        if trial.input == 1:
            raise RuntimeError("late")
        return never() if trial.input == 2 else trial.input

    async def main() -> Any:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
        from passhat import evaluate_async

        result = await evaluate_async(TASKS, agent, k=1, passes=yes, timeout=0.03)
        released.set()
        await asyncio.to_thread(late.wait)
        await asyncio.to_thread(_join_agents)
        await asyncio.sleep(0)
        gc.collect()
        return result

    result = asyncio.run(main())
    assert result.failures == {"timeout": 3}
    assert complaints == []
    assert not recwarn.list


def test_a_result_that_comes_after_the_loop_has_closed_is_dropped(released: threading.Event) -> None:
    async def never() -> None:
        raise AssertionError("nobody awaits this")

    def agent(trial: Trial) -> Any:
        released.wait(60)
        return never()

    evaluate(TASKS[:1], agent, k=1, passes=yes, timeout=0.01)
    released.set()
    _join_agents()
    gc.collect()


def _join_agents() -> None:
    names = tuple(f"passhat-{task.id}#" for task in TASKS)
    for thread in threading.enumerate():
        if thread.name.startswith(names):
            thread.join(20)
            assert not thread.is_alive(), thread.name


def test_the_result_says_that_the_deadline_cancels_no_request() -> None:
    result = evaluate(TASKS, lambda trial: 1, k=1, passes=yes, timeout=100)
    assert any("neither cancels the agent's request nor bounds the whole evaluation" in note for note in result.notes)
