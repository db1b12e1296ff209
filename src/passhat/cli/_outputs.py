"""Files that reports are written to: put in place whole, and never waited for."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from passhat.facts import PasshatError
from passhat.isolation import open_regular

_IN_PLACE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY)  # a folder that isn't ours, a file that is mounted


class OutputError(PasshatError):
    """A report that can't be written where it was asked for."""


@dataclass(frozen=True)
class Output:
    """Where a report goes, as it was when the command began: ``kept`` is a pipe or a device that the user named.

    By the time that the report is written an agent may have put something else there.
    """

    path: Path
    kept: tuple[int, int] | None = None

    @classmethod
    def at(cls, path: Path) -> Output:
        """The output at a path, as it is now."""
        try:
            seen = os.stat(path)
        except OSError:
            return cls(path)
        if stat.S_ISREG(seen.st_mode):
            return cls(path if _is_of_system(path) else Path(os.path.realpath(path)))
        return cls(path, (seen.st_dev, seen.st_ino))

    def write(self, text: str) -> None:
        """Write a report. Raises `OutputError`."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if _is_of_system(self.path):
                self.path.write_text(text, encoding="utf-8")
            elif self._is_kept():
                _pass_on(self.path, text.encode())
            else:
                _put(self.path, text.encode())
        except OSError as error:
            raise OutputError(f"{self.path}: can't be written: {error.strerror or error}") from None

    def _is_kept(self) -> bool:
        if self.kept is None:
            return False
        seen = os.stat(self.path)
        return (seen.st_dev, seen.st_ino) == self.kept


def _is_of_system(path: Path) -> bool:
    """Whether a path is one of ``/dev/stdout``, ``/dev/fd/63`` and their like."""
    return os.path.abspath(path).startswith(("/dev/", "/proc/"))


def _pass_on(path: Path, data: bytes) -> None:
    """Write to a pipe or a device, which is there; where nobody reads a FIFO, nobody is waited for."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise OSError(error.errno, "nobody reads this FIFO, or it is a socket") from None
    os.set_blocking(descriptor, True)
    with open(descriptor, "wb") as file:
        file.write(data)


def _put(path: Path, data: bytes) -> None:
    """Replace what is at ``path`` by a file; what can't be replaced, and is a file, is written over."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666), "wb") as file:
            file.write(data)
            _keep_rights(path, file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        if error.errno not in _IN_PLACE:
            raise
        with open(open_regular(path, os.O_WRONLY | os.O_TRUNC), "wb") as file:
            file.write(data)


def _keep_rights(path: Path, descriptor: int) -> None:
    try:
        seen = os.lstat(path)
    except FileNotFoundError:
        return
    if stat.S_ISREG(seen.st_mode):
        os.fchmod(descriptor, stat.S_IMODE(seen.st_mode) & 0o777)
