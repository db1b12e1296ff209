"""Looking into a kept workspace without unpacking it."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import IO

import msgspec
import zstandard

from passhat.records._errors import BadRecord, disk_error

_MOST_FILES = 200
_HEAD = 4_000
_MOST_BYTES = 64 << 20


class WorkspaceFile(msgspec.Struct, frozen=True):
    """A file in a kept workspace: its path, its size in bytes, and how it begins (None when it isn't text)."""

    name: str
    size: int
    text: str | None = None


class _Enough(Exception):
    """More would have to be read than is looked at."""


class _Bounded:
    """Reads at most so many bytes."""

    def __init__(self, source: IO[bytes], room: int) -> None:
        self._source = source
        self._room = room

    def read(self, size: int) -> bytes:
        """The next bytes; raises `_Enough` beyond the bound."""
        data = self._source.read(size)
        self._room -= len(data)
        if self._room < 0:
            raise _Enough
        return data


def workspace_files(
    archive: Path, *, most: int = _MOST_FILES, head: int = _HEAD, max_bytes: int = _MOST_BYTES
) -> list[WorkspaceFile]:
    """The first files of an archive of a workspace, in its order, each with its first ``head`` bytes if they are text.

    Nothing is written and links aren't followed. At most ``most`` files and ``max_bytes`` unpacked bytes are looked at.
    Raises `BadRecord` for a damaged archive.
    """
    found: list[WorkspaceFile] = []
    try:
        with (
            archive.open("rb") as file,
            zstandard.ZstdDecompressor().stream_reader(file) as plain,
            tarfile.open(fileobj=_Bounded(plain, max_bytes), mode="r|") as members,  # type: ignore[call-overload]
        ):
            for member in members:
                if len(found) >= most:
                    break
                if member.isreg():
                    source = members.extractfile(member)
                    found.append(WorkspaceFile(member.name, member.size, _text(source.read(head) if source else b"")))
                elif member.issym():
                    found.append(WorkspaceFile(f"{member.name} -> {member.linkname}", 0))
    except _Enough:
        pass
    except (tarfile.TarError, zstandard.ZstdError, EOFError, ValueError) as error:
        raise BadRecord(archive, f"is damaged: {error}") from None
    except OSError as error:
        raise disk_error(error, archive) from error
    return found


def _text(data: bytes) -> str | None:
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        return data[: error.start].decode() if error.start > len(data) - 4 and error.start else None
