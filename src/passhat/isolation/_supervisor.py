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
from passhat.isolation._launching import Begun, Launcher, pipes
from passhat.isolation._owner import Owner
from passhat.isolation._removal import remove_tree
from passhat.isolation._running_job import RunningJob, Tree

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
        self._launch.ahead()
        while (message := self._owner.next()) is not None:
            kind, body = message
            if kind is not Kind.JOB:
                continue  # a cancellation that came too late
            del message
            if self.answer(body).survivors:
                return
            del body
            count += 1
            if count % _COLLECT_EVERY == 0:
                gc.collect()
            self._launch.ahead()

    def answer(self, body: bytes) -> Ended:
        """Run the job of a message and say how it ended."""
        ended = self._run(msgspec.json.decode(body, type=JobOrder))
        self._owner.send(Kind.ENDED, _encoded(ended))
        self._owner.flush()
        return ended

    def _run(self, order: JobOrder) -> Ended:
        try:
            with self._places(order) as placed:
                _child.make_places(placed)
                ended = self._once(placed)
                if ended.kind in ("signalled", "exited") and not self._launch.took_order():
                    ended = self._once(placed)  # it was killed while it waited, by whatever: that is no end of a job
                return ended
        except Exception as error:  # also what isn't an OSError: a job must not be able to end its supervisor
            survivors = self._tree.kill_all()
            return Ended(
                kind="lost" if survivors else "raised",
                error=ErrorInfo("setup", str(error), type(error).__name__),
                containment="failed" if survivors else self._tree.containment,  # type: ignore[arg-type]
                survivors=survivors,
            )

    def _once(self, order: JobOrder) -> Ended:
        owner, wakeup = self._owner, self._wakeup
        return RunningJob(order, tree=self._tree, owner=owner, wakeup=wakeup, launch=self._launch).run()

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


class Spawning(Launcher):
    """Starts each job as a fresh interpreter."""

    def __init__(self, surroundings: _child.Surroundings) -> None:
        self._surroundings = surroundings
        self._sealed = _fresh.sealed_file(surroundings.snapshot.dump())

    def __call__(self, order: JobOrder) -> Begun:
        parent = os.getpid()
        bundle = _fresh.sealed_file(msgspec.json.encode(order))
        readers, writers = pipes()
        try:
            pid = os.fork()
            if pid == 0:
                _fresh.become_interpreter(order, writers, parent, self._surroundings, bundle, self._sealed)
            return Begun(pid, readers)
        except OSError:
            readers.close()
            raise
        finally:
            writers.close()
            os.close(bundle)


def _encoded(ended: Ended) -> bytes:
    try:
        return msgspec.json.encode(ended)
    except Exception as error:
        why = ErrorInfo("exited", f"how it ended can't be told: {type(error).__name__}: {error!a}")
        told = Ended(kind="exited", phase=ended.phase, error=why, phases=ended.phases, containment=ended.containment)
        return msgspec.json.encode(msgspec.structs.replace(told, survivors=ended.survivors))


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
