"""A job sets limits and priorities of its own processes only, and its programs set their own as they always did."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import struct
from collections.abc import Callable
from typing import Any

import pytest
from tests.isolation.entries import isolation_limits

from passhat.isolation import ForkServer, Job, ServerSpec, Slot, _descriptors, _linux, _seccomp, capabilities
from passhat.isolation._tree import children_of

needs_seccomp = pytest.mark.skipif(not capabilities().seccomp, reason="this kernel takes no seccomp filter")
REFUSED = dict.fromkeys(isolation_limits.WAYS, "EPERM")
DONE = dict.fromkeys(isolation_limits.WAYS, "done")
CHILD_PROGRAMS = {
    "ulimit": ["sh", "-c", "ulimit -n 50; ulimit -n"],
    "prlimit": ["prlimit", "--nofile=50", "sh", "-c", "ulimit -n"],
    "taskset": ["taskset", "1", "echo", "ran"],
    "nice": ["nice", "-n", "5", "echo", "ran"],
    "ionice": ["ionice", "-c", "3", "echo", "ran"],
    "chrt": ["chrt", "--batch", "0", "echo", "ran"],
}
SAID = {"ulimit": "50", "prlimit": "50", **dict.fromkeys(("taskset", "nice", "ionice", "chrt"), "ran")}


@needs_seccomp
@pytest.mark.asyncio(loop_scope="module")
class TestAJob:
    async def test_sets_nothing_for_those_who_run_it(
        self, server: ForkServer, slot: Slot, job: Callable[..., Job]
    ) -> None:
        other = await server.slot()
        keepers = {"runner": os.getpid(), "server": server.pid, "supervisor": slot.pid, "neighbour": other.pid}
        ended = await slot.run(job("isolation_limits:sets", keepers))
        assert ended.result == dict.fromkeys(keepers, REFUSED)
        await other.close()
        assert server.report.seccomp

    async def test_sets_what_it_likes_for_itself(self, slot: Slot, job: Callable[..., Job]) -> None:
        ended = await slot.run(job("isolation_limits:sets", {"0": 0, "its pid": -1}))
        assert ended.result == {"0": DONE, "its pid": DONE}

    async def test_passes_that_on_to_all_that_it_starts(self, slot: Slot, job: Callable[..., Job]) -> None:
        ended = await slot.run(job("isolation_limits:sets_from_below", os.getpid()))
        assert json.loads(ended.result) == {"pid": REFUSED}

    async def test_reads_limits_and_processors_of_others(self, slot: Slot, job: Callable[..., Job]) -> None:
        ended = await slot.run(job("isolation_limits:reads", slot.pid))
        assert ended.result == [list(resource.prlimit(slot.pid, resource.RLIMIT_NOFILE)), True]

    async def test_binds_its_threads_to_processors(self, slot: Slot, job: Callable[..., Job]) -> None:
        assert (await slot.run(job("isolation_limits:binds_its_threads"))).result == [True, True, True]

    async def test_sets_nothing_for_all_processes_of_its_user(self, slot: Slot, job: Callable[..., Job]) -> None:
        assert (await slot.run(job("isolation_limits:all_of_a_user"))).result == ["EPERM", "EPERM"]

    async def test_finds_no_other_door(self, slot: Slot, job: Callable[..., Job]) -> None:
        told = (await slot.run(job("isolation_limits:by_other_doors", slot.pid))).result
        assert told.pop("advice to oneself") != "EPERM"
        assert told == dict.fromkeys(told, "EPERM")

    async def test_programs_set_their_own_limits_as_ever(self, slot: Slot, job: Callable[..., Job]) -> None:
        programs = {name: words for name, words in CHILD_PROGRAMS.items() if shutil.which(words[0])}
        told = (await slot.run(job("isolation_limits:sets_its_own", programs))).result
        assert told.pop("psutil") == ["done", "done", "done"]
        assert told.pop("now") == [200, 300]
        assert told.pop("preexec_fn") == "60"
        assert told == {name: SAID[name] for name in programs}

    async def test_a_childs_limits_are_the_childs_to_set(self, slot: Slot, job: Callable[..., Job]) -> None:
        assert (await slot.run(job("isolation_limits:sets_its_childs"))).result == "EPERM"


@needs_seccomp
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("mode", ["spawn", "portable"])
async def test_so_it_is_in_every_mode(spec: Callable[..., ServerSpec], job: Callable[..., Job], mode: str) -> None:
    async with ForkServer(spec(mode=mode)) as server:
        slot = await server.slot()
        ended = await slot.run(job("isolation_limits:sets", {"supervisor": slot.pid, "its pid": -1}))
    assert ended.result == {"supervisor": REFUSED, "its pid": DONE}
    assert server.report.seccomp


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("mode", ["auto", "spawn", "portable"])
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one processor")
async def test_each_job_has_all_processors_whatever_an_earlier_one_bound(
    spec: Callable[..., ServerSpec], job: Callable[..., Job], mode: str
) -> None:
    async with ForkServer(spec(mode=mode)) as server:
        slots = [await server.slot(), await server.slot()]
        await slots[1].run(job("echo"))
        keepers = [pid for pid in (server.pid, *(slot.pid for slot in slots)) if pid is not None]
        told = []
        for at in (0, 0, 1, 2):
            slots += [await server.slot()] if at == len(slots) else []
            spares = [pid for slot in slots if slot is not slots[at] for pid in children_of(slot.pid)]
            ended = await slots[at].run(job("isolation_limits:binds", [*keepers, *spares]))
            had, bound = ended.result
            assert bound > len(keepers)
            told.append(had)
    assert told == [len(os.sched_getaffinity(0))] * 4


@pytest.mark.asyncio(loop_scope="module")
async def test_jobs_have_the_limit_on_files_that_their_runner_had_also_within_a_trial(
    spec: Callable[..., ServerSpec], job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*words: Any) -> None:
        raise PermissionError("as in a trial")

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    monkeypatch.setattr(_descriptors, "_before", [(777, hard)])
    monkeypatch.setattr(resource, "prlimit", refused)
    async with ForkServer(spec()) as server:
        ended = await (await server.slot()).run(job("isolation_limits:reads", 0))
    assert ended.result == [[777, hard], True]


# ---- the program, on both machines


class Read(Exception):
    """More was looked at than the architecture and the number."""


def verdict(machine: str, architecture: int, number: int, *words: int, constant: bool = False) -> str:
    """What the kernel's packet filter machine makes of a call; first process of the trial: 1000."""
    code, pid_at = _seccomp._assembled(_seccomp._source(_seccomp._MACHINES[machine].calls))
    code = code[:pid_at] + struct.pack("<I", 1000) + code[pid_at + 4 :]
    shown = struct.pack(
        "<iIQ6Q", struct.unpack("<i", struct.pack("<I", number))[0], architecture, 0, *words, *(6 - len(words)) * (0,)
    )
    here = held = 0
    while True:
        what, equal, other, value = struct.unpack_from("<HBBI", code, 8 * here)
        here += 1
        if what == 0x20:  # load a word
            if constant and value > 4:
                raise Read
            (held,) = struct.unpack_from("<I", shown, value)
        elif what == 0x54:  # and
            held &= value
        elif what == 0x05:  # jump
            here += value
        elif what == 0x15:  # equal?
            here += equal if held == value else other
        else:
            assert what == 0x06, f"unknown instruction {what:#x}"
            return {0x7FFF0000: "allow", 0x00050000 | errno.EPERM: "refuse"}[value]


# numbers by the kernel's tables: prlimit64, the three by pid, setpriority, ioprio_set
TABLES: dict[tuple[str, int], tuple[int, tuple[int, int, int], int, int]] = {
    ("x86_64", 0xC000003E): (302, (142, 144, 314), 141, 251),
    ("x86_64", 0x40000003): (340, (154, 156, 351), 97, 289),
    ("aarch64", 0xC00000B7): (261, (118, 119, 274), 140, 30),
    ("aarch64", 0x40000028): (369, (154, 156, 380), 97, 314),
}


@pytest.mark.parametrize(("machine", "architecture"), TABLES)
def test_the_filter_refuses_what_is_meant_for_others_and_nothing_else(machine: str, architecture: int) -> None:
    prlimit, by_pid, setpriority, ioprio_set = TABLES[machine, architecture]

    def says(number: int, *words: int) -> str:
        return verdict(machine, architecture, number, *words)

    for pid, said in ((0, "allow"), (1000, "allow"), (1, "refuse"), (1001, "refuse"), (0xFFFFFFFF, "refuse")):
        for new in (1, 1 << 32, 0x7FFF12345678):
            assert says(prlimit, pid, 7, new) == said
        assert says(prlimit, pid, 7, 0, 0x7FFF12345678) == "allow"  # only reads
        for high in (0, 1 << 32):  # the kernel looks at the lower half of a pid
            assert [says(number, high | pid) for number in by_pid] == [said] * 3
            assert [says(setpriority, which, high | pid) for which in (0, 1, 2)] == [said, said, "refuse"]
            assert [says(ioprio_set, which, high | pid) for which in (1, 2, 3)] == [said, said, "refuse"]
    assert [says(440, fd & (1 << 64) - 1) for fd in (-10_000, -10_001, 3, -1)] == ["allow", "allow", "refuse", "refuse"]


@pytest.mark.parametrize(("machine", "architecture"), TABLES)
def test_all_other_calls_are_allowed_by_their_number_alone(machine: str, architecture: int) -> None:
    prlimit, by_pid, setpriority, ioprio_set = TABLES[machine, architecture]
    read = set()
    for number in range(512):
        try:
            assert verdict(machine, architecture, number, constant=True) == "allow"
        except Read:
            read.add(number)
    assert read == {prlimit, *by_pid, setpriority, ioprio_set, 440}


def test_x32_calls_are_judged_like_x86_64_calls_and_unknown_architectures_allowed() -> None:
    assert verdict("x86_64", 0xC000003E, 0x40000000 | 302, 1, 7, 1) == "refuse"
    assert verdict("x86_64", 0xC000003E, 0x40000000 | 1, 1) == "allow"
    assert verdict("x86_64", 0xDEAD, 302, 1, 7, 1) == "allow"


def test_a_machine_without_filters_is_said_to_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = {"ENOSYS": errno.ENOSYS, "EINVAL": errno.EINVAL}
    for name, number in refused.items():

        def syscall(*words: Any, what: str, number: int = number) -> int:
            raise OSError(number, what)

        monkeypatch.setattr(_linux, "syscall", syscall)
        assert _seccomp._filter.__wrapped__() is None, name
    monkeypatch.setattr(_seccomp, "_filter", lambda: None)
    _seccomp.keep_to_itself()  # does nothing: this test's process sets limits afterwards
    assert not _seccomp.filter_available()
