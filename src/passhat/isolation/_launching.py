"""Starting the first process of a job: the pipes that it talks through, and what every way to start one must do."""

from __future__ import annotations

import abc
import os
from typing import NamedTuple

from passhat.isolation._contract import JobOrder


class Ends(NamedTuple):
    """One end of each of the job's pipes: the writing ends are its first process's, the reading ends ours."""

    channel: int
    stdout: int
    stderr: int

    def close(self) -> None:
        """Close all three."""
        for descriptor in self:
            os.close(descriptor)


class Begun(NamedTuple):
    """The first process of a job, what it writes, and with what its messages on the channel begin."""

    pid: int
    readers: Ends
    token: bytes


def pipes() -> tuple[Ends, Ends]:
    """Reading and writing ends of new pipes; reading doesn't wait."""
    pairs = [os.pipe2(os.O_CLOEXEC) if hasattr(os, "pipe2") else os.pipe() for _ in range(3)]
    readers, writers = zip(*pairs, strict=True)
    for descriptor in readers:
        os.set_blocking(descriptor, False)
    return Ends(*readers), Ends(*writers)


class Launcher(abc.ABC):
    """Starts the first processes of jobs, one job after the other."""

    @abc.abstractmethod
    def __call__(self, order: bytes, place: str) -> Begun:
        """Start the job of an encoded order, with directories in ``place`` where it names none. Raises OSError, leaving
        nothing behind, when that can't be done."""

    def ahead(self, like: JobOrder | None, place: str) -> None:  # noqa: B027 - most have nothing to do
        """Do what can be done for the next job, now that nothing of the last one is left: it will get ``place``, and
        is often ``like`` the last one."""

    def close(self) -> None:  # noqa: B027
        """Undo what was done ahead."""

    def took_order(self) -> bool:
        """Whether the process of the last job got as far as taking its order."""
        return True
