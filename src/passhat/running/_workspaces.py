"""What an agent changed in its workspace, and making the workspace safe to look at afterwards."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

_HASHED = 1_000_000  # bytes; larger files are told apart by size and times


def snapshot(folder: Path) -> dict[str, str]:
    """A mark a file (and a link) below ``folder``, by its path relative to it. Equal marks mean equal content."""
    return {str(path.relative_to(folder)): _mark(path) for path in _files(folder)}


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


def seal(folder: Path) -> list[str]:
    """Remove what a grader mustn't meet: FIFOs, sockets, devices, links that leave the folder. Says what it removed."""
    root = folder.resolve()
    removed = []
    for path in list(_files(folder)):
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode):
            continue
        if stat.S_ISLNK(mode):
            aim = (path.parent / os.readlink(path)).resolve()
            if aim.is_relative_to(root):
                continue
            what = f"a link to {aim}, outside the workspace"
        else:
            what = "neither a file nor a directory"
        path.unlink()
        removed.append(f"removed before grading: {path.relative_to(folder)}, {what}")
    return removed


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
        return f"link:{os.readlink(path)}"
    if not stat.S_ISREG(seen.st_mode):
        return f"special:{stat.S_IFMT(seen.st_mode):o}"
    if seen.st_size > _HASHED:
        return f"stat:{seen.st_size}:{seen.st_mtime_ns}:{seen.st_ctime_ns}"
    return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
