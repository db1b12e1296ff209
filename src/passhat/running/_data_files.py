"""The files that a suite's trials read: hashed when a run begins and when it ends. A change makes two runs of one.

Modules are no part of them: each trial's process runs those from a snapshot, or the manifest names them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from passhat.running._errors import RunError

if TYPE_CHECKING:
    from passhat.suite import Suite


class DataFiles:
    """The suite's tasks file, its template, and what its ``data`` names; a directory counts with all that is in it."""

    def __init__(self, suite: Suite) -> None:
        """Raises `RunError` for a path in ``data`` at which there is nothing."""
        named = [*suite.data, suite.template]
        if isinstance(suite.tasks, str | Path):
            named.append(suite.tasks)
        self._paths = {Path(name).as_posix(): suite.folder / name for name in named if name is not None}
        for name, path in self._paths.items():
            if not path.exists():
                raise RunError(f"Suite({suite.name!r}): data: {path} ({name}) doesn't exist")

    def hashes(self) -> dict[str, str]:
        """SHA-256 of each, by the name that the suite uses. Raises `RunError` for what can't be read."""
        try:
            return {name: _hash(path) for name, path in sorted(self._paths.items())}
        except OSError as error:
            raise RunError(f"{error.filename} can't be read: {error.strerror}") from error

    def changed_since(self, before: Mapping[str, str]) -> tuple[str, ...]:
        """The names of those that aren't what they were, or aren't there any more."""
        return tuple(name for name, path in sorted(self._paths.items()) if _changed(path, before.get(name)))


def _changed(path: Path, before: str | None) -> bool:
    try:
        return before is not None and _hash(path) != before
    except OSError:
        return True


def _hash(path: Path) -> str:
    """Of a file its content; of a directory the names and contents of all files below it."""
    if not path.is_dir():
        return _content(path)
    digest = hashlib.sha256()
    for place, folders, files in os.walk(path):
        folders.sort()
        for name in sorted(files):
            each = Path(place, name)
            content = os.readlink(each) if each.is_symlink() else _content(each)
            digest.update(f"{each.relative_to(path)}\0{content}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _content(path: Path) -> str:
    if not path.is_file():
        return "special"  # reading it could block
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
