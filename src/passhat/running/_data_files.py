"""The files that a suite's trials read: looked at when a run begins and when it ends. A change makes two runs of one.

One that was put back is a change as well: trials in between met it. The file system's own clock tells of it, which
stamps whatever is written, renamed, linked or given other rights, and which only root can set.
It tells nothing of data in whose place other data was put by renaming a folder above it: that is known by the folder
that is found there, which is asked for around each grading.
Modules are no part of them: each trial's process runs those from a snapshot, or the manifest names them.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from passhat.facts import named
from passhat.running._errors import RunError
from passhat.running._spans import TICK

if TYPE_CHECKING:
    from passhat.suite import Suite

_SLACK = TICK + 1_000_000  # nanoseconds by which `began`, which counts milliseconds, may be too early
_SHOWN = 3  # paths that are named of a directory


class DataFiles:
    """The suite's tasks file, its template, and what its ``data`` names; a directory counts with all that is in it,
    and with what links in it lead to."""

    def __init__(self, suite: Suite, since: int = 0) -> None:
        """``since``: when the run began that goes on (nanoseconds since the epoch); 0: the run is a new one.

        Raises `RunError` for a path in ``data`` at which there is nothing.
        """
        listed = [*suite.data, suite.template]
        if isinstance(suite.tasks, str | Path):
            listed.append(suite.tasks)
        self._paths = {Path(name).as_posix(): suite.folder / name for name in listed if name is not None}
        self._since = since
        self._newest: dict[str, int] = {}
        self._places: dict[str, dict[str, tuple[int, int]]] = {}
        self._moved: set[str] = set()
        for name, path in self._paths.items():
            if not path.exists():
                raise RunError(f"Suite({suite.name!r}): data: {path} ({name}) doesn't exist")

    def hashes(self) -> dict[str, str]:
        """SHA-256 of each, by the name that the suite uses. Raises `RunError` for what can't be read."""
        try:
            return {name: self._seen(name, path) for name, path in sorted(self._paths.items())}
        except OSError as error:
            raise RunError(f"{error.filename} can't be read: {error.strerror}") from error

    def moved(self) -> tuple[str, ...]:
        """Those, by name, that lie in another folder than when they were hashed, though the path be the same: it, one
        above it, or one on the way of a link was replaced by another one. A directory is such a folder itself.

        That is as many `os.stat` as there are paths, and links in them.
        """
        now = [name for name, places in self._places.items() if any(_is_elsewhere(*each) for each in places.items())]
        self._moved.update(now)
        return tuple(now)

    def changed_since(self, before: Mapping[str, str]) -> tuple[str, ...]:
        """Those that aren't what they were, aren't there any more, or were put back: by name, of a directory with what
        in it was changed last."""
        self.moved()
        return tuple(
            said
            for name, path in sorted(self._paths.items())
            if name in before and (said := self._change(name, path, before[name]))
        )

    def _seen(self, name: str, path: Path) -> str:
        self._look(name, path)
        return _hash(path)

    def _look(self, name: str, path: Path) -> None:
        self._newest[name] = last_change(path, self._since)
        self._places[name] = {place: _place(Path(place)) for place in _folders_of(path)}

    def _change(self, name: str, path: Path, before: str) -> str:
        try:
            same = _hash(path) == before
            since = self._newest.get(name)
            touched = [] if since is None else [each.path for each in _entries(path) if each.changed > since]
        except OSError:
            return name
        if same and not touched:
            return f"{name}: other data in its place, put back by the end" if name in self._moved else ""
        inside = [_below(each, path) for each in touched if each != path]
        place = f"{name}: {named(inside[:_SHOWN])}{' and more' if len(inside) > _SHOWN else ''}" if inside else name
        return f"{place}, put back by the end" if same else place


def last_change(path: Path, since: int = 0) -> int:
    """When anything at a path was last changed, in nanoseconds since the epoch; at most when the run began that goes on
    (``since``): what came later is no part of how it began. Raises OSError."""
    newest = max(each.changed for each in _entries(path))
    return min(newest, since + _SLACK) if since else newest


class _Entry(NamedTuple):
    path: Path
    changed: int  # nanoseconds since the epoch


def _below(place: Path, path: Path) -> str:
    return place.relative_to(path).as_posix() if place.is_relative_to(path) else str(place)


def _entries(path: Path) -> Iterator[_Entry]:
    """What there is at ``path``, what links lead to, and what links there are on the way, each with its last change."""
    for place in path.parents:
        if place.is_symlink():
            yield _Entry(place, place.lstat().st_ctime_ns)
    for place in (path, *(each for each, _ in _tree(path))) if path.is_dir() else (path,):
        status = place.lstat()
        yield _Entry(place, status.st_ctime_ns)
        if stat.S_ISLNK(status.st_mode) and place.exists():
            yield _Entry(place, place.stat().st_ctime_ns)


def _folders_of(path: Path) -> set[str]:
    """The folders that tell whether the data is where it was: its own, and those that links in it lead to. Whatever is
    done to a folder above one of them, another one is found at its path then, with another inode."""
    entries = [path, *(each for each, _ in _tree(path))] if path.is_dir() else [path]
    links = [str(each) for each in entries if each.is_symlink() and each.exists()]
    own = str(path if path.is_dir() else path.parent)
    return {own, *(link if os.path.isdir(link) else os.path.dirname(os.path.realpath(link)) for link in links)}


def _is_elsewhere(place: str, before: tuple[int, int]) -> bool:
    try:
        status = os.stat(place)
    except OSError:
        return True
    return (status.st_dev, status.st_ino) != before


def _tree(root: Path) -> Iterator[tuple[Path, bool]]:
    """All that is below a directory, in a stable order, and whether it is a directory; those that links lead to too.

    A directory is gone through once; one that holds ``root`` itself, which only a link leads to, isn't.
    """
    around = {_place(each) for each in (root.resolve(), *root.resolve().parents)}
    seen, waiting = {_place(root)}, [root]
    while waiting:
        here = waiting.pop()
        folders = []
        for name in sorted(os.listdir(here)):
            each = here / name
            directory = each.is_dir()
            yield each, directory
            if directory and (place := _place(each)) not in seen | around:
                seen.add(place)
                folders.append(each)
        waiting += reversed(folders)


def _place(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _hash(path: Path) -> str:
    """Of a file its content; of a directory the names and contents of all files below it, and where links lead to."""
    if not path.is_dir():
        return _content(path)
    digest = hashlib.sha256()
    for each, directory in _tree(path):
        content = f"-> {os.readlink(each)}\0" if each.is_symlink() else ""
        if directory and not content:
            continue
        if not directory:
            content += _content(each)
        digest.update(f"{each.relative_to(path)}\0{content}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _content(path: Path) -> str:
    if not path.is_file():
        return "special"  # reading it could block
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
