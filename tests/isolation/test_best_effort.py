"""Machines without a sub-reaper, fresh interpreters for each job, and supervisors that don't answer."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import psutil
import pytest
import pytest_asyncio
from tests.isolation.conftest import gone

from passhat.isolation import ForkServer, Job, ServerSpec, Slot, _slot, end_leftovers
from passhat.isolation._leftovers import make_scratch, runner_marker

pytestmark = pytest.mark.asyncio(loop_scope="module")
MB = 1_000_000


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["spawn", "portable"])
async def server(spec: Callable[..., ServerSpec], request: pytest.FixtureRequest) -> AsyncIterator[ForkServer]:
    async with ForkServer(spec(mode=request.param)) as server:
        assert server.report.mode == "spawn"
        yield server


async def test_a_fresh_interpreter_gives_the_same_answers(
    server: ForkServer, slot: Slot, job: Callable[..., Job]
) -> None:
    events: list[bytes] = []
    talked = await slot.run(job("talk", 2), events.append)
    assert (talked.result, talked.stdout, talked.stderr) == ("done", "out 0\nout 1\n", "err 0\nerr 1\n")
    assert events == [b'{"event":0}', b'{"event":1}']
    seen = [(await slot.run(job("about", seed=seed))).result for seed in (1, 2)]
    assert [one["seen"] for one in seen] == [1, 1]
    assert [one["home_files"] for one in seen] == [[".tmp", "left-behind"]] * 2
    assert len({one["tmp"] for one in seen}) == 2
    same = [(await slot.run(job("numpy_seeded", seed=5))).result for _ in range(2)]
    assert same[0] == same[1]
    assert (await slot.run(job("raises"))).reason == "raised: LookupError: no such order: A7"
    assert (await slot.run(job("os_exit", 5))).exit_code == 5
    assert talked.containment == server.report.containment


def alive(pids: list[int]) -> list[int]:
    """Those that run; what init hasn't reaped yet doesn't."""
    return [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize("name", ["c_loop", "swallows_cancel", "hundred_children", "keeper_tree"])
async def test_what_tries_to_survive_is_found(slot: Slot, job: Callable[..., Job], name: str) -> None:
    told: list[bytes] = []

    def cancel(event: bytes) -> None:
        told.append(event)
        slot.cancel()

    assert (await slot.run(job(name), cancel)).kind == "cancelled"
    assert alive(msgspec.json.decode(told[0])) == []
    assert psutil.Process(slot.pid).children() == []


@pytest.mark.parametrize(
    ("name", "payload", "limits", "limit"),
    [
        ("too_many", 60, {"processes": 20}, "processes"),
        ("floods", 1, {}, "output"),
        ("children_allocate", 150 * MB, {"memory_bytes": 400 * MB}, "memory"),
    ],
)
async def test_limits_hold(
    slot: Slot, job: Callable[..., Job], name: str, payload: int, limits: dict[str, int], limit: str
) -> None:
    ended = await slot.run(job(name, payload, limits=limits))
    assert (ended.kind, ended.limit) == ("limit", limit)


async def test_a_deadline_holds(slot: Slot, job: Callable[..., Job]) -> None:
    assert (await slot.run(job("c_loop", seconds=1.0))).kind == "timeout"


async def test_a_directory_that_can_not_be_made_is_a_setup_error(slot: Slot, job: Callable[..., Job]) -> None:
    ended = await slot.run(job("echo", cwd="/dev/null/below"))
    assert ended.error is not None
    assert (ended.kind, ended.error.kind) == ("raised", "setup")


async def test_a_supervisor_that_does_not_answer_is_killed_with_all_it_had(
    server: ForkServer, job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_slot, "_SUPERVISOR_LATE", 0.5)
    slot = await server.slot()
    told: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()

    def stop(event: bytes) -> None:
        os.kill(slot.pid, signal.SIGSTOP)
        told.set_result(msgspec.json.decode(event))

    ended = await slot.run(job("swallows_cancel", seconds=3.0), stop)
    assert (ended.kind, ended.notes) == ("lost", ("the server ended what was left of it",))
    assert not slot.alive
    assert gone(await told) == []  # killed, which no proof says here: it may take a moment
    await slot.close()


async def test_leftovers_of_a_runner_that_is_gone_are_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    code = "import os, sys; from passhat.isolation._leftovers import *; print(runner_marker(), make_scratch())"
    dead, old = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    mine = make_scratch()
    sleeper = ["sleep", "9999"]
    of_dead = subprocess.Popen(sleeper, env={"PASSHAT_RUN": dead, "PATH": os.environ["PATH"]})
    of_living = subprocess.Popen(sleeper, env={"PASSHAT_RUN": runner_marker(), "PATH": os.environ["PATH"]})
    try:
        assert end_leftovers() == (of_dead.pid,)
        assert of_dead.wait() == -signal.SIGKILL
        assert of_living.poll() is None
        assert (Path(old).exists(), Path(mine).exists()) == (False, True)
    finally:
        for popen in (of_dead, of_living):
            popen.kill()
            popen.wait()
