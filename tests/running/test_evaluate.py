"""The small door: how many trials run, in which order, and what they make of the rates."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

import passhat
from passhat import Task, Trial, evaluate, evaluate_async, seeded

TASKS = [Task("a", input=1), Task("b", input=2), Task("c", input=3)]
COIN = [Task(f"t{i:02}") for i in range(40)]
WINS = [int(c) for c in "4445555554435353535445443553554555444444"]


def yes(output: Any, task: Task) -> bool:
    return True


def same(output: Any, task: Task) -> bool:
    return bool(output)


def coin() -> Callable[[Trial], bool]:
    draw = seeded(42)
    return lambda trial: draw() < 0.85


def test_every_task_runs_k_times_one_after_another_all_of_a_task_first() -> None:
    seen: list[tuple[str, int]] = []
    evaluate(TASKS, lambda trial: seen.append((trial.task_id, trial.number)), k=3, passes=yes)
    assert seen == [(task, trial) for task in "abc" for trial in range(3)]


def test_one_shared_coin_of_seed_42_gives_exactly_the_published_rates() -> None:
    result = evaluate(COIN, coin(), k=5, passes=same)
    assert (result.pass_at_1, result.pass_hat_k) == (0.86, 0.45)
    assert [count.c for count in result.by_task.values()] == WINS
    assert (result.tasks, result.k, len(result.trials)) == (40, 5, 200)


def test_an_async_agent_gives_the_same_rates_in_the_same_order() -> None:
    flip = coin()

    async def agent(trial: Trial) -> bool:
        await asyncio.sleep(0)
        return flip(trial)

    result = evaluate(COIN, agent, k=5, passes=same)
    assert (result.pass_at_1, result.pass_hat_k) == (0.86, 0.45)


def test_it_works_inside_a_running_loop() -> None:
    async def notebook() -> passhat.EvalResult:
        return evaluate(COIN, coin(), k=5, passes=same)

    assert asyncio.run(notebook()).pass_hat_k == 0.45


def test_a_mistake_in_the_call_is_raised_inside_a_running_loop_too() -> None:
    async def notebook() -> passhat.EvalResult:
        return evaluate(TASKS, lambda trial: 1, k=1, passes=lambda output, task: 1)  # type: ignore[arg-type,return-value]

    with pytest.raises(TypeError, match="gave 1"):
        asyncio.run(notebook())


@pytest.mark.parametrize("timeout", [None, 100])
def test_ctrl_c_in_a_notebook_starts_no_further_trial(timeout: float | None) -> None:
    calls, going_on = [], threading.Event()

    def agent(trial: Trial) -> None:
        calls.append(trial.task_id)
        os.kill(os.getpid(), signal.SIGINT)
        going_on.wait(20)

    async def notebook() -> None:
        with pytest.raises(KeyboardInterrupt):
            evaluate(TASKS, agent, k=1, passes=yes, timeout=timeout)

    # asyncio.run would turn Ctrl-C into a cancellation of its task; a notebook's loop does not.
    loop = asyncio.new_event_loop()
    loop.run_until_complete(notebook())
    loop.close()
    going_on.set()
    for thread in threading.enumerate():
        if thread.name == "passhat":
            thread.join(20)
    assert calls == ["a"]


def test_the_async_door_runs_on_the_callers_loop() -> None:
    loops = []

    async def agent(trial: Trial) -> bool:
        loops.append(asyncio.get_running_loop())
        return True

    async def main() -> asyncio.AbstractEventLoop:
        await evaluate_async(TASKS, agent, k=2, passes=same)
        return asyncio.get_running_loop()

    assert {asyncio.run(main())} == set(loops)


def test_a_sync_agent_leaves_the_callers_loop_free_in_the_async_door() -> None:
    async def main() -> passhat.EvalResult:
        released = threading.Event()
        asyncio.get_running_loop().call_soon(released.set)
        return await evaluate_async(TASKS, lambda trial: released.wait(20), k=1, passes=same)

    assert asyncio.run(main()).pass_at_1 == 1.0


def test_the_mean_weighs_every_task_the_same_and_counts_whole_tasks_for_pass_hat_k() -> None:
    result = evaluate(TASKS, lambda trial: trial.number < trial.input, k=3, passes=same)
    assert [count.c for count in result.by_task.values()] == [1, 2, 3]
    assert result.pass_at_1 == pytest.approx(2 / 3)
    assert result.pass_hat_k == pytest.approx(1 / 3)


def test_pass_hat_k_is_not_the_power_of_pass_at_1() -> None:
    result = evaluate(TASKS[:2], lambda trial: trial.task_id == "a", k=4, passes=same)
    assert result.pass_hat_k == 0.5 != result.pass_at_1**4


def test_a_trial_that_raises_is_a_failed_trial_and_all_calls_are_still_made() -> None:
    calls = []

    def agent(trial: Trial) -> bool:
        calls.append(trial.number)
        if trial.number == 0:
            raise RuntimeError("no route")
        return True

    result = evaluate(TASKS[:1], agent, k=5, passes=same)
    assert len(calls) == 5
    assert result.pass_at_1 == 0.8
    assert result.failures == {"agent_error": 1}
    error = result.trials[0].error
    assert error is not None
    assert (error.type, error.message) == ("RuntimeError", "no route")


def test_seven_of_eight_trials_raising_is_exactly_an_eighth() -> None:
    def agent(trial: Trial) -> bool:
        if trial.number < 7:
            raise ValueError(trial.number)
        return True

    assert evaluate(TASKS[:1], agent, k=8, passes=same).pass_at_1 == 0.125


def test_an_async_agent_that_raises_is_caught_like_a_sync_one() -> None:
    async def agent(trial: Trial) -> bool:
        raise RuntimeError("later")

    result = evaluate(TASKS, agent, k=2, passes=same)
    assert (result.pass_at_1, result.failures) == (0.0, {"agent_error": 6})


def test_a_predicate_that_raises_is_a_failed_trial() -> None:
    def passes(output: Any, task: Task) -> bool:
        return bool(output["answer"])

    result = evaluate(TASKS, lambda trial: {} if trial.number else {"answer": 1}, k=2, passes=passes)
    assert result.pass_at_1 == 0.5
    assert result.failures == {"predicate_error": 3}


@pytest.mark.parametrize("k", [0, -1, 1.5, math.nan, math.inf, "5", True, False, 5.0, None])
def test_k_that_is_no_positive_integer_is_refused(k: Any) -> None:
    with pytest.raises(ValueError, match=f"k must be a positive integer, got {k}"):
        evaluate(TASKS, lambda trial: True, k=k, passes=yes)


def test_an_empty_list_is_refused() -> None:
    with pytest.raises(ValueError, match="evaluate needs at least one task"):
        evaluate([], lambda trial: True, k=1, passes=yes)


@pytest.mark.parametrize("timeout", [0, 0.0, -1, math.nan, math.inf, True, "1"])
def test_a_timeout_that_is_no_positive_finite_number_is_refused(timeout: Any) -> None:
    with pytest.raises(ValueError, match="timeout must be a positive finite number of seconds"):
        evaluate(TASKS, lambda trial: True, k=1, passes=yes, timeout=timeout)


def test_k_is_checked_before_tasks_and_tasks_before_the_timeout() -> None:
    with pytest.raises(ValueError, match="k must be"):
        evaluate([], lambda trial: True, k=0, passes=yes, timeout=0)
    with pytest.raises(ValueError, match="at least one task"):
        evaluate([], lambda trial: True, k=1, passes=yes, timeout=0)


@pytest.mark.parametrize(("bad", "words"), [(None, "agent=None"), (0, "concurrency=0"), (True, "concurrency=True")])
def test_other_arguments_are_checked_too(bad: Any, words: str) -> None:
    arguments: dict[str, Any] = {"agent": lambda trial: 1, "concurrency": 1, words.split("=")[0]: bad}
    with pytest.raises(ValueError, match=words):
        evaluate(TASKS, arguments.pop("agent"), k=1, passes=yes, **arguments)


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        ([Task("a"), Task("a")], "'a' is used twice"),
        ([{"id": " "}], "non-empty id"),
        ([{"id": ["a"]}], "id must be text"),
        ([{"id": "a", "expcted": 1}], "did you mean 'expected'"),
        (["a"], r"tasks\[0\] must be a Task"),
        ("abc", "tasks must be a list"),
        (7, "tasks must be a list"),
        ([Task("a", split="tune")], "none is left to measure on"),
    ],
)
def test_tasks_that_cannot_be_told_apart_or_read_are_refused(tasks: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        evaluate(tasks, lambda trial: True, k=1, passes=yes)


def test_a_predicate_may_accept_several_answers() -> None:
    tasks = [{"id": "t", "expected": ["yes", "yes."]}]
    result = evaluate(
        tasks, lambda trial: ["yes", "yes.", "no"][trial.number], k=3, passes=lambda o, task: o in task.expected
    )
    assert result.pass_at_1 == pytest.approx(2 / 3)


async def _async_passes(output: Any, task: Task) -> bool:
    return False


@pytest.mark.parametrize(
    ("passes", "words"),
    [
        (_async_passes, "is async"),
        (lambda output, task: _async_passes(output, task), "a coroutine"),
        (lambda output, task: None, "gave None"),
        (lambda output, task: "no", "gave 'no'"),
        (lambda output, task: 0, "gave 0"),
        (3, "gave 3"),
    ],
)
@pytest.mark.parametrize("concurrency", [1, 2])
def test_a_predicate_that_answers_anything_but_true_or_false_is_refused(
    passes: Any, words: str, concurrency: int
) -> None:
    with pytest.raises(TypeError, match=words):
        evaluate(TASKS, lambda trial: True, k=1, passes=passes, concurrency=concurrency)


class Stop(BaseException):
    """Neither an Exception nor SystemExit."""


@pytest.mark.parametrize("error", [KeyboardInterrupt, asyncio.CancelledError, GeneratorExit, Stop])
@pytest.mark.parametrize("way", ["direct", "thread", "async"])
def test_an_interrupt_is_never_swallowed_as_a_failed_trial(error: type[BaseException], way: str) -> None:
    calls = []

    def sync_agent(trial: Trial) -> bool:
        calls.append(trial.task_id)
        raise error

    async def async_agent(trial: Trial) -> bool:
        return sync_agent(trial)

    agent = async_agent if way == "async" else sync_agent
    with pytest.raises(error):
        evaluate(TASKS, agent, k=2, passes=yes, timeout=100 if way == "thread" else None)
    assert calls == ["a"]


@pytest.mark.parametrize("timeout", [None, 100])
def test_a_program_that_exits_is_a_failed_trial(timeout: float | None) -> None:
    def agent(trial: Trial) -> bool:
        raise SystemExit(3)

    result = evaluate(TASKS, agent, k=2, passes=yes, timeout=timeout)
    assert result.failures == {"agent_error": 6}


def test_a_sync_agent_may_return_an_awaitable() -> None:
    async def later(value: int) -> int:
        return value

    def raising(trial: Trial) -> Any:
        return later(1) if trial.number else broken()

    async def broken() -> int:
        raise RuntimeError("later")

    assert evaluate(TASKS, lambda trial: later(trial.input), k=1, passes=lambda o, task: o == task.input).pass_at_1 == 1
    assert evaluate(TASKS, raising, k=2, passes=same).pass_at_1 == 0.5
    assert evaluate(TASKS, raising, k=2, passes=same, timeout=100).pass_at_1 == 0.5


def test_a_sync_agent_runs_on_the_callers_thread_and_may_use_asyncio_itself() -> None:
    here = threading.current_thread()

    def agent(trial: Trial) -> bool:
        asyncio.run(asyncio.sleep(0))
        return threading.current_thread() is here

    assert evaluate(TASKS, agent, k=2, passes=same).pass_at_1 == 1.0


def test_trials_have_seeds_of_their_own_that_concurrency_does_not_change() -> None:
    def seeds(concurrency: int) -> list[int]:
        result = evaluate(TASKS, lambda trial: seeded(trial.seed)(), k=4, passes=yes, seed=7, concurrency=concurrency)
        return [record.output for record in result.trials]

    assert seeds(1) == seeds(3)
    assert len(set(seeds(1))) == 12


def test_concurrent_trials_really_overlap() -> None:
    together = threading.Barrier(3, timeout=20)

    def agent(trial: Trial) -> bool:
        together.wait()
        return True

    assert evaluate(TASKS, agent, k=1, passes=same, concurrency=3).pass_at_1 == 1.0


def test_the_agent_sees_no_expected_answer() -> None:
    seen: list[Trial] = []
    evaluate([Task("t", input="q", expected="SECRET")], lambda trial: seen.append(trial), k=1, passes=yes)
    assert "SECRET" not in repr(vars(seen[0]))
    assert not hasattr(seen[0], "expected")


def test_a_trial_has_a_workspace_of_its_own_that_is_gone_afterwards() -> None:
    paths = []

    def agent(trial: Trial) -> bool:
        paths.append(trial.workspace)
        (trial.workspace / "note").write_text("x")
        return len(list(trial.workspace.iterdir())) == 1

    assert evaluate(TASKS, agent, k=2, passes=same).pass_at_1 == 1.0
    assert len(set(paths)) == 6
    assert not any(path.exists() for path in paths)


def test_only_how_the_agent_is_built_changes_between_a_simulation_and_a_real_model() -> None:
    def measure(agent: Any) -> float:
        return evaluate(TASKS, agent, k=2, passes=lambda o, task: o == task.input).pass_at_1

    async def real(trial: Trial) -> Any:
        return trial.input

    assert measure(lambda trial: trial.input) == measure(real) == 1.0
