"""A spare: the next job's process, forked before its order comes.

Forking, and leaving what belongs to the supervisor, is a good part of what a small job costs. A supervisor does that
for its next job while it has nothing to do; when the order comes, it only has to be handed over.

A spare runs none of the user's code until then. It exists only while the supervisor has no job: it is forked when the
last job's tree is proved gone, and becomes the first process of the next one. So the proof stays what it is. It dies
with its supervisor, and can't be looked into by an ordinary user's processes. One that dies while it waits costs a
fork, not a job: whether it took its order is known.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import tempfile
from typing import NamedTuple, NoReturn

import msgspec

from passhat.isolation import _child, _entry
from passhat.isolation._contract import JobOrder
from passhat.isolation._launching import Begun, Ends, Launcher, pipes
from passhat.isolation._processors import take_processors
from passhat.isolation._tree import SubreaperTree

_TAKEN = b"\1"


def _nameless_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("passhat", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


class Spare:
    """A forked process that waits for its order. To be made and used by a process that has no other child.

    The order goes through a file without a name, whatever its size, so that nobody has to wait for a reader; a byte in
    a pipe says that it is there. The first byte of the file is the answer: that it was taken.
    """

    def __init__(self, surroundings: _child.Surroundings, like: JobOrder | None = None, place: str = "") -> None:
        """Fork it, for a job in ``place`` that is ``like`` the last one, if it turns out to be."""
        self.readers, writers = pipes()
        self.token = secrets.token_bytes(8)
        self._order = self._tell = told = -1
        parent = os.getpid()
        try:
            self._order = _nameless_file()
            told, self._tell = os.pipe2(os.O_CLOEXEC)
            self.pid = os.fork()
            if self.pid == 0:
                line = _Line(writers, self._order, told, self.token)
                _become_spare(line, parent, _child.ForkedStage(surroundings, place), like)
        except OSError:
            self.readers.close()
            self.close()
            raise
        finally:
            writers.close()
            if told >= 0:
                os.close(told)

    def hand_over(self, order: bytes) -> None:
        """Make it the process of a job. One that is dead, or can't become it, ends without having taken the order."""
        os.pwrite(self._order, order, len(_TAKEN))
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGCONT)  # whoever may have stopped it
        with contextlib.suppress(BrokenPipeError):
            os.write(self._tell, b"%d" % len(order))

    def took_order(self) -> bool:
        """Whether it has read its order."""
        return os.pread(self._order, len(_TAKEN), 0) == _TAKEN

    def close(self) -> None:
        """Close what only the making and the handing over needs."""
        for descriptor in (self._order, self._tell):
            if descriptor >= 0:
                os.close(descriptor)
        self._order = self._tell = -1


class _Line(NamedTuple):
    """What a spare has to do with its supervisor."""

    ends: Ends
    order: int
    told: int
    token: bytes


def _become_spare(line: _Line, parent: int, stage: _child.ForkedStage, like: JobOrder | None) -> NoReturn:
    try:
        number = _child.detach(line.ends, parent, keep=(line.order, line.told))
        stage.foresee(like)
        size = os.read(line.told, 20)
        if size:
            given = msgspec.json.decode(os.pread(line.order, int(size), len(_TAKEN)), type=JobOrder)
            if stage.suits(given):
                os.pwrite(line.order, _TAKEN, 0)
                os.close(line.order)
                os.close(line.told)
                _entry.answer(given, _entry.PipeChannel(number, line.token), stage)
    finally:
        os._exit(98)


class Forking(Launcher):
    """Starts each job as a fork of the supervisor, ahead of its order where there is one to spare."""

    def __init__(self, surroundings: _child.Surroundings, tree: SubreaperTree) -> None:
        self._surroundings = surroundings
        self._tree = tree
        self._spare: Spare | None = None
        self._last: Spare | None = None

    def __call__(self, order: bytes, place: str) -> Begun:
        take_processors(self._surroundings.processors)
        self._forget_last()
        spare, self._spare = self._spare, None
        self._last = spare = spare or Spare(self._surroundings, None, place)
        try:
            spare.hand_over(order)
        except OSError:
            self._discard(spare)
            raise
        return Begun(spare.pid, spare.readers, spare.token)

    def ahead(self, like: JobOrder | None, place: str) -> None:
        """Fork the next job's process."""
        self._forget_last()
        if like is not None:  # jobs differ little in their environment: in a fresh fork each change costs pages
            _child.take_environ(self._surroundings.environ(like.placed(place)))
        if self._spare is None:
            with contextlib.suppress(OSError):  # it may be possible when it has to be
                self._spare = Spare(self._surroundings, like, place)

    def _forget_last(self) -> None:
        if self._last is not None:
            self._last.close()
            self._last = None

    def close(self) -> None:
        """Have no spare any more."""
        spare, self._spare = self._spare, None
        if spare is not None:
            self._discard(spare)

    def _discard(self, spare: Spare) -> None:
        spare.readers.close()
        spare.close()
        if self._tree.kill_all():
            raise OSError("a process that was forked for a job could not be killed")

    def took_order(self) -> bool:
        """Whether the last job's process has read its order."""
        return self._last is not None and self._last.took_order()
