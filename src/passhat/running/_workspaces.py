"""What an agent changed in its workspace, and making the workspace safe to look at afterwards."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from passhat import isolation
from passhat.facts import ErrorInfo, Status, name_in_text
from passhat.isolation import SealChange, SealError

_OUR_DISK = {errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EMFILE, errno.ENFILE}
_HASHED = 1_000_000  # bytes; larger files are told apart by size and times


def snapshot(folder: Path) -> dict[str, str]:
    """A mark a file (and a link) below ``folder``, by its path relative to it, as `name_in_text` has it. Equal marks
    mean equal content."""
    return {name_in_text(path.relative_to(folder)): _mark(path) for path in _files(folder)}


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """Which files were "added", "removed" or "changed" between two snapshots, by path.

    >>> changes({"a": "1", "b": "1"}, {"b": "2", "c": "1"})
    {'a': 'removed', 'b': 'changed', 'c': 'added'}
    """
    found = {}
    for path in sorted({*before, *after}):
        if path not in before:
            found[path] = "added"
        elif path not in after:
            found[path] = "removed"
        elif before[path] != after[path]:
            found[path] = "changed"
    return found


class Unfit(Exception):
    """A workspace that can't be given to graders; ``by_agent``: that is the agent's doing and not our disk's."""

    def __init__(self, message: str, *, by_agent: bool = True, kind: str = "") -> None:
        super().__init__(message)
        self.by_agent = by_agent
        self.info = ErrorInfo("workspace", message, kind)

    @classmethod
    def because(cls, error: OSError) -> Unfit:
        """What an attempt to make it ready said."""
        said = str(error) if isinstance(error, SealError) else f"the workspace can't be made ready for grading: {error}"
        return cls(said, by_agent=error.errno not in _OUR_DISK, kind=type(error).__name__)

    def makes(self, status: Status, error: ErrorInfo | None, notes: list[str]) -> tuple[Status, ErrorInfo | None]:
        """What it makes of a trial that ended so: a failure stays the failure that it was, with a remark."""
        if not self.by_agent:
            return Status.ENVIRONMENT_ERROR, self.info
        if status is Status.COMPLETED:
            return Status.AGENT_ERROR, self.info
        notes.append(str(self))
        return status, error


def seal(folder: Path) -> list[str]:
    """Make a workspace safe for graders; says what was changed. Raises `Unfit`."""
    try:
        return [_said(change) for change in isolation.seal(folder)]
    except OSError as error:
        raise Unfit.because(error) from error


def _said(change: SealChange) -> str:
    path, target = change.path, change.target
    match change.what:
        case "link":
            return f"removed before grading: {path}, a link to {target}, outside the workspace"
        case "circle":
            return f"removed before grading: {path}, a link to {target} that leads round in a circle"
        case "hard link":
            return f"copied before grading: {path}, a file that has a name outside the workspace too"
        case "large hard link":
            return f"removed before grading: {path}, a file with a name outside the workspace, too large to be copied"
        case "unreadable":
            return f"made readable before grading: {path}"
        case _:
            return f"removed before grading: {path}, neither a file nor a directory"


def _files(folder: Path) -> Iterator[Path]:
    """Everything below ``folder`` that isn't a real directory, in a stable order."""
    for here, folders, files in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(here, name))]
        folders[:] = sorted(set(folders) - set(links))
        for name in sorted([*files, *links]):
            yield Path(here, name)


def _mark(path: Path) -> str:
    seen = path.lstat()
    if stat.S_ISLNK(seen.st_mode):
        return f"link:{name_in_text(os.readlink(path))}"
    if not stat.S_ISREG(seen.st_mode):
        return f"special:{stat.S_IFMT(seen.st_mode):o}"
    if seen.st_size > _HASHED:
        return f"stat:{seen.st_size}:{seen.st_mtime_ns}:{seen.st_ctime_ns}"
    return hashlib.blake2b(isolation.read_regular(path), digest_size=16).hexdigest()
