"""The directories of jobs that name none, and what a supervisor keeps open for a job that is over."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from passhat.isolation import ForkServer, Job, ServerSpec, Slot


def scratch_of(server: ForkServer) -> Path:
    assert server._scratch is not None
    return Path(server._scratch)


@pytest.mark.asyncio
@pytest.mark.parametrize("mode", ["fork", "spawn"])
@pytest.mark.parametrize("instead", ["nothing", "a file", "a folder that can't be written"])
async def test_directories_that_a_trial_took_away_are_made_elsewhere_and_removed(
    spec: Callable[..., ServerSpec], job: Callable[..., Job], mode: str, instead: str
) -> None:
    async with ForkServer(spec(mode=mode)) as server:
        slot = await server.slot()
        scratch = scratch_of(server)
        first = (await slot.run(job("about"))).result
        assert Path(first["cwd"]).is_relative_to(scratch)
        shutil.rmtree(scratch)
        if instead == "a file":
            scratch.touch()
        elif instead != "nothing":
            scratch.symlink_to("/proc/self")
        ended = await slot.run(job("about"))
        assert ended.kind == "returned", ended.reason
        second = await slot.run(job("about"))
        places = [Path(each.result["cwd"]).parent for each in (ended, second)]
        assert places[0].parent == places[1].parent != scratch
        assert places[0].parent.parent == scratch.parent
        assert len({first["cwd"], *places}) == 3
    assert not places[0].parent.exists()
    scratch.unlink(missing_ok=True)


@pytest.mark.asyncio(loop_scope="module")
async def test_what_the_directories_are_called_can_not_be_foreseen(slot: Slot, job: Callable[..., Job]) -> None:
    names = [Path((await slot.run(job("about"))).result["cwd"]).parent.name for _ in range(3)]
    assert all(len(name) == 8 for name in names)  # 48 random bits
    assert len({name[:4] for name in names}) == len({name[4:] for name in names}) == 3


def descriptors(pid: int) -> list[str]:
    """What a process has open now, each with its number in its file system."""
    found = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            place = f"/proc/{pid}/fd/{name}"
            found.append(f"{os.readlink(place)} {os.stat(place).st_ino}")
    return found


@pytest.mark.asyncio(loop_scope="module")
async def test_a_supervisor_keeps_nothing_open_for_jobs_that_are_over(slot: Slot, job: Callable[..., Job]) -> None:
    seen: list[list[str]] = []
    for _ in range(20):
        await slot.run(job("echo"))
        seen.append(descriptors(slot.pid))
    own = set(seen[0])
    lasting = {each for early, late in zip(seen, seen[6:], strict=False) for each in {*early} & {*late} - own}
    assert {each for each in lasting if each.startswith(("pipe:", "socket:", "/"))} == set()
    assert min(map(len, seen[10:])) <= max(map(len, seen[:4])), seen  # those of a spare come and go


@pytest.mark.asyncio
@pytest.mark.parametrize("mode", ["fork", "spawn"])
async def test_a_temporary_directory_that_is_full_or_gone_is_not_replaced_by_everybodys(
    spec: Callable[..., ServerSpec], job: Callable[..., Job], mode: str
) -> None:
    async with ForkServer(spec(mode=mode)) as server:
        ended = await (await server.slot()).run(job("loses_its_temporary_directory"))
    used, own = ended.result
    assert used == own
