"""What can go wrong with a run directory.

RecordError
├── RunLocked     another process writes this file or run
├── RunChanged    a file isn't as its one writer left it, or is gone
├── BadRecord     a file that can't be read; names the line
├── NewerSchema   written by a newer passhat
└── RunNotFound   no run, or more than one, answers to a name
"""

from __future__ import annotations

import errno
from pathlib import Path

from passhat.facts import PasshatError

_WORDS = {
    errno.ENOSPC: "no space is left on the device",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "the operation is not permitted",
    errno.ENOENT: "does not exist (removed or renamed?)",
    errno.ENOTDIR: "a part of the path is not a directory",
    errno.EISDIR: "is a directory",
    errno.ELOOP: "is a symbolic link, which passhat doesn't follow here",
    errno.EIO: "the disk reported an input/output error",
    errno.EFBIG: "the file has reached the largest size allowed",
}


class RecordError(PasshatError):
    """A run directory can't be read or written. ``path`` is the file, ``problem`` what is wrong with it."""

    def __init__(self, path: Path | str, problem: str, advice: str = "") -> None:
        super().__init__(f"{path}: {problem}" + (f". {advice}" if advice else ""))
        self.path = Path(path)
        self.problem = problem
        self.advice = advice


class RunLocked(RecordError):
    """Another process holds the lock; ``pid`` and ``host`` say which, where it told."""

    def __init__(self, path: Path | str, problem: str, advice: str = "", *, pid: int | None, host: str | None) -> None:
        super().__init__(path, problem, advice)
        self.pid = pid
        self.host = host


class RunChanged(RecordError):
    """A file was changed, replaced or removed under its writer."""

    command_exit = 3  # of the command line, as a report of such a run has it: incomplete


class BadRecord(RecordError):
    """A file that can't be read; ``line`` counts from 1, None when it isn't about a line."""

    def __init__(self, path: Path | str, problem: str, advice: str = "", *, line: int | None = None) -> None:
        super().__init__(f"{path} line {line}" if line else path, problem, advice)
        self.path = Path(path)
        self.line = line


class NewerSchema(RecordError):
    """A file that a newer passhat wrote in a form that this one doesn't know."""


class RunNotFound(RecordError):
    """No run, or more than one, answers to a name."""


def disk_error(error: OSError, path: Path | str, advice: str = "") -> RecordError:
    """The same failure as one clear `RecordError`: the path, what happened, and what is safe."""
    return RecordError(path, _WORDS.get(error.errno or 0) or error.strerror or str(error), advice)
