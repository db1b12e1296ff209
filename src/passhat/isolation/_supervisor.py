"""The supervisor of one slot: takes one job after another, each in processes that are gone before it answers."""

from __future__ import annotations

import contextlib
import gc
import os
import secrets
import signal
import sys
import tempfile
import time
from types import FrameType
from typing import NoReturn

import msgspec

from passhat.facts import ErrorInfo
from passhat.isolation import _child, _fresh
from passhat.isolation._contract import Ended, JobOrder
from passhat.isolation._environ import make_place
from passhat.isolation._frames import Kind
from passhat.isolation._launching import Begun, Launcher, pipes
from passhat.isolation._owner import Owner
from passhat.isolation._processors import take_processors
from passhat.isolation._removal import remove_tree
from passhat.isolation._running_job import RunningJob, Tree
from passhat.isolation._tree import drain

_COLLECT_EVERY = 100
_NOTHING = msgspec.Raw(b"null")


class Supervisor:
    """Serves jobs until its owner is gone. Single-threaded; imports none of the user's code."""

    def __init__(self, owner: Owner, tree: Tree, wakeup: int, launch: Launcher, scratch: str) -> None:
        self._owner = owner
        self._tree = tree
        self._wakeup = wakeup
        self._launch = launch
        self._scratch = os.path.realpath(scratch or tempfile.gettempdir())
        self._like: JobOrder | None = None  # the last order, without what it was about
        self._place = self._new_place()
        self._moved: list[str] = []

    def serve(self) -> None:
        """Answer jobs one at a time. Returns when the owner is gone, or when a process could not be killed."""
        try:
            self._serve()
        finally:
            for scratch in self._moved:
                from passhat.isolation._leftovers import remove_scratch

                with contextlib.suppress(OSError):
                    remove_scratch(scratch)

    def _serve(self) -> None:
        count = 0
        self._launch.ahead(self._like, self._place)
        while (message := self._owner.next()) is not None:
            kind, body = message
            if kind is not Kind.JOB:
                continue  # a cancellation that came too late
            del message
            ended = self._run(body)
            self._owner.send(Kind.ENDED, msgspec.json.encode(ended))
            self._owner.flush()
            if ended.survivors:
                return
            del body, ended
            count += 1
            if count % _COLLECT_EVERY == 0:
                gc.collect()
            self._place = self._new_place()
            self._launch.ahead(self._like, self._place)

    def _new_place(self) -> str:
        """A path for the directories of the next job, which are made when it comes if it names none."""
        return os.path.join(self._scratch, secrets.token_urlsafe(6))

    def _make_place(self) -> None:
        """Directories for a job that names none; elsewhere when a trial has taken away where they were to be."""
        try:
            make_place(self._place)
        except OSError:
            from passhat.isolation._leftovers import make_scratch

            tempfile.tempdir = os.path.dirname(self._scratch)
            self._scratch = os.path.realpath(make_scratch())
            self._moved.append(self._scratch)
            self._place = self._new_place()
            self._launch.close()  # the process that was forked ahead knows the other place
            make_place(self._place)

    def _run(self, body: bytes) -> Ended:
        """Run the job of a message. Its process is told first: what else there is to do, is done meanwhile."""
        placed = self._like is None or not self._like.names_places  # as a rule this job is like the last one
        try:
            if placed:
                self._make_place()
            ended = self._once(body)
            if ended.kind in ("signalled", "exited") and not self._launch.took_order():
                self._launch.ahead(self._like, self._place)
                ended = self._once(body)  # nobody has seen the order: that was no end of a job
            return ended
        except Exception as error:  # also what isn't an OSError: a job must not be able to end its supervisor
            survivors = self._tree.kill_all()
            return Ended(
                kind="lost" if survivors else "raised",
                error=ErrorInfo("setup", str(error), type(error).__name__),
                containment="failed" if survivors else self._tree.containment,  # type: ignore[arg-type]
                survivors=survivors,
            )
        finally:
            if placed or (self._like is not None and not self._like.names_places):
                with contextlib.suppress(OSError):
                    remove_tree(self._place)

    def _once(self, body: bytes) -> Ended:
        drain(self._wakeup)
        at = time.monotonic()
        begun = self._launch(body, self._place)
        try:
            self._tree.reset(begun.pid)
            order = msgspec.json.decode(body, type=JobOrder)
            self._like = msgspec.structs.replace(order, payload=_NOTHING)
            job = RunningJob(order, begun, at, tree=self._tree, owner=self._owner, wakeup=self._wakeup)
        except BaseException:
            begun.readers.close()
            raise
        return job.run()


class Spawning(Launcher):
    """Starts each job as a fresh interpreter."""

    def __init__(self, surroundings: _child.Surroundings) -> None:
        self._surroundings = surroundings
        self._sealed = _fresh.sealed_file(surroundings.snapshot.dump())

    def __call__(self, order: bytes, place: str) -> Begun:
        take_processors(self._surroundings.processors)
        token = secrets.token_bytes(8)
        given = msgspec.json.decode(order, type=JobOrder).placed(place)
        return self._begin(msgspec.structs.replace(given, token=token))

    def _begin(self, order: JobOrder) -> Begun:
        parent = os.getpid()
        _child.make_places(order)
        bundle = _fresh.sealed_file(msgspec.json.encode(order))
        readers, writers = pipes()
        try:
            pid = os.fork()
            if pid == 0:
                _fresh.become_interpreter(order, writers, parent, self._surroundings, bundle, self._sealed)
            return Begun(pid, readers, order.token)
        except OSError:
            readers.close()
            raise
        finally:
            writers.close()
            os.close(bundle)


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
