"""Make a directory that an agent has left safe for a grader to walk."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from typing import Literal

import msgspec

from passhat.facts import name_in_text
from passhat.isolation._copying import copy_file

MOST_LEVELS = 200
"""How deep a workspace may be: what copies, archives and reads it then needs neither recursion nor longer paths."""

MOST_PATH = 1000
"""Bytes that a path within a workspace may take: a grader's copy of it, or an unpacked one, lies deeper than it did."""

MOST_SHARED = 1 << 30
"""Bytes of files with a name outside that are copied; more of it is removed, as what a link outside leads to."""

_SPECIAL: dict[int, Literal["fifo", "socket", "device"]] = {
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFBLK: "device",
    stat.S_IFCHR: "device",
}
SealKind = Literal["fifo", "socket", "device", "link", "circle", "hard link", "large hard link", "unreadable"]


class SealChange(msgspec.Struct, frozen=True):
    """Something the seal changed: its path in the workspace, what it was, and where a link led.

    A *fifo*, *socket*, *device*, a *link* that left the workspace and a *circle* of links were removed. A file with a
    *hard link* outside was replaced by a copy of its own, a *large hard link* removed. An *unreadable* file or
    directory was made readable for its owner.
    """

    path: str
    what: SealKind
    target: str = ""


class SealError(OSError):
    """The workspace can't be sealed, so it can't be graded."""


def seal(folder: str | os.PathLike[str]) -> tuple[SealChange, ...]:
    """Remove from ``folder`` what could hang a grader or lead it elsewhere. Returns what was changed, by path.

    To be called when nothing that could write there is alive. FIFOs, sockets and devices would block a reader; a link
    that leaves the workspace would show the grader a file that isn't part of the outcome. Links within the workspace,
    dangling ones too, stay. Raises `SealError` naming the path when something can't be removed or read, and for a
    workspace deeper than 200 directories or with a path of more than 1000 bytes.
    """
    root = os.path.realpath(folder)
    changed: list[SealChange] = []
    names: dict[tuple[int, int], list[str]] = {}
    try:
        if not stat.S_ISDIR(os.lstat(folder).st_mode):
            raise SealError(f"{os.fspath(folder)}: not a directory any more")
        _make_readable(root, ".", changed)
        for path in _walk(root, changed):
            _seal_one(root, path, changed, names)
        _unshare(root, names, changed)
    except SealError:
        raise
    except OSError as error:
        raise SealError(error.errno, f"the workspace can't be sealed for grading: {error}") from error
    return tuple(sorted(changed, key=lambda item: item.path))


def _walk(root: str, changed: list[SealChange]) -> Iterator[str]:
    """All paths below ``root`` that aren't directories; directories are made readable on the way."""
    longest = len(os.fsencode(root)) + 1 + MOST_PATH
    stack = [(root, 0)]
    while stack:
        folder, level = stack.pop()
        with os.scandir(folder) as entries:
            found = list(entries)
        for entry in found:
            if len(os.fsencode(entry.path)) > longest:
                shown = _shown(root, entry.path)
                raise SealError(f"the workspace has a path of more than {MOST_PATH} bytes: {shown[:60]}…{shown[-20:]}")
            if not entry.is_dir(follow_symlinks=False):
                yield entry.path
                continue
            if level == MOST_LEVELS:
                raise SealError(f"the workspace is more than {MOST_LEVELS} directories deep")
            _make_readable(entry.path, _shown(root, entry.path), changed)
            stack.append((entry.path, level + 1))


def _seal_one(root: str, path: str, changed: list[SealChange], names: dict[tuple[int, int], list[str]]) -> None:
    status = os.lstat(path)
    special = _SPECIAL.get(stat.S_IFMT(status.st_mode))
    if special is not None:
        os.unlink(path)
        changed.append(SealChange(_shown(root, path), special))
    elif stat.S_ISLNK(status.st_mode):
        aim = _aim(path)
        if aim is None or not (aim == root or aim.startswith(root + os.sep)):
            kind: SealKind = "circle" if aim is None else "link"
            changed.append(SealChange(_shown(root, path), kind, name_in_text(os.readlink(path))))
            os.unlink(path)
    else:
        _make_readable(path, _shown(root, path), changed)
        if status.st_nlink > 1:
            names.setdefault((status.st_dev, status.st_ino), []).append(path)


def _aim(path: str) -> str | None:
    """Where a link leads in the end; None for a circle, and for what nobody can follow."""
    try:
        os.stat(path)
    except FileNotFoundError:
        pass
    except OSError:
        return None
    return os.path.realpath(path)


def _make_readable(path: str, shown: str, changed: list[SealChange]) -> None:
    mode = stat.S_IMODE(os.lstat(path).st_mode)
    wanted = 0o700 if os.path.isdir(path) else 0o600
    if mode & wanted != wanted:
        os.chmod(path, mode | wanted)
        if not mode & 0o400:
            changed.append(SealChange(shown, "unreadable"))


def _unshare(root: str, names: dict[tuple[int, int], list[str]], changed: list[SealChange]) -> None:
    """Give files with names outside the workspace a copy of their own, under all of their names here."""
    room = MOST_SHARED
    for paths in names.values():
        status = os.lstat(paths[0])
        if status.st_nlink == len(paths):
            continue
        room -= status.st_blocks * 512
        kind: SealKind = "hard link" if room >= 0 else "large hard link"
        copy = os.path.join(os.path.dirname(paths[0]), f".{secrets.token_hex(16)}")  # a name that nothing there has
        if room >= 0:
            copy_file(paths[0], copy)
        for path in paths:
            changed.append(SealChange(_shown(root, path), kind))
            os.unlink(path)
            if room >= 0:
                os.link(copy, path)
        if room >= 0:
            os.unlink(copy)


def _shown(root: str, path: str) -> str:
    return name_in_text(os.path.relpath(path, root))
