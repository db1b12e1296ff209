"""Looking into a kept workspace without unpacking it."""

from __future__ import annotations

import tarfile
from pathlib import Path

import msgspec
import zstandard

from passhat.facts import name_in_text
from passhat.records._errors import BadRecord, disk_error
from passhat.records._packed import Enough, opened
from passhat.records._unpack import diff_in

_MOST_FILES = 200
_HEAD = 4_000
_MOST_BYTES = 64 << 20


class WorkspaceFile(msgspec.Struct, frozen=True):
    """A file in a kept workspace: its path, its size in bytes, and how it begins (None when it isn't text).

    ``change`` is "added", "changed" or "removed" since the trial began (a removed one has no size), empty for a file
    that is as it was, and None where that isn't known.
    """

    name: str
    size: int = 0
    text: str | None = None
    change: str | None = None


class WorkspaceContent(msgspec.Struct, frozen=True):
    """What is in a kept workspace: ``files`` in its order, those that changed first; ``others`` more weren't listed.

    ``compared``: what changed since the trial began is known. ``complete``: all of it was looked at.
    """

    files: tuple[WorkspaceFile, ...]
    others: int
    compared: bool
    complete: bool


def workspace_content(
    archive: Path, *, most: int = _MOST_FILES, head: int = _HEAD, max_bytes: int = _MOST_BYTES
) -> WorkspaceContent:
    """Which files an archive of a workspace holds, and what the trial changed; each with its first ``head`` bytes.

    Nothing is written and links aren't followed. At most ``most`` files are listed, and at most ``max_bytes`` unpacked.
    Raises `BadRecord` for a damaged archive.
    """
    found = _Listing(most, head)
    complete = False
    try:
        with opened(archive, max_bytes) as members:
            for member in members:
                if found.diff is None:
                    found.diff = diff_in(members, archive)
                found.see(members, member)
        complete = True
    except Enough:
        pass
    except (tarfile.TarError, zstandard.ZstdError, EOFError, ValueError) as error:
        raise BadRecord(archive, f"is damaged: {error}") from None
    except OSError as error:
        raise disk_error(error, archive) from error
    return found.content(complete=complete)


class _Listing:
    """Collects files: those that changed, and as many others as there is room for."""

    def __init__(self, most: int, head: int) -> None:
        self.diff: dict[str, str] | None = None
        self._most = most
        self._head = head
        self._changed: list[WorkspaceFile] = []
        self._same: list[WorkspaceFile] = []
        self._others = 0

    def see(self, members: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        """Take one member of the archive."""
        if not (member.isreg() or member.issym()):
            return
        shown = name_in_text(member.name)
        change = None if self.diff is None else self.diff.get(shown, "")
        kept = self._changed if change else self._same
        if len(kept) >= self._most:
            self._others += 1
            return
        text = None
        if member.isreg() and change != "":
            source = members.extractfile(member)
            text = _text(source.read(self._head) if source else b"")
        name = shown if member.isreg() else f"{shown} -> {name_in_text(member.linkname)}"
        kept.append(WorkspaceFile(name, member.size, text, change))

    def content(self, *, complete: bool) -> WorkspaceContent:
        """What was found, those that changed first."""
        removed = [
            WorkspaceFile(name, change=change) for name, change in (self.diff or {}).items() if change == "removed"
        ]
        files = (*self._changed, *removed, *self._same)
        others = self._others + max(0, len(files) - self._most)
        return WorkspaceContent(files[: self._most], others, self.diff is not None, complete)


def _text(data: bytes) -> str | None:
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        return data[: error.start].decode() if error.start > len(data) - 4 and error.start else None
