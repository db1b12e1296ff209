"""A directory of a trial's own, made only when something asks for it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

from passhat.facts import PasshatError
from passhat.isolation import copy_file

_LEFT_OUT = {
    ".git",
    ".hg",
    ".svn",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".venv",
    "node_modules",
    ".passhat",
}


class WorkspaceError(PasshatError, OSError):
    """The template can't be copied or the directory can't be made."""


class Workspace:
    """A fresh directory from an optional template, created on the first look at ``path``.

    The template is copied without version control, caches and virtual environments; a link that leaves it is refused.
    """

    def __init__(self, make: Callable[[], Path], template: Path | None = None) -> None:
        self._make = make
        self._template = template
        self._lock = threading.Lock()
        self._path: Path | None = None

    @classmethod
    def at(cls, path: Path) -> Workspace:
        """A workspace that is there already."""
        there = cls(lambda: path)
        there._path = path
        return there

    @property
    def made(self) -> Path | None:
        """The directory if something has asked for it, else None."""
        return self._path

    @property
    def path(self) -> Path:
        """The directory; made now if it wasn't."""
        with self._lock:
            if self._path is None:
                path = self._make()
                if self._template is not None:
                    copy_tree(self._template, path)
                self._path = path
            return self._path


def copy_tree(source: Path, target: Path, *, everything: bool = False) -> None:
    """Copy the files of ``source`` into ``target``; links stay links and may not leave ``source``.

    ``everything=False`` leaves out version control, caches and virtual environments. Sockets, FIFOs and devices are
    never copied. Raises `WorkspaceError` naming the path.
    """
    root = source.resolve()
    if not root.is_dir():
        raise WorkspaceError(f"{source}: not a directory")
    target.mkdir(parents=True, exist_ok=True)
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        there = target / here.relative_to(root)
        there.mkdir(exist_ok=True)
        links = [name for name in folders if (here / name).is_symlink()]
        folders[:] = sorted(f for f in folders if f not in links and (everything or f not in _LEFT_OUT))
        for name in sorted([*files, *links]):
            if everything or name not in _LEFT_OUT:
                _copy(here / name, there / name, root)


def _copy(source: Path, target: Path, root: Path) -> None:
    if source.is_symlink():
        aim = (source.parent / os.readlink(source)).resolve()
        if not aim.is_relative_to(root):
            raise WorkspaceError(f"{source}: a link to {aim}, outside {root}; copy the file into the template instead")
        target.symlink_to(os.path.relpath(aim, source.parent.resolve()))
    elif source.is_file():
        copy_file(source, target)
