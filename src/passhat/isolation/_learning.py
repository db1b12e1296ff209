"""Jobs rehearsed by the server before the first real one, to learn which memory such jobs touch; see `_pages`.

A fork of the server plays a supervisor. The rehearsal is passhat's own code: nothing of the user's takes part in it.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import secrets
import select
import signal
import socket
import tempfile
from typing import Any

import msgspec

from passhat.isolation import _child, _linux, _pages
from passhat.isolation._contract import Channel, Job, JobOrder
from passhat.isolation._frames import BadFrame, Framing, Kind
from passhat.isolation._owner import Owner
from passhat.isolation._removal import remove_tree
from passhat.isolation._snapshot import Snapshot, UserModule
from passhat.isolation._spare import Forking, Spare
from passhat.isolation._supervisor import Supervisor, leave, wakeup_on_child
from passhat.isolation._tree import SubreaperTree

_PATIENCE = 10.0  # seconds between two words of a rehearsal
_WHOLE_PATIENCE = 30.0
_ROUNDS = 2
_OVER = b'"rehearsed"'


class Rehearsal(msgspec.Struct, frozen=True, kw_only=True):
    """What a server's ``warm_up`` gives back: jobs like those to come, the user's module that they run, and the
    directory they need."""

    jobs: tuple[Job, ...]
    user: UserModule
    place: str


def warm_up(name: str, scratch: str) -> Rehearsal:
    """Call ``name`` ("module:function") with a new directory, which is its own until `learn` has removed it."""
    module, _, function = name.partition(":")
    place = tempfile.mkdtemp(prefix="warm-up-", dir=scratch or None)
    rehearsal: Rehearsal = getattr(importlib.import_module(module), function)(place)
    return rehearsal


def learn(rehearsal: Rehearsal, known: _child.Surroundings, tree: SubreaperTree) -> None:
    """Add to ``known`` what jobs touch. Nothing is added when that can't be learned: jobs then cost more.

    ``tree`` is that of this process, which has no other child.
    """
    reader, writer = os.pipe2(os.O_CLOEXEC)
    parent = os.getpid()
    if os.fork() == 0:
        try:
            _linux.die_with_parent(parent, signal.SIGKILL)
            stage = _child.Surroundings(Snapshot([rehearsal.user]), known.kinds, known.overlay)
            with open(writer, "wb") as out:
                out.write(msgspec.json.encode(_Understudy(rehearsal, stage).learned()))
        finally:
            leave(0)
    os.close(writer)
    told = _all_of(reader)
    tree.kill_all()
    with contextlib.suppress(msgspec.MsgspecError):
        learned = msgspec.json.decode(told, type=dict[str, _pages.Used])
        known.pages.update((entry, _pages.Pages(*used)) for entry, used in learned.items())
    with contextlib.suppress(OSError):
        remove_tree(rehearsal.place)


def _all_of(reader: int) -> bytes:
    """What comes until the end, or until nothing has come for long."""
    told = b""
    waiter = select.poll()
    waiter.register(reader, select.POLLIN)
    while waiter.poll(_WHOLE_PATIENCE * 1000) and (data := os.read(reader, 1 << 16)):
        told += data
    os.close(reader)
    return told


class _Understudy:
    """A supervisor that rehearses: it runs each job, then looks at what the same job takes."""

    def __init__(self, rehearsal: Rehearsal, stage: _child.Surroundings) -> None:
        self._jobs = rehearsal.jobs
        self._stage = stage
        signal.set_wakeup_fd(-1)
        wakeup = wakeup_on_child()
        _linux.become_subreaper()
        self._runner, ours = socket.socketpair()
        self._tree = SubreaperTree(wakeup)
        self._launch = Forking(stage, self._tree)
        self._supervisor = Supervisor(Owner(ours), self._tree, wakeup, self._launch, rehearsal.place)

    def learned(self) -> dict[str, _pages.Used]:
        """What each job touches, by its entry."""
        learned: dict[str, _pages.Used] = {}
        for job in self._jobs:
            with contextlib.suppress(OSError, BadFrame):
                order = JobOrder.of(job)
                for _ in range(_ROUNDS):
                    self._run(order)
                learned[job.entry] = self._of_a_job(job)
        return learned

    def _run(self, order: JobOrder) -> None:
        self._launch.ahead()
        self._supervisor.answer(msgspec.json.encode(order))
        self._runner.recv(1 << 20)

    def _of_a_job(self, job: Job) -> _pages.Used:
        payload = {"entry": job.entry, "payload": job.payload}
        played = msgspec.structs.replace(job, entry="passhat.isolation._learning:rehearse", payload=payload)
        order = msgspec.structs.replace(JobOrder.of(played), token=secrets.token_bytes(8))
        _child.make_places(order)
        _sleeper()
        spare = Spare(self._stage)
        try:
            if spare.hand_over(order) and _is_over(spare.readers.channel, Framing(order.token)):
                return _pages.used_by(spare.pid)
            return [], []
        finally:
            spare.readers.close()
            spare.close()
            self._tree.kill_all()


def _sleeper() -> int:
    """Fork a process that does nothing. It shares all memory that its parent and siblings don't write to: so what one
    of them has for itself is what it wrote."""
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            _linux.die_with_parent(parent, signal.SIGKILL)
            select.poll().poll()
        finally:
            os._exit(0)
    return pid


def _is_over(channel: int, framing: Framing) -> bool:
    """Wait for the end of the rehearsal; False when it fails, or says nothing for long."""
    waiter = select.poll()
    waiter.register(channel, select.POLLIN)
    while waiter.poll(_PATIENCE * 1000) and (data := os.read(channel, 1 << 16)):
        if (Kind.EVENT, _OVER) in framing.feed(data):
            return True
    return False


def rehearse(payload: Any, channel: Channel) -> None:
    """The entry of a rehearsal: live the life of a job, then wait to be looked at and killed."""
    module, _, function = payload["entry"].partition(":")
    getattr(importlib.import_module(module), function)(payload["payload"], channel)
    channel.emit("rehearsed")
    select.poll().poll()
