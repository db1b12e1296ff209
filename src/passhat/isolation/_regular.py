"""Opening a file that somebody may have put something else in the place of: a FIFO is waited for without end."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat

LARGEST = 1 << 30
"""Bytes that are read into memory: a sparse file of a terabyte takes no place on the disk."""

_KINDS = (
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class NotAFile(OSError):
    """Something that is no regular file, or a larger one than is read."""


def open_regular(
    path: str | os.PathLike[str], flags: int = os.O_RDONLY, mode: int = 0o666, *, follow: bool = True
) -> int:
    """A descriptor of a regular file, which isn't inherited; nothing else is waited for or written to.

    ``flags`` are those of `os.open`. Without ``follow`` a link isn't followed. Raises OSError, `NotAFile` among them.
    """
    nofollow = 0 if follow else getattr(os, "O_NOFOLLOW", 0)
    with contextlib.suppress(FileNotFoundError):  # it may be made now
        _check(os.stat(path, follow_symlinks=follow))  # opening a device may have effects already
    truncate = flags & os.O_TRUNC
    descriptor = os.open(path, (flags & ~truncate) | os.O_NONBLOCK | os.O_CLOEXEC | nofollow, mode)
    try:
        _check(os.fstat(descriptor))
        if truncate:
            os.ftruncate(descriptor, 0)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_regular(path: str | os.PathLike[str], *, largest: int = LARGEST) -> bytes:
    """The content of a regular file of at most ``largest`` bytes. Raises OSError, `NotAFile` among them.

    >>> read_regular(os.devnull)
    Traceback (most recent call last):
        ...
    passhat.isolation._regular.NotAFile: is a device, where a file should be
    """
    with open(open_regular(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > largest:
            raise NotAFile(f"has {size} bytes; at most {largest} are read")
        return file.read(largest)


def read_named(path: str | os.PathLike[str]) -> bytes:
    """The content of a file that a user names: as `read_regular`, and ``/dev/stdin`` and its like are read to the end.

    Raises OSError.
    """
    if os.path.abspath(path).startswith(("/dev/", "/proc/")):
        with open(path, "rb") as file:
            return file.read()
    return read_regular(path)


def text_of(data: bytes, encoding: str = "utf-8", errors: str = "strict") -> str:
    """What a text file's bytes say, with the ends of its lines as when it is opened as text.

    Raises UnicodeDecodeError.

    >>> text_of(b"a\\r\\nb\\rc\\n").split("\\n")
    ['a', 'b', 'c', '']
    """
    return io.TextIOWrapper(io.BytesIO(data), encoding, errors).read()


def _check(seen: os.stat_result) -> None:
    if stat.S_ISREG(seen.st_mode) or stat.S_ISLNK(seen.st_mode):  # a link that isn't followed is refused by its opening
        return
    if stat.S_ISDIR(seen.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    kind = next((words for is_one, words in _KINDS if is_one(seen.st_mode)), "no file")
    raise NotAFile(f"is {kind}, where a file should be")
