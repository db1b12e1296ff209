"""A directory of a trial's own, made only when something asks for it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from passhat.facts import PasshatError, moment
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
    ``since``, in nanoseconds since the epoch, refuses one that was changed later; 0 takes it as it is.
    """

    def __init__(self, make: Callable[[], Path], template: Path | None = None, since: int = 0) -> None:
        self._make = make
        self._template = template
        self._since = since
        self.refused: WorkspaceError | None = None  # whoever asked for the directory may have caught it
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
                    try:
                        copy_tree(self._template, path, since=self._since)
                    except WorkspaceError as error:
                        self.refused = error
                        raise
                self._path = path
            return self._path

    def check(self) -> None:
        """Raise `WorkspaceError` for a template that was changed, without making the directory."""
        if self._template is not None and self._since and self._path is None:
            check_unchanged(self._template, self._since)


def copy_tree(source: Path, target: Path, *, everything: bool = False, since: int = 0) -> None:
    """Copy the files of ``source`` into ``target``; links stay links and may not leave ``source``.

    ``everything=False`` leaves out version control, caches and virtual environments. Sockets, FIFOs and devices are
    never copied. Raises `WorkspaceError` naming the path; with ``since`` also as `check_unchanged` does.
    """
    root = source.resolve()
    if not root.is_dir():
        raise WorkspaceError(f"{source}: not a directory")
    target.mkdir(parents=True, exist_ok=True)
    for here, names in _folders(root, everything=everything):
        there = target / here.relative_to(root)
        there.mkdir(exist_ok=True)
        for name in names:
            _copy(here / name, there / name, root)
    if since:
        check_unchanged(source, since)  # afterwards: what is changed while it is copied is seen, too


def check_unchanged(source: Path, since: int) -> None:
    """Raise `WorkspaceError` where anything that `copy_tree` copies was changed after ``since``, in nanoseconds since
    the epoch, also if it was put back: by the file system's clock. A directory is changed by what comes and goes."""
    root = source.resolve()
    links = [place for place in (source, *source.absolute().parents) if place.is_symlink()]
    folders = _folders(root, everything=False)
    inside = (place for here, names in folders for place in (here, *(here / name for name in names)))
    for place in (*links, *inside):
        changed = place.lstat().st_ctime_ns
        if changed > since:
            raise WorkspaceError(
                f"the template was changed while the run went on ({place}, {moment(changed)}), so this trial would "
                "start from another state than those before. Restore it, and run again; with --confine no trial can "
                "write there"
            )


def _folders(root: Path, *, everything: bool) -> Iterator[tuple[Path, list[str]]]:
    """The directories of a tree that are copied, and the names of what else is copied of each."""
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        links = [name for name in folders if (here / name).is_symlink()]
        folders[:] = sorted(f for f in folders if f not in links and (everything or f not in _LEFT_OUT))
        yield here, sorted(name for name in (*files, *links) if everything or name not in _LEFT_OUT)


def _copy(source: Path, target: Path, root: Path) -> None:
    if source.is_symlink():
        aim = (source.parent / os.readlink(source)).resolve()
        if not aim.is_relative_to(root):
            raise WorkspaceError(f"{source}: a link to {aim}, outside {root}; copy the file into the template instead")
        target.symlink_to(os.path.relpath(aim, source.parent.resolve()))
    elif source.is_file():
        copy_file(source, target)
