"""The process that is forked ahead of the next job: one that is harmed costs no job, and none outlives its slot."""

from __future__ import annotations

import errno
import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import psutil
import pytest
from tests.isolation.conftest import gone

from passhat.isolation import ForkServer, Job, Slot
from passhat.isolation._child import Surroundings
from passhat.isolation._contract import JobOrder
from passhat.isolation._launching import Begun, Launcher, pipes
from passhat.isolation._owner import Owner
from passhat.isolation._snapshot import ModuleKinds, Snapshot
from passhat.isolation._spare import Spare
from passhat.isolation._supervisor import Supervisor
from passhat.isolation._tree import SubreaperTree


def children(slot: Slot) -> list[int]:
    return [child.pid for child in psutil.Process(slot.pid).children(recursive=True)]


def spare_of(slot: Slot) -> int:
    """The slot's spare, once it is there: it is forked after the last answer."""
    while not (found := children(slot)):
        os.sched_yield()
    (pid,) = found
    return pid


@pytest.mark.asyncio(loop_scope="module")
class TestOfASlot:
    async def test_the_next_job_becomes_it(self, slot: Slot, job: Callable[..., Job]) -> None:
        for _ in range(3):
            ahead = spare_of(slot)
            seen = (await slot.run(job("about"))).result
            assert (seen["pid"], seen["parent"], seen["session"]) == (ahead, slot.pid, ahead)

    async def test_none_is_there_while_a_job_runs(self, slot: Slot, job: Callable[..., Job]) -> None:
        await slot.run(job("echo"))
        seen: list[tuple[list[int], list[int]]] = []

        def look(event: bytes) -> None:
            seen.append((msgspec.json.decode(event), children(slot)))
            slot.cancel("seen")

        assert (await slot.run(job("says_its_pid_and_stays"), look)).kind == "cancelled"
        ((told, below),) = seen
        assert below == told

    async def test_a_dead_one_is_replaced(self, slot: Slot, job: Callable[..., Job]) -> None:
        ahead = spare_of(slot)
        os.kill(ahead, signal.SIGKILL)
        while psutil.Process(ahead).status() != psutil.STATUS_ZOMBIE:
            os.sched_yield()
        ended = await slot.run(job("about"))
        assert (ended.kind, ended.containment, ended.notes) == ("returned", "proved", ())
        assert ended.result["pid"] != ahead

    async def test_one_that_is_being_killed_is_replaced(self, slot: Slot, job: Callable[..., Job]) -> None:
        for number in range(20):  # the supervisor sees some of them dead before, some after it hands the order over
            os.kill(spare_of(slot), signal.SIGKILL)
            ended = await slot.run(job("echo", number))
            assert (ended.kind, ended.result) == ("returned", number)

    async def test_a_stopped_one_goes_on(self, slot: Slot, job: Callable[..., Job]) -> None:
        ahead = spare_of(slot)
        os.kill(ahead, signal.SIGSTOP)
        ended = await slot.run(job("about"))
        assert (ended.kind, ended.result["pid"]) == ("returned", ahead)

    async def test_it_takes_an_order_of_any_size(self, slot: Slot, job: Callable[..., Job]) -> None:
        order = "é" * 2_000_000
        ended = await slot.run(job("echo", order))
        assert ended.result == order
        assert (await slot.run(job("echo", "short"))).result == "short"

    async def test_nothing_of_the_last_job_is_in_the_environment_of_the_next(
        self, slot: Slot, job: Callable[..., Job]
    ) -> None:
        first = {"PATH": "/bin", "ONLY_ONCE": "1", "CHANGES": "1", "TZ": "Asia/Tokyo"}
        assert (await slot.run(job("about", environ=first))).result["time_zone"] == "JST"
        second = {"PATH": "/bin", "CHANGES": "2", "TZ": "UTC"}
        seen = (await slot.run(job("about", environ=second))).result
        assert seen["time_zone"] == "UTC"
        assert "ONLY_ONCE" not in seen["environ"]
        assert seen["environ"]["CHANGES"] == "2"

    async def test_no_directory_of_a_job_is_there_before_its_order(self, slot: Slot, job: Callable[..., Job]) -> None:
        for _ in range(2):
            home = Path((await slot.run(job("about"))).result["environ"]["HOME"])
            spare_of(slot)
            assert not any(name.startswith("job-") for name in os.listdir(home.parents[1]))

    async def test_it_goes_with_its_slot(self, server: ForkServer, job: Callable[..., Job]) -> None:
        slot = await server.slot()
        await slot.run(job("echo"))
        ahead = spare_of(slot)
        await slot.close()
        assert gone([ahead]) == []

    async def test_it_goes_with_its_supervisor(self, server: ForkServer) -> None:
        slot = await server.slot()
        ahead = spare_of(slot)
        slot.kill()
        assert gone([ahead]) == []
        await slot.close()


class NeverBegins(Launcher):
    """Starts processes that end at once, and says of them whether they have taken their order."""

    def __init__(self, took: bool) -> None:
        self.took = took
        self.begun = 0

    def __call__(self, order: bytes, place: str) -> Begun:
        self.begun += 1
        readers, writers = pipes()
        writers.close()
        pid = os.fork()
        if pid == 0:
            os._exit(3)
        return Begun(pid, readers, b"")

    def took_order(self) -> bool:
        return self.took


@pytest.fixture
def supervisor() -> Iterator[Callable[[Launcher], Supervisor]]:
    runner, ours = socket.socketpair()
    wakeup, wake = os.pipe()
    os.set_blocking(wakeup, False)
    os.write(wake, b"1")
    tree = SubreaperTree(wakeup)
    owner = Owner(ours)
    yield lambda launch: Supervisor(owner, tree, wakeup, launch, "")
    owner.close()
    runner.close()
    os.close(wakeup)
    os.close(wake)


@pytest.mark.parametrize(("took", "begun"), [(False, 2), (True, 1)])
def test_a_job_whose_process_never_took_its_order_is_begun_again_once(
    supervisor: Callable[[Launcher], Supervisor], took: bool, begun: int
) -> None:
    launch = NeverBegins(took)
    ended = supervisor(launch)._run(msgspec.json.encode(JobOrder.of(Job(entry="a:b"))))
    assert (ended.kind, ended.exit_code, launch.begun) == ("exited", 3, begun)


def test_one_that_cannot_be_forked_leaves_no_descriptor(monkeypatch: pytest.MonkeyPatch) -> None:
    def fork() -> int:
        raise BlockingIOError(errno.EAGAIN, "too many processes")

    monkeypatch.setattr(os, "fork", fork)
    before = os.listdir("/proc/self/fd")
    with pytest.raises(BlockingIOError):
        Spare(Surroundings(Snapshot(), ModuleKinds()))
    assert os.listdir("/proc/self/fd") == before
