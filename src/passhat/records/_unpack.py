"""Unpacking a kept workspace without trusting it: nothing is written outside the target, whoever made the archive."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
from pathlib import Path, PurePosixPath

import msgspec
import zstandard

from passhat.facts import name_in_text
from passhat.records._attributes import restore_attributes
from passhat.records._disk import open_private
from passhat.records._errors import BadRecord, disk_error
from passhat.records._packed import opened
from passhat.records._workspaces import DIFF

MOST_BYTES = 8 << 30
MOST_MEMBERS = 1_000_000


def unpack_workspace(archive: Path, target: Path, *, max_bytes: int = MOST_BYTES) -> dict[str, str] | None:
    """Unpack an archive of `WorkspaceStore` into ``target``, an empty directory (made if it isn't there).

    Returns what the agent changed, by path: "added", "removed" or "changed"; None where the archive doesn't tell.
    Only files, directories and links that stay inside are accepted. Links are made last, so that no file is written
    through one. Everything can be written by its owner afterwards. Raises `BadRecord` for anything else in the archive,
    a damaged one, or one that holds more than ``max_bytes``; what was unpacked until then stays in ``target``.
    """
    try:
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise BadRecord(target, "isn't empty", "Unpack a workspace into a directory of its own")
        with opened(archive) as members:
            _unpack(members, archive, target.resolve(), max_bytes)
            return diff_in(members, archive)
    except (tarfile.TarError, zstandard.ZstdError, EOFError) as error:
        raise BadRecord(archive, f"is damaged: {error}") from None
    except OSError as error:
        raise disk_error(error, error.filename or archive) from error


def diff_in(members: tarfile.TarFile, archive: Path) -> dict[str, str] | None:
    """What the agent changed, as an open archive tells it; None where it doesn't. Raises `BadRecord`."""
    text = members.pax_headers.get(DIFF)
    if text is None:
        return None
    try:
        changes = msgspec.convert(json.loads(text), dict[str, str])
        return {name if _is_text(name) else name_in_text(name): change for name, change in changes.items()}
    except (ValueError, RecursionError) as error:
        raise BadRecord(archive, f"its list of changes is damaged: {error}") from None


def _is_text(name: str) -> bool:
    """Whether a name is as it is stored now; earlier archives have such names as they were on disk."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unpack(members: tarfile.TarFile, archive: Path, root: Path, room: int) -> None:
    links: list[tuple[Path, str]] = []
    for number, member in enumerate(members):
        room -= member.size
        if room < 0 or number >= MOST_MEMBERS:
            raise BadRecord(archive, "holds more than is unpacked", "See max_bytes")
        if member.isdir() and member.name == ".":
            continue  # the workspace itself
        path = _inside(member.name, archive, root)
        if member.isdir():
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        elif member.issym():
            links.append((path, _aim(member, archive, path, root)))
        elif member.isreg():
            _write(members, member, path, archive)
        else:
            raise BadRecord(archive, f"{member.name!r} is neither a file, a directory nor a symbolic link")
    _link(links, archive, root)


def _link(links: list[tuple[Path, str]], archive: Path, root: Path) -> None:
    """Make the links; all or, when one leaves the workspace through another, none."""
    made: list[Path] = []
    try:
        for path, aim in links:
            _stays(path.parent, archive, root)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.symlink_to(aim)
            made.append(path)
        for path in made:
            _stays(path, archive, root)
    except BaseException:
        for path in reversed(made):
            path.unlink()
        raise


def _stays(path: Path, archive: Path, root: Path) -> None:
    try:
        inside = path.resolve().is_relative_to(root)
    except RuntimeError:  # a circle of links, in Python before 3.13
        inside = True
    if not inside:
        raise BadRecord(archive, f"{path.relative_to(root)} leaves the workspace through a link")


def _inside(name: str, archive: Path, root: Path) -> Path:
    parts = PurePosixPath(name)
    if not parts.parts or parts.is_absolute() or ".." in parts.parts or "\0" in name:
        raise BadRecord(archive, f"{name!r} isn't a path inside a workspace")
    return root.joinpath(*parts.parts)


def _aim(member: tarfile.TarInfo, archive: Path, path: Path, root: Path) -> str:
    aim = member.linkname
    if os.path.isabs(aim) or not Path(os.path.normpath(path.parent / aim)).is_relative_to(root):
        raise BadRecord(archive, f"the link {member.name!r} -> {aim!r} leaves the workspace")
    return aim


def _write(members: tarfile.TarFile, member: tarfile.TarInfo, path: Path, archive: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    source = members.extractfile(member)
    descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with open(descriptor, "wb") as file:
        if source is not None:
            shutil.copyfileobj(source, file)
        os.fchmod(descriptor, member.mode & 0o777 | 0o600)
    try:
        restore_attributes(member, path)
    except OSError as error:
        why = f"{member.name!r} has extended attributes, which can't be set below {path.parent}: {error.strerror}"
        raise BadRecord(archive, why, "Set TMPDIR to a file system that has them") from None
    os.utime(path, (member.mtime, member.mtime))
