"""Reading a kept workspace's archive, from its beginning to its true end."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import zstandard

from passhat.isolation import open_regular

_STEP = 1024
"""Bytes unpacked at a time: whatever they hold, that is 32 MB at most."""


class Enough(Exception):
    """More would have to be read than was meant to be."""


class _Plain:
    """What a compressed file holds, of which at most ``room`` bytes are read; EOFError where the file was cut."""

    def __init__(self, file: IO[bytes], room: int | None) -> None:
        self._file = file
        self._room = room
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._waiting = bytearray()

    def read(self, size: int) -> bytes:
        """The next bytes, fewer only at the end; raises `Enough` beyond the bound."""
        while len(self._waiting) < size and not self._frame.eof:
            part = self._file.read(_STEP)
            if not part:
                raise EOFError("it was cut short")
            self._waiting += self._frame.decompress(part)
        data = bytes(self._waiting[:size])
        del self._waiting[:size]
        if self._room is not None:
            self._room -= len(data)
            if self._room < 0:
                raise Enough
        return data


@contextmanager
def opened(archive: Path, max_bytes: int | None = None) -> Iterator[tarfile.TarFile]:
    """The members of an archive, to be read to the end: leaving the context makes sure that nothing is missing.

    An archive that was cut between two files looks whole to a reader of tar files, and its checksum is behind the last
    of them. Raises EOFError for one that was cut, `Enough` when more than ``max_bytes`` would be unpacked, and what
    zstandard, tarfile and the disk raise.
    """
    with open(open_regular(archive), "rb") as file:
        plain = _Plain(file, max_bytes)
        with tarfile.open(fileobj=plain, mode="r|") as members:  # type: ignore[call-overload]
            yield members
        rest = plain.read(2 * tarfile.RECORDSIZE)  # the last of two empty blocks may begin a record of its own
        if len(rest) > tarfile.RECORDSIZE or rest.strip(b"\0") or file.read(1):
            raise EOFError("something follows its end")
