"""The few ways in which a run directory touches the disk: private, whole, durable."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from passhat.isolation import open_regular
from passhat.records._errors import disk_error

FILE_MODE = 0o600
FOLDER_MODE = 0o700
TEMPORARY = ".tmp"


def make_folder(path: Path) -> None:
    """Make a directory that only its owner can enter; fine if it is there. Raises `RecordError`."""
    try:
        path.mkdir(mode=FOLDER_MODE, exist_ok=True)
    except OSError as error:
        raise disk_error(error, path) from error


def open_private(path: Path, flags: int) -> int:
    """Open a file of mode 0600 without following a link; the descriptor isn't inherited.

    Raises OSError, also for what is no regular file: that isn't waited for.
    """
    return open_regular(path, flags, FILE_MODE, follow=False)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte, however many calls that takes. Raises OSError, with part of the data perhaps written."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_folder(path: Path) -> None:
    """Make names in a directory durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: Path, data: bytes, midway: Callable[[], None] = lambda: None) -> None:
    """Put ``data`` in place of a file so that a reader sees the old or the new content, never a part. Raises OSError.

    ``midway`` is called when half of the new content is on disk under its temporary name.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}{TEMPORARY}")
    descriptor = open_private(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        try:
            write_all(descriptor, data[: len(data) // 2])
            midway()
            write_all(descriptor, data[len(data) // 2 :])
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(path.parent)


def replace_durably(path: Path, lines: Iterable[bytes]) -> None:
    """Write a file anew, in one step."""
    rest = path.with_name(f"{path.name}{TEMPORARY}")
    write_durably(rest, 0, lines)
    os.replace(rest, path)


def write_durably(path: Path, start: int, lines: Iterable[bytes]) -> None:
    """Write lines from an offset on; nothing is behind them afterwards."""
    descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
    try:
        os.ftruncate(descriptor, start)
        os.lseek(descriptor, start, os.SEEK_SET)
        for line in lines:
            write_all(descriptor, line)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sweep_temporaries(folder: Path) -> None:
    """Remove what a killed `replace_file` or `replace_durably` left behind; only for the holder of the lock."""
    for leftover in folder.glob(f"*{TEMPORARY}"):
        with contextlib.suppress(OSError):
            leftover.unlink()
