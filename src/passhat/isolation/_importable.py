"""The user's modules that could be imported when a run began: their files, taken down once.

A file that changed is told by its content, where that was hashed, else by its times. One that is gone tells nothing any
more: an import that fails, or that gets an installed package of the same name, is an ordinary thing, unless it is known
that the file was there.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import os
import zipfile
from collections import deque
from collections.abc import Iterable, Mapping

from passhat.isolation._once import read_once

MOST = 10_000  # entries of directories that are looked at; of those next to the suite first
MOST_HASHED = 1_000  # files whose content is known, those next to the suite first
MOST_BYTES = 1_000_000  # that such a file may have
_MOST_BYTES_TOGETHER = 20_000_000
_SUFFIXES = (
    *importlib.machinery.EXTENSION_SUFFIXES,
    *importlib.machinery.SOURCE_SUFFIXES,
    *importlib.machinery.BYTECODE_SUFFIXES,
)
"""In the order in which an import takes them."""
Listing = Mapping[str, Mapping[str, str]]
"""By directory the names of its files, each with the SHA-256 of its content; empty where that isn't known."""
_SKIPPED = {"__pycache__", "node_modules", "site-packages", "dist-packages"}


def list_importable(roots: Iterable[str], most: int = MOST) -> dict[str, dict[str, str]]:
    """The Python files of these directories and archives, and of all directories below them, by their directory.

    Hidden directories and virtual environments are left out. What is left over after ``most`` entries is left out too.
    No content is known of any (see `hashed`).

    >>> list_importable([])
    {}
    """
    found: dict[str, dict[str, str]] = {}
    waiting = deque(dict.fromkeys(os.path.abspath(root) for root in roots if is_text(root)))
    through = set(waiting)  # directories that links, too, lead to only once
    while waiting and most > 0:
        here = waiting.popleft()
        if os.path.isfile(here):
            _list_archive(here, found)
            continue
        try:
            with os.scandir(here) as entries:
                names, folders = _sorted_out(entries)
        except OSError:
            continue
        most -= len(names) + len(folders) + 1
        if "pyvenv.cfg" in names:
            continue
        if files := sorted(name for name in names if name.endswith(_SUFFIXES)):
            found[here] = dict.fromkeys(files, "")
        for folder, link in sorted(folders.items()):
            place = os.path.join(here, folder)
            if link or place in through:
                place_in_fact = os.path.realpath(place)
                if place_in_fact in through:
                    continue
                through.add(place_in_fact)
            waiting.append(place)
    return found


def _sorted_out(entries: Iterable[os.DirEntry[str]]) -> tuple[list[str], dict[str, bool]]:
    """The names of the files, and the directories to look into, with whether they are links."""
    names, folders = [], {}
    for entry in entries:
        if not is_text(entry.name):
            continue
        if entry.name.endswith(_SUFFIXES) or not entry.is_dir():
            names.append(entry.name)
        elif not (entry.name.startswith(".") or entry.name in _SKIPPED):
            folders[entry.name] = entry.is_symlink()
    return names, folders


def hashed(listed: Listing, since: int = 0, most: int = MOST_HASHED) -> dict[str, dict[str, str]]:
    """A listing with the content of its first files, ``most`` of them, large ones left out.

    ``since``: when the run began that goes on, in nanoseconds since the epoch. What a file has now that was changed
    later is no part of how it began.
    """
    bytes_left = _MOST_BYTES_TOGETHER
    found: dict[str, dict[str, str]] = {}
    for folder, files in listed.items():
        here = found.setdefault(folder, {})
        for name in files:
            here[name] = ""
            if most <= 0 or bytes_left <= 0:
                continue
            with contextlib.suppress(OSError):
                once = read_once(os.path.join(folder, name), min(MOST_BYTES, bytes_left))
                most -= 1
                bytes_left -= len(once.data)
                if not since or once.changed < since:
                    here[name] = once.digest
    return found


def united(listed: Listing, more: Listing) -> dict[str, dict[str, str]]:
    """What is in one listing or in the other."""
    folders = dict.fromkeys((*listed, *more))
    return {each: {**more.get(each, {}), **listed.get(each, {})} for each in folders}


def is_text(name: str) -> bool:
    """Whether a name can be told to another process as text: no module has another."""
    return name.isascii() or not any("\ud800" <= each <= "\udfff" for each in name)


def _list_archive(archive: str, found: dict[str, dict[str, str]]) -> None:
    try:
        with zipfile.ZipFile(archive) as members:
            names = members.namelist()
    except (OSError, ValueError, zipfile.BadZipFile):
        return
    for name in filter(is_text, names[:MOST]):
        folder, _, file = name.rpartition("/")
        if file.endswith(_SUFFIXES):
            place = os.path.join(archive, *folder.split("/")) if folder else archive
            found.setdefault(place, {})[file] = ""


class Importable:
    """What each directory had for an import, from `list_importable`."""

    def __init__(self, listed: Listing | None = None) -> None:
        self.listed = listed = {} if listed is None else listed
        self._found: dict[str, dict[str, str]] = {}
        for folder, files in listed.items():
            here = self._found.setdefault(folder, {})
            for file in sorted((file for file in files if _rank(file) < len(_SUFFIXES)), key=_rank):
                here.setdefault(file.partition(".")[0], file)
        for folder in listed:
            self._put(folder, self._found[folder].get("__init__", ""))
        self._names = {name for names in self._found.values() for name in names}

    def _put(self, folder: str, package: str) -> None:
        """Have a directory with Python files found in the one that it is in, as a package or a part of a namespace."""
        parent, name = os.path.split(folder)
        there = self._found.setdefault(parent, {})
        if package:
            there[name] = os.path.join(name, package)
        elif name not in there and parent != folder:
            there[name] = os.path.join(name, "")
            self._put(parent, "")

    def digest(self, file: str) -> str:
        """The SHA-256 of what was in a file; empty if that isn't known."""
        folder, name = os.path.split(file)
        return self.listed.get(folder, {}).get(name, "")

    def had(self, folder: str, name: str) -> str:
        """What an import of the last part of a module's name got in a directory: a file, relative to it; a directory,
        with a separator at its end, of a namespace; empty for nothing, as far as it is known."""
        return self._found.get(folder, {}).get(name, "")

    def had_beside(self, file: str, name: str) -> bool:
        """Whether an import of a top-level module got something in the directory in which one gets ``file`` now."""
        had = self.had(os.path.dirname(_home(file, name)), name)
        return bool(had) and not had.endswith(os.sep)

    def missing(
        self, name: str, path: Iterable[str], spec: importlib.machinery.ModuleSpec | None
    ) -> tuple[str, bool] | None:
        """The file or directory that an import would have got then, if what it gets now (``spec``) isn't that because
        it can't be had any more; and whether it is still there."""
        last = name.rpartition(".")[2]
        if last not in self._names:
            return None
        places = [os.path.abspath(entry) for entry in path]
        file = None if spec is None or not spec.has_location or spec.origin is None else os.path.abspath(spec.origin)
        parts = [] if spec is None else [os.path.abspath(each) for each in spec.submodule_search_locations or ()]
        homes = {os.path.dirname(each) for each in (file and _home(file, last), *parts) if each}
        for index, folder in enumerate(places):
            had = self.had(folder, last)
            if not had:
                if file is not None and folder in homes:
                    return None  # found earlier on the path than whatever was there then
                continue
            then = os.path.join(folder, had)
            there = os.path.exists(then)
            if file == then:
                return None
            if had.endswith(os.sep):
                if spec is None or (file is None and then.rstrip(os.sep) not in parts and not there):
                    return then, there
                continue  # a module of that name anywhere else on the path comes first, then as now
            if spec is None or not there or homes.intersection(places[index + 1 :]) - {folder}:
                return then, there
            return None  # another finder's, or new there: that is looked at as any file
        return None


def _home(file: str, last: str) -> str:
    """The directory, or the file, that stands for a module in the folder in which it was found."""
    folder, name = os.path.split(file)
    return folder if name.startswith("__init__.") and os.path.basename(folder) == last else file


def _rank(file: str) -> int:
    suffix = file[len(file.partition(".")[0]) :]
    return _SUFFIXES.index(suffix) if suffix in _SUFFIXES else len(_SUFFIXES)
