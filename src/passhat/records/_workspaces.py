"""Workspaces that trials left, kept as compressed archives: failed trials first, up to a stated size a run."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import tarfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import IO

import msgspec
import zstandard

from passhat.facts import name_in_text
from passhat.isolation import open_regular
from passhat.records._attributes import as_headers, attributes_of
from passhat.records._disk import TEMPORARY, make_folder, open_private, write_all
from passhat.records._errors import disk_error
from passhat.records._folders import slug
from passhat.records._format import WORKSPACES

SUFFIX = ".tar.zst"
DIFF = "PASSHAT.diff"
"""The global PAX header of an archive that holds, as JSON, what the agent changed: a state alone doesn't tell."""

MOST_READ = 1 << 30
"""Bytes that the files of a workspace may have for it to be kept: a sparse file packs well and is read for ever."""
MOST_SECONDS = 60.0
"""Seconds after which a workspace isn't kept."""


class KeptWorkspace(msgspec.Struct, frozen=True):
    """What became of a workspace: the archive's ``name``, or None and the ``reason`` why it wasn't kept.

    ``left_out`` lists sockets, FIFOs, devices and links that leave the workspace: they are never archived.
    """

    name: str | None
    bytes: int = 0
    reason: str = ""
    left_out: tuple[str, ...] = ()


class _NotKept(Exception):
    """The archive may not be made, for the reason given."""


class WorkspaceStore:
    """Keeps workspaces of one run in ``workspaces/``; only for the run's writer.

    Together the archives take at most ``max_bytes``. A failed trial's makes room by taking those of passed trials away,
    oldest first; a passed trial's is kept only where there is room. ``passed`` names archives already there that
    belong to passed trials, for a run that is resumed.
    """

    def __init__(self, run: Path | str, *, max_bytes: int, passed: Collection[str] = ()) -> None:
        self.folder = Path(run) / WORKSPACES
        self.max_bytes = max_bytes
        self._sizes: dict[str, int] = {}
        self._passed: dict[str, None] = {}
        if self.folder.is_dir():
            for path in sorted(self.folder.glob(f"*{SUFFIX}"), key=lambda path: path.stat().st_mtime_ns):
                self._sizes[path.name] = path.stat().st_size
                if path.name in passed:
                    self._passed[path.name] = None
            for leftover in self.folder.glob(f"*{TEMPORARY}"):
                leftover.unlink(missing_ok=True)

    @property
    def bytes(self) -> int:
        """What the kept archives take together."""
        return sum(self._sizes.values())

    def keep(
        self,
        tree: Path,
        *,
        task: str,
        trial: int,
        passed: bool,
        arm: str = "",
        diff: Mapping[str, str] | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> KeptWorkspace:
        """Archive the directory ``tree`` as the workspace of a trial, with what the agent changed in it where known.

        Files that have more than `MOST_READ` bytes together, holes included, aren't kept, and neither is a workspace
        whose archive takes more than `MOST_SECONDS`. ``stop`` is asked on the way: once it says True, no archive is
        made. Raises `RecordError` when the disk fails.
        """
        make_folder(self.folder)
        name = archive_name(task, trial, arm)
        self._forget(name)
        free = self.max_bytes - self.bytes
        room = free if passed else free + sum(self._sizes[other] for other in self._passed)
        temporary = self.folder / f"{name}{TEMPORARY}"
        try:
            left_out = _archive(tree, temporary, _Budget(room, self.max_bytes, stop), diff)
            size = temporary.stat().st_size
            while size > self.max_bytes - self.bytes:
                self._forget(next(iter(self._passed)))
            os.replace(temporary, self.folder / name)
        except _NotKept as why:
            return KeptWorkspace(None, reason=str(why))
        except OSError as error:
            advice = f"The workspace wasn't kept; records are safe. Then: passhat resume {self.folder.parent.name}"
            raise disk_error(error, error.filename or self.folder / name, advice) from error  # a write names no file
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()
        self._sizes[name] = size
        if passed:
            self._passed[name] = None
        return KeptWorkspace(name, size, left_out=left_out)

    def now_passed(self, name: str) -> None:
        """The trial of this archive passes after all: it makes room for those that don't."""
        if name in self._sizes:
            self._passed[name] = None

    def _forget(self, name: str) -> None:
        if self._sizes.pop(name, None) is not None:
            (self.folder / name).unlink(missing_ok=True)
        self._passed.pop(name, None)


def archive_name(task: str, trial: int, arm: str = "") -> str:
    """The file name of a trial's workspace; tasks whose names differ in other characters only don't share one.

    >>> archive_name("refund-1", 3)
    'refund-1-3.tar.zst'
    """
    parts = []
    for text in (arm, task):
        plain = slug(text)
        if text and plain != text:
            plain += "-" + hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:8]
        parts.extend([plain] if text else [])
    return "-".join([*parts, str(trial)]) + SUFFIX


class _Budget:
    """What making one archive may take: bytes read, bytes written, time, and the patience of who waits for it."""

    def __init__(self, room: int, whole: int, stop: Callable[[], bool]) -> None:
        self._room = self._left = room
        self._whole = whole
        self._found = 0
        self._stop = stop
        self._until = time.monotonic() + MOST_SECONDS

    def look(self) -> None:
        """Raise `_NotKept` when it is time to stop."""
        if self._stop():
            raise _NotKept("the run was ended while it was archived")
        if time.monotonic() > self._until:
            raise _NotKept(f"archiving it took more than {MOST_SECONDS:g} s")

    def find(self, size: int) -> None:
        """Count the bytes of a file that is to be read."""
        self._found += size
        if self._found > MOST_READ:
            raise _NotKept(f"its files have more than {MOST_READ} bytes together, holes included")

    def write(self, size: int) -> None:
        """Count bytes of the archive."""
        self._left -= size
        if self._left < 0:
            room = max(self._room, 0)
            raise _NotKept(f"there is room for {room} bytes more in this run's {self._whole}, and it takes more")


class _Bounded:
    """A file to write to that keeps within a budget."""

    def __init__(self, descriptor: int, budget: _Budget) -> None:
        self._descriptor = descriptor
        self._budget = budget

    def write(self, data: bytes) -> int:
        """Write a part; raises `_NotKept` beyond the budget."""
        self._budget.write(len(data))
        write_all(self._descriptor, data)  # a disk that is nearly full takes a part, and nobody asks how much
        return len(data)


class _Watched:
    """A file to read from that keeps within a budget."""

    def __init__(self, file: IO[bytes], budget: _Budget) -> None:
        self._file = file
        self._budget = budget

    def read(self, size: int) -> bytes:
        """Read a part; raises `_NotKept` when it is time to stop."""
        self._budget.look()
        return self._file.read(size)


def _archive(tree: Path, target: Path, budget: _Budget, diff: Mapping[str, str] | None) -> tuple[str, ...]:
    """Write ``tree`` as a compressed archive within the budget; returns what was left out."""
    left_out: list[str] = []
    for _, _, seen in _walk(tree, []):  # before a byte is read
        budget.look()
        budget.find(seen.st_size if stat.S_ISREG(seen.st_mode) else 0)
    headers = None if diff is None else {DIFF: json.dumps(dict(diff))}
    descriptor = open_private(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
        with (
            compressor.stream_writer(_Bounded(descriptor, budget), closefd=False) as packed,  # type: ignore[arg-type]
            tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT, pax_headers=headers) as archive,
        ):
            _add(archive, tree, ".", tree.stat(), budget)  # a global header with nothing behind it can't be read
            for path, name, seen in _walk(tree, left_out):
                budget.look()
                _add(archive, path, name, seen, budget)
    finally:
        os.close(descriptor)
    return tuple(left_out)


def _walk(tree: Path, left_out: list[str]) -> Iterator[tuple[Path, str, os.stat_result]]:
    root = tree.resolve()

    def fail(error: OSError) -> None:
        raise error

    for folder, folders, files in os.walk(root, onerror=fail):
        folders.sort()
        for name in sorted([*folders, *files]):
            path = Path(folder) / name
            relative = str(path.relative_to(root))
            seen = path.lstat()
            if _storable(path, seen, root):
                yield path, relative, seen
            else:
                left_out.append(name_in_text(relative))


def _storable(path: Path, seen: os.stat_result, root: Path) -> bool:
    if stat.S_ISLNK(seen.st_mode):
        aim = os.readlink(path)
        return not os.path.isabs(aim) and Path(os.path.normpath(path.parent / aim)).is_relative_to(root)
    return stat.S_ISREG(seen.st_mode) or stat.S_ISDIR(seen.st_mode)


def _add(archive: tarfile.TarFile, path: Path, name: str, seen: os.stat_result, budget: _Budget) -> None:
    info = tarfile.TarInfo(name)
    info.mode = stat.S_IMODE(seen.st_mode) & 0o777
    info.mtime = seen.st_mtime_ns // 1_000_000_000  # a fraction doesn't survive the archive exactly
    if stat.S_ISLNK(seen.st_mode):
        info.type, info.linkname = tarfile.SYMTYPE, os.readlink(path)
        archive.addfile(info)
    elif stat.S_ISDIR(seen.st_mode):
        info.type = tarfile.DIRTYPE
        archive.addfile(info)
    else:
        info.size = seen.st_size
        info.pax_headers = _headers(path, budget)
        with open(open_regular(path, follow=False), "rb") as file:
            archive.addfile(info, _Watched(file, budget))  # type: ignore[arg-type]


def _headers(path: Path, budget: _Budget) -> dict[str, str]:
    attributes = attributes_of(path)
    budget.find(sum(map(len, attributes.values())))
    try:
        return as_headers(attributes)
    except ValueError as error:
        raise _NotKept(str(error)) from None
