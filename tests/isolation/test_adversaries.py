"""Code that tries to outlive its trial: each ends as time-out or limit, and is gone before the answer comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import psutil
import pytest

from passhat.isolation import ForkServer, Job, Slot

pytestmark = pytest.mark.asyncio(loop_scope="module")
MB = 1_000_000

HANGING = [
    "c_loop",
    "ctypes_loop",
    "swallows_cancel",
    "daemonises",
    "hundred_children",
    "replaces_itself",
    "keeper_tree",
]


async def left_below(slot: Slot, job: Callable[..., Job]) -> list[int]:
    """All processes below the slot's supervisor but the one that it has forked ahead, which the next job becomes."""
    found = [process.pid for process in psutil.Process(slot.pid).children(recursive=True)]
    ahead = await slot.run(job("about"))
    return [pid for pid in found if pid != ahead.result["pid"]]


@pytest.mark.parametrize("name", HANGING)
async def test_is_a_timeout_and_nothing_of_it_lives_when_the_answer_comes(
    slot: Slot, job: Callable[..., Job], name: str
) -> None:
    told: list[bytes] = []
    time_to_tell = 4.0 if name == "hundred_children" else 1.5  # also on a busy machine
    ended = await slot.run(job(name, seconds=time_to_tell), told.append)
    left = await left_below(slot, job)
    assert (ended.kind, ended.phase, ended.containment, ended.survivors) == ("timeout", "run", "proved", ())
    assert left == []
    pids = msgspec.json.decode(told[0], type=list[int])  # what it said before the deadline is kept
    if name != "replaces_itself":  # its pids are used again
        assert [pid for pid in pids if psutil.pid_exists(pid)] == []
    assert ended.killed >= (0 if name == "replaces_itself" else len(pids) - 1)


@pytest.mark.parametrize("name", ["daemonises", "hundred_children"])
async def test_what_a_finished_job_leaves_running_is_killed_too(slot: Slot, job: Callable[..., Job], name: str) -> None:
    told: list[bytes] = []
    ended = await slot.run(job(name, "return"), told.append)
    assert (ended.kind, ended.containment) == ("returned", "proved")
    assert [pid for pid in msgspec.json.decode(told[0]) if psutil.pid_exists(pid)] == []
    assert ended.killed >= 1


async def test_the_next_job_of_the_slot_starts_in_an_empty_house(slot: Slot, job: Callable[..., Job]) -> None:
    await slot.run(job("keeper_tree", seconds=1.0))
    ended = await slot.run(job("about", None))
    assert ended.kind == "returned"
    assert ended.peak_processes == 1
    assert ended.result["parent"] == slot.pid


@pytest.mark.parametrize(
    ("name", "payload", "limits", "limit"),
    [
        ("too_many", 100, {"processes": 30}, "processes"),
        ("floods", 1, {}, "output"),
        ("floods", 2, {}, "output"),
        ("floods_events", None, {}, "output"),
        ("huge_result", 12 * MB, {}, "output"),
        ("allocates", None, {"memory_bytes": 400 * MB}, "memory"),
        ("children_allocate", 150 * MB, {"memory_bytes": 400 * MB}, "memory"),
        ("endless_recursion", None, {"memory_bytes": 400 * MB}, "memory"),
    ],
)
async def test_over_a_limit_is_that_limit_and_never_a_result(
    slot: Slot, job: Callable[..., Job], name: str, payload: Any, limits: dict[str, int], limit: str
) -> None:
    ended = await slot.run(job(name, payload, limits=limits))
    assert (ended.kind, ended.limit, ended.containment) == ("limit", limit, "proved"), ended
    assert ended.result is None
    assert await left_below(slot, job) == []
    assert len(ended.stdout) + len(ended.stderr) < 400_000


async def test_a_flood_of_text_is_kept_at_both_ends(slot: Slot, job: Callable[..., Job]) -> None:
    ended = await slot.run(job("talk", 5000, limits={"stdout_bytes": 1000}))
    assert ended.kind == "returned"
    assert ended.stdout.startswith("out 0\n")
    assert ended.stdout.endswith("out 4999\n")
    assert "bytes left out" in ended.stdout


async def test_other_trials_are_not_touched_by_a_storm_next_door(server: ForkServer, job: Callable[..., Job]) -> None:
    import asyncio

    one, two = await server.slot(), await server.slot()
    storm = asyncio.create_task(one.run(job("replaces_itself", seconds=1.0)))
    quiet = [await two.run(job("echo", number)) for number in range(20)]
    ended = await storm
    await one.close()
    await two.close()
    assert [result.result for result in quiet] == list(range(20))
    assert ended.kind == "timeout"
