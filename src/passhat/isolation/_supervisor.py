"""The supervisor of one slot: takes one job after another, each in processes that are gone before it answers."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

import msgspec

from passhat.facts import ErrorInfo
from passhat.isolation import _child, _fresh
from passhat.isolation._contract import Ended, JobOrder
from passhat.isolation._frames import Kind
from passhat.isolation._owner import Owner
from passhat.isolation._removal import remove_tree
from passhat.isolation._running_job import Ends, Launcher, RunningJob, Tree

_COLLECT_EVERY = 100


class Supervisor:
    """Serves jobs until its owner is gone. Single-threaded; imports none of the user's code."""

    def __init__(self, owner: Owner, tree: Tree, wakeup: int, launch: Launcher, scratch: str) -> None:
        self._owner = owner
        self._tree = tree
        self._wakeup = wakeup
        self._launch = launch
        self._scratch = os.path.realpath(scratch or tempfile.gettempdir())
        self._places_made = 0

    def serve(self) -> None:
        """Answer jobs one at a time. Returns when the owner is gone, or when a process could not be killed."""
        count = 0
        while (message := self._owner.next()) is not None:
            kind, body = message
            if kind is not Kind.JOB:
                continue  # a cancellation that came too late
            ended = self._run(msgspec.json.decode(body, type=JobOrder))
            del body, message
            self._owner.send(Kind.ENDED, msgspec.json.encode(ended))
            self._owner.flush()
            if ended.survivors:
                return
            count += 1
            if count % _COLLECT_EVERY == 0:
                gc.collect()

    def _run(self, order: JobOrder) -> Ended:
        try:
            with self._places(order) as placed:
                _child.make_places(placed)
                owner, wakeup = self._owner, self._wakeup
                return RunningJob(placed, tree=self._tree, owner=owner, wakeup=wakeup, launch=self._launch).run()
        except OSError as error:
            survivors = self._tree.kill_all()
            return Ended(
                kind="lost" if survivors else "raised",
                error=ErrorInfo("setup", str(error), type(error).__name__),
                containment="failed" if survivors else self._tree.containment,  # type: ignore[arg-type]
                survivors=survivors,
            )

    @contextlib.contextmanager
    def _places(self, order: JobOrder) -> Iterator[JobOrder]:
        """Empty directories for a job that names none, removed after it."""
        if order.home is not None and order.cwd is not None:
            yield order
            return
        self._places_made += 1
        place = os.path.join(self._scratch, f"job-{os.getpid()}-{self._places_made}")
        os.mkdir(place, mode=0o700)
        try:
            home = order.home or os.path.join(place, "home")
            cwd = order.cwd or os.path.join(place, "cwd")
            yield msgspec.structs.replace(order, home=home, cwd=cwd)
        finally:
            with contextlib.suppress(OSError):
                remove_tree(place)


def forking(surroundings: _child.Surroundings) -> Launcher:
    """Start a job as a fork of the supervisor."""

    def launch(order: JobOrder, ends: Ends) -> int:
        parent = os.getpid()
        _child.take_environ(surroundings.environ(order))
        pid = os.fork()
        if pid == 0:
            _child.become_job(order, ends, parent, surroundings)
        return pid

    return launch


def spawning(surroundings: _child.Surroundings) -> Launcher:
    """Start a job as a fresh interpreter."""
    sealed = _fresh.sealed_file(surroundings.snapshot.dump())

    def launch(order: JobOrder, ends: Ends) -> int:
        parent = os.getpid()
        bundle = _fresh.sealed_file(msgspec.json.encode(order))
        try:
            pid = os.fork()
            if pid == 0:
                _fresh.become_interpreter(order, ends, parent, surroundings, bundle, sealed)
            return pid
        finally:
            os.close(bundle)

    return launch


def wakeup_on_child() -> int:
    """A descriptor that becomes readable when a child has died."""
    reader, writer = os.pipe()
    for descriptor in (reader, writer):
        os.set_blocking(descriptor, False)
    signal.signal(signal.SIGCHLD, _nothing)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    return reader


def _nothing(number: int, frame: FrameType | None) -> None:
    """A handler must exist for the wake-up descriptor to be written."""


def leave(code: int) -> NoReturn:
    """End this process without the exit handlers of what its server imported."""
    with contextlib.suppress(Exception):
        sys.stderr.flush()
    os._exit(code)
