"""Remove directories for certain: closed ones, ones deeper than any path can name, and never what is mounted there."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)


def remove_tree(folder: str | os.PathLike[str]) -> None:
    """Remove a directory and all in it, closed directories too; links are never followed. Nothing there is fine.

    A link or a file in its place is removed itself. What is mounted below it isn't looked into. Raises OSError naming
    what could not be removed, after everything else is gone.
    """
    path = os.fspath(folder)
    with contextlib.suppress(OSError):
        if not os.path.islink(path) and _remove_empty(path):
            return
    try:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            os.unlink(path)
            return
        left = _empty(path)
        if left is None:
            os.rmdir(path)
    except FileNotFoundError:
        return
    if left is not None:
        raise left


def _remove_empty(path: str, levels: int = 3) -> bool:
    """Remove a directory that holds a few empty ones at most, as most jobs leave it; False when there is more in it."""
    with os.scandir(path) as entries:
        for entry in entries:
            if not levels or not entry.is_dir(follow_symlinks=False) or not _remove_empty(entry.path, levels - 1):
                return False
    os.rmdir(path)
    return True


def _empty(path: str) -> OSError | None:
    """Remove all in a directory; returns the first failure.

    Each directory found is moved to the top before it is emptied. So neither the depth of the tree nor the length of
    its paths matters, two descriptors are enough, and a mount point, which can't be moved, is never entered.
    """
    open_up(path)
    top = os.open(path, _OPEN)
    try:
        sweep = _Sweep(top)
        sweep.clear(top)
        while sweep.waiting:
            name = sweep.waiting.pop()
            try:
                place = os.open(name, _OPEN, dir_fd=top)
                try:
                    sweep.clear(place)
                finally:
                    os.close(place)
                os.rmdir(name, dir_fd=top)
            except OSError as error:
                sweep.failed(error, name)
        return sweep.failure
    finally:
        os.close(top)


class _Sweep:
    """What is still to be removed: directories that were moved to the top, by their names there."""

    def __init__(self, top: int) -> None:
        self._top = top
        self._prefix = f".removing-{secrets.token_hex(8)}"  # unlike any name that is there
        self._count = 0
        self.waiting: list[str] = []
        self.failure: OSError | None = None

    def clear(self, place: int) -> None:
        """Remove the files of an open directory and move its directories to the top."""
        with os.scandir(place) as entries:
            found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        for name, is_folder in found:
            try:
                if is_folder:
                    self._move(name, place)
                else:
                    os.unlink(name, dir_fd=place)
            except FileNotFoundError:
                continue
            except OSError as error:
                self.failed(error, name)

    def _move(self, name: str, place: int) -> None:
        open_up(name, place)  # its own ".." changes, which takes the right to write in it
        moved = f"{self._prefix}-{self._count}"
        self._count += 1
        os.rename(name, moved, src_dir_fd=place, dst_dir_fd=self._top)
        self.waiting.append(moved)

    def failed(self, error: OSError, name: str) -> None:
        """Remember the first thing that can't be removed."""
        if self.failure is None:
            self.failure = OSError(error.errno or errno.EIO, error.strerror or str(error), name)


def open_up(name: str, place: int | None = None) -> None:
    """Let oneself into a directory, which its owner may have closed."""
    with contextlib.suppress(OSError):
        status = os.stat(name, dir_fd=place, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode) and status.st_mode & 0o700 != 0o700:
            os.chmod(name, 0o700, dir_fd=place)
