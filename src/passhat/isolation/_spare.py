"""A spare: the next job's process, forked before its order comes.

Forking, and leaving what belongs to the supervisor, is a good part of what a small job costs. A supervisor does that
for its next job while it has nothing to do; when the order comes, it only has to be handed over.

A spare runs none of the user's code until then. It exists only while the supervisor has no job: it is forked when the
last job's tree is proved gone, and becomes the first process of the next one. So the proof stays what it is. It dies
with its supervisor, and can't be looked into by an ordinary user's processes. One that is found dead costs a fork, not
a job.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
from typing import NoReturn

import msgspec

from passhat.isolation import _child, _entry
from passhat.isolation._contract import JobOrder
from passhat.isolation._launching import Begun, Ends, Launcher, pipes
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

    def __init__(self, surroundings: _child.Surroundings) -> None:
        self.readers, writers = pipes()
        self._order = self._tell = told = -1
        parent = os.getpid()
        try:
            self._order = _nameless_file()
            told, self._tell = os.pipe2(os.O_CLOEXEC)
            self.pid = os.fork()
            if self.pid == 0:
                _become_spare(writers, self._order, told, parent, surroundings)
        except OSError:
            self.readers.close()
            self.close()
            raise
        finally:
            writers.close()
            if told >= 0:
                os.close(told)

    def hand_over(self, order: JobOrder) -> bool:
        """Make it the process of a job; False when it is dead."""
        data = msgspec.json.encode(order)
        os.pwrite(self._order, data, len(_TAKEN))
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGCONT)  # whoever may have stopped it
        try:
            os.write(self._tell, b"%d" % len(data))
        except BrokenPipeError:
            return False
        return True

    def took_order(self) -> bool:
        """Whether it has read its order."""
        return os.pread(self._order, len(_TAKEN), 0) == _TAKEN

    def close(self) -> None:
        """Close what only the making and the handing over needs."""
        for descriptor in (self._order, self._tell):
            if descriptor >= 0:
                os.close(descriptor)
        self._order = self._tell = -1


def _become_spare(ends: Ends, order: int, told: int, parent: int, surroundings: _child.Surroundings) -> NoReturn:
    try:
        number = _child.detach(ends, parent, keep=(order, told))
        stage = _child.ForkedStage(surroundings)
        stage.foresee()
        size = os.read(told, 20)
        if size:
            content = os.pread(order, int(size), len(_TAKEN))
            os.pwrite(order, _TAKEN, 0)
            os.close(order)
            os.close(told)
            given = msgspec.json.decode(content, type=JobOrder)
            del content
            _entry.answer(given, _entry.PipeChannel(number, given.token), stage)
    finally:
        os._exit(98)


class Forking(Launcher):
    """Starts each job as a fork of the supervisor, ahead of its order where there is one to spare."""

    def __init__(self, surroundings: _child.Surroundings, tree: SubreaperTree) -> None:
        self._surroundings = surroundings
        self._tree = tree
        self._spare: Spare | None = None
        self._last: Spare | None = None
        self._environ: dict[str, str] | None = None

    def __call__(self, order: JobOrder) -> Begun:
        self._forget_last()
        self._environ = self._surroundings.environ(order)
        spare, self._spare = self._spare, None
        for _ in range(2):
            self._last = spare = spare or self._fork()
            try:
                if spare.hand_over(order):
                    return Begun(spare.pid, spare.readers)
            except OSError:
                self._discard(spare)
                raise
            self._discard(spare)
            spare = None
        raise OSError("a process that was forked for the job ended before it began")

    def ahead(self) -> None:
        """Fork the next job's process."""
        self._forget_last()
        if self._spare is None:
            with contextlib.suppress(OSError):  # it may be possible when it has to be
                self._spare = self._fork()

    def _forget_last(self) -> None:
        if self._last is not None:
            self._last.close()
            self._last = None

    def close(self) -> None:
        """Have no spare any more."""
        spare, self._spare = self._spare, None
        if spare is not None:
            self._discard(spare)

    def _fork(self) -> Spare:
        if self._environ is not None:  # jobs differ little in it: in a fresh fork each change costs pages
            _child.take_environ(self._environ)
        return Spare(self._surroundings)

    def _discard(self, spare: Spare) -> None:
        spare.readers.close()
        spare.close()
        if self._tree.kill_all():
            raise OSError("a process that was forked for a job could not be killed")

    def took_order(self) -> bool:
        """Whether the last job's process has read its order."""
        return self._last is not None and self._last.took_order()
