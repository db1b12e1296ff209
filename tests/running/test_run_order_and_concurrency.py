"""What scheduling may and may not change."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

from passhat import Suite, Task, Trial, seeded
from passhat.facts import PasshatError, TrialRecord
from passhat.graders import exact
from passhat.running import Run, plan
from passhat.scripting import say

RunHere = Callable[..., Run]
TASKS = [Task(f"t{i}", input=i, expected=i) for i in range(8)]


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(PasshatError, match="order='random'"):
        plan(TASKS, 2, order="random")  # type: ignore[arg-type]


def test_shuffled_is_seeded_and_complete() -> None:
    one, same, other = (plan(TASKS, 3, order="shuffled", seed=seed) for seed in (1, 1, 2))
    assert [p.key for p in one] == [p.key for p in same] != [p.key for p in other]
    assert sorted(p.key for p in one) == sorted(p.key for p in plan(TASKS, 3))


def test_a_trials_seed_depends_on_nothing_but_run_seed_task_and_number() -> None:
    seeds = {order: {p.key: p.seed for p in plan(TASKS, 3, order=order, seed=5)} for order in ("task", "round")}
    assert seeds["task"] == seeds["round"]
    assert len(set(seeds["task"].values())) == 24


def test_arms_of_a_comparison_stand_side_by_side_and_share_their_seeds() -> None:
    planned = plan(TASKS[:2], 20, arms=("old", "new"))
    sides = list(zip(planned[::2], planned[1::2], strict=True))
    assert all((one.task, one.trial, one.seed) == (two.task, two.trial, two.seed) for one, two in sides)
    assert {one.arm for one, _ in sides} == {"old", "new"}
    assert all({one.arm, two.arm} == {"old", "new"} for one, two in sides)


def test_which_arm_goes_first_depends_on_the_seed_only() -> None:
    one, same, other = (plan(TASKS[:2], 20, arms=("old", "new"), seed=seed) for seed in (1, 1, 2))
    assert [p.arm for p in one] == [p.arm for p in same] != [p.arm for p in other]


def projection(run: Run) -> list[Any]:
    def row(record: TrialRecord) -> Any:
        error = record.error.kind if record.error else None
        return (
            record.task,
            record.trial,
            record.status,
            record.passed,
            record.score,
            record.output,
            error,
            record.usage.tokens,
        )

    return sorted(row(record) for record in run.trials())


@pytest.mark.parametrize("way", ["sync", "async"])
def test_one_seed_gives_equal_results_at_concurrency_1_8_and_64_with_random_delays(
    run_here: RunHere, ask: Callable[..., str], way: str
) -> None:
    delays = random.Random(3)

    def simulation(request: Any, rng: random.Random) -> Any:
        return say(str(rng.randrange(3)))

    def decide(trial: Trial, said: str) -> Any:
        if said == "2":
            raise RuntimeError("confused")
        return trial.input if seeded(trial.seed)() < 0.8 else said

    def sync_agent(trial: Trial) -> Any:
        threading.Event().wait(delays.random() * 0.01)
        return decide(trial, ask(trial, trial.task_id))

    async def async_agent(trial: Trial) -> Any:
        await asyncio.sleep(delays.random() * 0.01)
        return decide(trial, await asyncio.to_thread(ask, trial, trial.task_id))

    suite = Suite(
        "s",
        tasks=TASKS,
        agent=sync_agent if way == "sync" else async_agent,
        graders=[exact()],
        simulation=simulation,
        trials=4,
        seed=7,
    )
    results = [projection(run_here(suite, concurrency=concurrency)) for concurrency in (1, 8, 64)]
    assert results[0] == results[1] == results[2]
    assert len(results[0]) == 32
    assert len({row[2] for row in results[0]}) == 2


def test_trials_start_in_the_planned_order_and_say_so(run_here: RunHere) -> None:
    started: list[tuple[str, int]] = []
    suite = Suite("s", tasks=TASKS, agent=lambda t: started.append((t.task_id, t.number)), trials=2, order="shuffled")
    run = run_here(suite, seed=9)
    planned = plan(TASKS, 2, order="shuffled", seed=9)
    assert started == [(p.task.id, p.trial) for p in planned]
    assert [record.order for record in run.trials()] == list(range(16))
    assert (run.manifest.order, run.manifest.seed) == ("shuffled", 9)


def test_no_more_trials_run_at_once_than_asked_for(run_here: RunHere) -> None:
    lock, now, most = threading.Lock(), [0], [0]
    together = threading.Barrier(3, timeout=20)

    def agent(trial: Trial) -> None:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        together.wait()
        with lock:
            now[0] -= 1

    run_here(Suite("s", tasks=TASKS[:6], agent=agent, concurrency=3))
    assert most == [3]


def test_a_seed_that_nobody_gives_is_drawn_and_recorded(run_here: RunHere) -> None:
    suite = Suite("s", tasks=TASKS[:1], agent=lambda trial: trial.seed)
    first, second = run_here(suite), run_here(suite)
    assert first.manifest.seed != second.manifest.seed
    (record,) = first.trials()
    assert record.output == record.seed == plan(TASKS[:1], 1, seed=first.manifest.seed)[0].seed


def test_a_run_works_inside_a_running_loop_and_on_one(run_here: RunHere, tmp_path: Any) -> None:
    from passhat.running import run_async

    suite = Suite("s", tasks=TASKS, agent=lambda trial: trial.input, graders=[exact()])

    async def notebook() -> tuple[Run, Run]:
        return run_here(suite), await run_async(suite, root=tmp_path)

    for run in asyncio.run(notebook()):
        assert sum(count.c for count in run.manifest.counts) == 8


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"trials": 0}, "trials=0"),
        ({"trials": True}, "trials=True"),
        ({"concurrency": 1.5}, "concurrency=1.5"),
        ({"seed": -1}, "seed=-1"),
        ({"retries": -1}, "retries=-1"),
        ({"retry_wait": -1}, "retry_wait=-1"),
        ({"order": "random"}, "order='random'"),
        ({"isolation": "docker"}, "isolation='docker'"),
        ({"model": "gpt"}, "PROVIDER/NAME"),
    ],
)
def test_what_no_run_can_have_is_refused_before_a_directory_is_made(
    run_here: RunHere, tmp_path: Any, bad: dict[str, Any], words: str
) -> None:
    with pytest.raises(Exception, match=words):
        run_here(Suite("s", tasks=TASKS, agent=lambda trial: 1), **bad)
    assert not (tmp_path / ".passhat").exists()


def test_only_selected_tasks_run(run_here: RunHere) -> None:
    run = run_here(Suite("s", tasks=TASKS, agent=lambda trial: 1), select=lambda tasks: tasks[:2])
    assert run.manifest.task_ids == ("t0", "t1")
    assert len(list(run.trials())) == 2
