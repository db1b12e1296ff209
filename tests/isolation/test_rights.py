"""What a job may not do to others: the Landlock guard, confinement, and the limits set in the process itself."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from passhat.isolation import ForkServer, Job, Slot, capabilities

pytestmark = pytest.mark.asyncio(loop_scope="module")
needs_landlock = pytest.mark.skipif(not capabilities().guard, reason="this kernel has no Landlock")


@needs_landlock
async def test_the_guard_keeps_a_job_from_its_keepers(server: ForkServer, slot: Slot, job: Callable[..., Job]) -> None:
    keepers = {"runner": os.getpid(), "server": server.pid, "supervisor": slot.pid}
    ended = await slot.run(job("reaches_out", keepers))
    assert ended.result == dict.fromkeys(ended.result, False)
    assert len(ended.result) == 6
    assert server.report.guard


async def test_the_guard_can_be_left_off(slot: Slot, job: Callable[..., Job]) -> None:
    ended = await slot.run(job("reaches_out", {"runner": os.getpid()}, guard=False))
    assert ended.result["runner signal"] is True


@needs_landlock
async def test_each_job_of_a_slot_has_the_rights_that_it_asks_for(
    slot: Slot, job: Callable[..., Job], tmp_path: Path
) -> None:
    outside = str(tmp_path / "outside")
    for _ in range(2):  # what the last job was like is what the next one's process is prepared for
        assert (await slot.run(job("reaches_out", {"runner": os.getpid()}))).result["runner signal"] is False
        ended = await slot.run(job("reaches_out", {"runner": os.getpid()}, guard=False))
        assert (ended.kind, ended.result["runner signal"]) == ("returned", True)
        assert (await slot.run(job("reaches_out", {"runner": os.getpid()}))).result["runner signal"] is False
        assert (await slot.run(job("writes_to", [outside]))).result == {outside: True}
        os.unlink(outside)
        assert (await slot.run(job("writes_to", [outside], confine=[]))).result == {outside: False}


@needs_landlock
async def test_a_confined_job_writes_only_where_it_may(slot: Slot, job: Callable[..., Job], tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "existing").write_text("as it was")
    home = tmp_path / "home"
    allowed = [str(inside / "a"), str(home / "b"), str(home / ".tmp" / "c"), "/dev/null"]
    forbidden = [str(outside / "new"), str(outside / "existing")]
    work = job("writes_to", [*allowed, *forbidden], confine=[inside], home=home, cwd=inside)
    assert (await slot.run(work)).result == {**dict.fromkeys(allowed, True), **dict.fromkeys(forbidden, False)}
    assert (outside / "existing").read_text() == "as it was"
    free = msgspec.structs.replace(work, confine=None)
    assert (await slot.run(free)).result == dict.fromkeys([*allowed, *forbidden], True)


@needs_landlock
async def test_no_program_that_a_job_starts_can_become_root(slot: Slot, job: Callable[..., Job]) -> None:
    assert (await slot.run(job("needs_privileges"))).result == "1"


async def test_a_job_dumps_no_core_and_an_ordinary_user_has_a_bound_on_processes(
    slot: Slot, job: Callable[..., Job]
) -> None:
    core, processes = (await slot.run(job("limits"))).result
    assert core == 0
    assert (processes == resource.getrlimit(resource.RLIMIT_NPROC)[0]) == (os.geteuid() == 0)
