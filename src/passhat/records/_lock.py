"""One writer a file: an exclusive lock that the kernel releases when its holder dies.

The lock is ``flock`` on a file that also names its holder. A forked child gives its copy up at once, so that it can't
keep the lock of a dead parent alive.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import socket
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from passhat.records._disk import open_private, write_all
from passhat.records._errors import RecordError, RunLocked, disk_error

try:
    import fcntl
except ImportError:  # pragma: no cover
    fcntl = None  # type: ignore[assignment]

_TRIES = 4  # another process may hold the lock for an instant, only to see whether it is free
_PAUSE = 0.02


class Holder(msgspec.Struct, frozen=True):
    """Who holds a lock: process id, host name, and since when (UTC, ISO 8601)."""

    pid: int
    host: str
    since: str = ""

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}" + (f" since {self.since}" if self.since else "")


class FileLock:
    """An exclusive lock on a file, held until `release` or the death of the process."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        _held.add(self)

    @classmethod
    def take(cls, path: Path, *, of: str, pause: Callable[[float], None] = time.sleep) -> FileLock:
        """Take the lock or raise `RunLocked` naming its holder. ``of`` says what is locked, for the message."""
        descriptor = _opened(path)
        try:
            for attempt in range(_TRIES):
                if _try_lock(descriptor, path):
                    break
                if attempt == _TRIES - 1:
                    raise _locked(descriptor, path, of)
                pause(_PAUSE)
            holder = Holder(os.getpid(), socket.gethostname(), _utc())
            os.ftruncate(descriptor, 0)
            write_all(descriptor, msgspec.json.encode(holder) + b"\n")
        except OSError as error:
            os.close(descriptor)
            raise disk_error(error, path, "Nothing was written") from error
        except BaseException:
            os.close(descriptor)
            raise
        return cls(path, descriptor)

    @property
    def held(self) -> bool:
        """Whether this process holds it; False after release, and in a forked child."""
        return self._descriptor >= 0

    def release(self) -> None:
        """Give the lock up; more than once is fine."""
        if self.held:
            descriptor, self._descriptor = self._descriptor, -1
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, 0)
            os.close(descriptor)

    def _forget(self) -> None:
        """In a forked child: close the copy; the parent's lock stays."""
        if self.held:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)


@contextlib.contextmanager
def locked_file(path: Path) -> Iterator[int]:
    """Open a file for reading and writing, wait for its lock, and yield the descriptor. Raises `RecordError`."""
    descriptor = _opened(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    """A descriptor of the file that is locked, which is made if need be."""
    if fcntl is None:  # pragma: no cover
        raise RecordError(path, "this platform has no file locks", "Use Linux, macOS or WSL to record runs")
    try:
        return open_private(path, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise disk_error(error, path, "Nothing was written") from error


def holder_of(path: Path) -> Holder | None:
    """Who holds the lock at ``path`` now; None when nobody does. A holder that left no name has pid 0."""
    try:
        descriptor = open_private(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        return None if _try_lock(descriptor, path) else _read_holder(descriptor)
    except RecordError:
        return None
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int, path: Path) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise disk_error(error, path, "Its file system may not support locks; keep runs on a local disk") from error
    return True


def _read_holder(descriptor: int) -> Holder:
    try:
        return msgspec.json.decode(os.pread(descriptor, 4096, 0), type=Holder)
    except (OSError, msgspec.MsgspecError):
        return Holder(0, "an unknown host")


def _locked(descriptor: int, path: Path, of: str) -> RunLocked:
    holder = _read_holder(descriptor)
    who = str(holder) if holder.pid else "another process"
    advice = "Wait until it ends, or stop it; its lock goes when it dies"
    return RunLocked(path.parent, f"{of} is being written by {who}", advice, pid=holder.pid or None, host=holder.host)


def _utc() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


_held: weakref.WeakSet[FileLock] = weakref.WeakSet()


def _forget_all() -> None:
    for lock in list(_held):
        lock._forget()


if hasattr(os, "register_at_fork"):  # pragma: no branch
    os.register_at_fork(after_in_child=_forget_all)
