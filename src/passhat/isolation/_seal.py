"""Make a directory that an agent has left safe for a grader to walk, and remove directories for certain."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from typing import Literal

import msgspec

_SPECIAL: dict[int, Literal["fifo", "socket", "device"]] = {
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFBLK: "device",
    stat.S_IFCHR: "device",
}
SealKind = Literal["fifo", "socket", "device", "link", "hard link", "unreadable"]


class SealChange(msgspec.Struct, frozen=True):
    """Something the seal changed: its path in the workspace, what it was, and where a link led.

    A *fifo*, *socket*, *device* or *link* that left the workspace was removed. A file with a *hard link* outside was
    replaced by a copy of its own. An *unreadable* file or directory was made readable for its owner.
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
    dangling ones too, stay. Raises `SealError` naming the path when something can't be removed or read.
    """
    root = os.path.realpath(folder)
    changed: list[SealChange] = []
    names: dict[tuple[int, int], list[str]] = {}
    try:
        if not stat.S_ISDIR(os.lstat(folder).st_mode):
            raise SealError(f"{os.fspath(folder)}: not a directory any more")
        _make_readable(root, ".", changed)
        for path in _walk(root, root, changed):
            _seal_one(root, path, changed, names)
        for paths in names.values():
            _unshare(root, paths, changed)
    except SealError:
        raise
    except OSError as error:
        raise SealError(f"the workspace can't be sealed for grading: {error}") from error
    return tuple(sorted(changed, key=lambda item: item.path))


def _walk(root: str, folder: str, changed: list[SealChange]) -> Iterator[str]:
    """All paths below ``folder`` that aren't directories; directories are made readable on the way."""
    stack = [folder]
    while stack:
        with os.scandir(stack.pop()) as entries:
            found = list(entries)
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                _make_readable(entry.path, _shown(root, entry.path), changed)
                stack.append(entry.path)
            else:
                yield entry.path


def _seal_one(root: str, path: str, changed: list[SealChange], names: dict[tuple[int, int], list[str]]) -> None:
    status = os.lstat(path)
    special = _SPECIAL.get(stat.S_IFMT(status.st_mode))
    if special is not None:
        os.unlink(path)
        changed.append(SealChange(_shown(root, path), special))
    elif stat.S_ISLNK(status.st_mode):
        aim = _aim(path)
        if aim is None or not (aim == root or aim.startswith(root + os.sep)):
            changed.append(SealChange(_shown(root, path), "link", _text(os.readlink(path))))
            os.unlink(path)
    else:
        _make_readable(path, _shown(root, path), changed)
        if status.st_nlink > 1:
            names.setdefault((status.st_dev, status.st_ino), []).append(path)


def _aim(path: str) -> str | None:
    """Where a link leads in the end; None for a circle."""
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


def _unshare(root: str, paths: list[str], changed: list[SealChange]) -> None:
    """Give a file with names outside the workspace a copy of its own, under all of its names here."""
    if os.lstat(paths[0]).st_nlink == len(paths):
        return
    copy = f"{paths[0]}.passhat-copy"
    shutil.copy2(paths[0], copy)
    for path in paths:
        changed.append(SealChange(_shown(root, path), "hard link"))
        os.unlink(path)
        os.link(copy, path)
    os.unlink(copy)


def _shown(root: str, path: str) -> str:
    return _text(os.path.relpath(path, root))


def _text(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _remove_empty(path: str, levels: int = 3) -> bool:
    """Remove a directory that holds a few empty ones at most, as most jobs leave it; False when there is more in it.

    `shutil.rmtree` takes ten times as long for that.
    """
    with os.scandir(path) as entries:
        for entry in entries:
            if not levels or not entry.is_dir(follow_symlinks=False) or not _remove_empty(entry.path, levels - 1):
                return False
    os.rmdir(path)
    return True


def remove_tree(folder: str | os.PathLike[str]) -> None:
    """Remove a directory and all in it, closed directories too; links are never followed. Nothing there is fine.

    Raises OSError naming what could not be removed.
    """
    path = os.fspath(folder)
    with contextlib.suppress(OSError):
        if not os.path.islink(path) and _remove_empty(path):
            return
    with contextlib.suppress(OSError):
        shutil.rmtree(path)
        return
    if not os.path.islink(path):
        with contextlib.suppress(OSError):
            os.chmod(path, 0o700)
    for place, folders, _ in os.walk(path):
        for name in folders:  # opened before the walk goes down
            target = os.path.join(place, name)
            if not os.path.islink(target):
                with contextlib.suppress(OSError):
                    os.chmod(target, 0o700)
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(path)
