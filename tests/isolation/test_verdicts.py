"""What a job says after its supervisor has decided to end it: nothing of that counts."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from passhat.isolation import Job, ProcessLimits, _running_job
from passhat.isolation._contract import Ended, JobOrder
from passhat.isolation._frames import Framing, Kind
from passhat.isolation._launching import Begun, pipes
from passhat.isolation._owner import Owner
from passhat.isolation._running_job import RunningJob

PHASES = (("act", 0.0), ("close", 60.0))


class SlowToDie:
    """A tree whose first process still writes to its channel while the tree is being killed."""

    containment = "proved"

    def __init__(self) -> None:
        self.status: int | None = None
        self.cpu = 0.0
        self.largest = 0
        self.reaped = 0
        self.alive = True
        self.count = 1
        self.channel = -1
        self.first_words = b""
        self.last_words = b""
        self.framing = Framing()

    def launch(self) -> Begun:
        self.framing = Framing(b"12345678")
        readers, writers = pipes()
        self.channel = writers.channel
        self.write(self.first_words)
        os.close(writers.stdout)
        os.close(writers.stderr)
        return Begun(1, readers, b"12345678")

    def says(self, *messages: tuple[Kind, bytes]) -> bytes:
        return b"".join(bytes([kind]) + len(body).to_bytes(2, "big") + body for kind, body in messages)

    def write(self, words: bytes) -> None:
        while words:
            size = int.from_bytes(words[1:3], "big")
            os.write(self.channel, self.framing.pack(Kind(words[0]), words[3 : 3 + size]))
            words = words[3 + size :]

    def reset(self, root: int) -> None:
        pass

    def reap(self) -> bool:
        return not self.alive

    def members(self) -> list[int]:
        return [1] * self.count

    def memory(self, members: list[int]) -> int:
        return 0

    def kill_all(self, within: float = 10.0) -> tuple[int, ...]:
        self.write(self.last_words)
        os.close(self.channel)
        self.alive, self.status = False, 9
        return ()


class Stand:
    """A supervisor's surroundings without a process."""

    def __init__(self) -> None:
        self.runner, ours = socket.socketpair()
        self.runner.setblocking(False)
        self.owner = Owner(ours)
        self.wakeup, self.wake = os.pipe()
        os.set_blocking(self.wakeup, False)
        self.tree = SlowToDie()

    def run(self, phases: tuple[tuple[str, float], ...] = PHASES, limits: ProcessLimits | None = None) -> Ended:
        job = Job(entry="a:b", phases=phases, limits=limits or ProcessLimits())
        at, begun = time.monotonic(), self.tree.launch()
        return RunningJob(JobOrder.of(job), begun, at, tree=self.tree, owner=self.owner, wakeup=self.wakeup).run()

    def heard(self) -> list[tuple[Kind, bytes]]:
        self.owner.push()
        try:
            return list(Framing().feed(self.runner.recv(1 << 16)))
        except BlockingIOError:
            return []

    def close(self) -> None:
        self.owner.close()
        self.runner.close()
        os.close(self.wakeup)
        os.close(self.wake)


@pytest.fixture
def stand() -> Iterator[Stand]:
    stand = Stand()
    yield stand
    stand.close()


LAST_WORDS = ((Kind.EVENT, b'"done"'), (Kind.PHASE, b"close"), (Kind.RESULT, b"1"))


def cancelled(stand: Stand) -> Ended:
    stand.runner.send(Framing().pack(Kind.CANCEL, b"enough"))
    return stand.run((("act", 60.0), ("close", 60.0)))


def over_the_limit(stand: Stand) -> Ended:
    stand.tree.count = 3
    return stand.run((("act", 60.0), ("close", 60.0)), ProcessLimits(processes=2))


@pytest.mark.parametrize(("end", "kind"), [(Stand.run, "timeout"), (over_the_limit, "limit"), (cancelled, "cancelled")])
def test_what_a_job_says_while_it_is_killed_does_not_count(
    stand: Stand, end: Callable[[Stand], Ended], kind: str
) -> None:
    stand.tree.last_words = stand.tree.says(*LAST_WORDS)
    ended = end(stand)
    assert (ended.kind, ended.phase, set(ended.phases)) == (kind, "act", {"act"})
    assert stand.heard() == [(Kind.STOPPING, b"")]


def test_what_is_said_in_the_message_that_breaks_the_limit_on_output_does_not_count(stand: Stand) -> None:
    stand.tree.first_words = stand.tree.says(*LAST_WORDS)
    ended = stand.run((("act", 60.0), ("close", 60.0)), ProcessLimits(output_bytes=30))
    assert (ended.kind, ended.limit, ended.phase) == ("limit", "output", "act")
    assert stand.heard() == [(Kind.STOPPING, b"")]


def test_what_a_job_said_in_time_counts_whatever_ends_it_afterwards(stand: Stand) -> None:
    stand.tree.first_words = stand.tree.says((Kind.EVENT, b'"done"'), (Kind.PHASE, b"close"))
    ended = stand.run((("act", 60.0), ("close", 0.0)))
    assert (ended.kind, ended.phase) == ("timeout", "close")
    assert stand.heard() == [(Kind.EVENT, b'"done"'), (Kind.STOPPING, b"")]


def test_a_phase_that_is_asked_for_after_the_result_buys_no_time(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_running_job, "_EXIT_GRACE", 0.0)
    stand.tree.first_words = stand.tree.says((Kind.RESULT, b"1"), (Kind.PHASE, b"close"))
    ended = stand.run((("act", 60.0), ("close", 3600.0)))
    assert (ended.kind, ended.phase) == ("returned", "act")
    assert (Kind.RESULT, b"1") in stand.heard()


def test_a_fault_of_ours_in_following_a_job_ends_that_job_as_its_own(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> list[int]:
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr(stand.tree, "members", fails)
    ended = stand.run((("act", 60.0), ("close", 60.0)))
    assert (ended.kind, ended.phase, ended.containment) == ("exited", "act", "proved")
    assert ended.reason == "exited: its supervisor could not follow it: ZeroDivisionError: of ours"
