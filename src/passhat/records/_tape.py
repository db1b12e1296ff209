"""An append-only file that knows how it should look: its length, and a running hash of all that was written."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from passhat.records._disk import open_private, write_all
from passhat.records._errors import RunChanged

OTHER_CONTENT = "holds other content than its writer left"
_BLOCK = 1 << 20
_LOST = "Only the runner may write it; run this suite again in a new run directory"
_MENDED = (
    "Only the runner may write it: a trial's agent, or another process, did too. What the runner had recorded until "
    "then counts; passhat resume cuts off the rest and goes on from there. A trial whose agent does this each time it "
    "runs will end that, too: passhat resume --confine lets no trial write there"
)


class Tape:
    """One file with one writer. What is appended is whole or taken back; a change by anybody else is noticed.

    Its content is known by a hash. All methods raise OSError when the disk fails and `RunChanged` when the file isn't
    as it was left.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = open_private(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        seen = os.fstat(self._descriptor)
        self._file = (seen.st_dev, seen.st_ino)
        self._written = seen.st_mtime_ns
        self.end = seen.st_size
        self._hash = hashlib.sha256()
        self._hash_up_to(self._hash, self.end)
        self._before = (self.end, self._hash.copy())  # as it was before the last thing that was appended

    @property
    def digest(self) -> str:
        """The hash of all that its writer has in it."""
        return self._hash.hexdigest()

    def check(self) -> None:
        """Raise `RunChanged` unless the file at this path is the one that was left here, as it was left."""
        try:
            seen = os.lstat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            raise RunChanged(self.path, "is gone: its directory was removed or renamed", _LOST) from None
        if (seen.st_dev, seen.st_ino) != self._file:
            raise self._changed("was replaced by another file")
        if seen.st_size != self.end:
            raise self._changed(f"has {seen.st_size} bytes where its writer left {self.end}")
        if seen.st_mtime_ns != self._written:
            self.verify()
            self._written = seen.st_mtime_ns

    def verify(self) -> None:
        """Read the whole file again and compare its hash."""
        again = hashlib.sha256()
        self._hash_up_to(again, self.end)
        if again.digest() != self._hash.digest():
            raise RunChanged(self.path, OTHER_CONTENT, _LOST)

    def append(self, data: bytes, midway: Callable[[], None]) -> int:
        """Write ``data`` at the end and return where it begins; on any failure the file ends where it did.

        ``midway`` is called when half of the data is written.
        """
        offset = self.end
        half = len(data) // 2
        try:
            write_all(self._descriptor, data[:half])
            midway()
            write_all(self._descriptor, data[half:])
        except BaseException:
            self.cut(offset)
            raise
        seen = os.fstat(self._descriptor)
        if seen.st_size != offset + len(data):
            raise self._changed(f"has {seen.st_size} bytes where its writer left {offset + len(data)}")
        self.end = seen.st_size
        self._before = (offset, self._hash.copy())
        self._hash.update(data)
        self._written = seen.st_mtime_ns
        return offset

    def cut(self, end: int) -> None:
        """Let the file end at ``end``, as it did before the last thing that was appended or does now; a longer file is
        cut, a shorter one padded with zeros."""
        if end == self._before[0]:
            self._hash = self._before[1].copy()
        with contextlib.suppress(OSError):  # what stays behind is an orphan that resume cuts, or a torn line
            os.ftruncate(self._descriptor, end)
        seen = os.fstat(self._descriptor)
        self.end, self._written = min(end, seen.st_size), seen.st_mtime_ns

    def sync(self) -> None:
        """Make everything appended so far durable."""
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Close the file; more than once is fine."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)

    def _hash_up_to(self, digest: hashlib._Hash, end: int) -> None:
        offset = 0
        while offset < end and (block := os.pread(self._descriptor, min(_BLOCK, end - offset), offset)):
            digest.update(block)
            offset += len(block)

    def _changed(self, problem: str) -> RunChanged:
        return RunChanged(self.path, problem, _MENDED)
