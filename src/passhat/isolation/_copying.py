"""Copy a file without filling its holes: a sparse file of a terabyte may hold nothing at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator

_PART = 1 << 20


def copy_file(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Copy content, mode and times of a regular file; what is a hole in ``source`` is one in ``target``."""
    status = os.stat(source)
    if not hasattr(os, "SEEK_DATA") or status.st_blocks * 512 >= status.st_size:
        shutil.copy2(source, target)
        return
    with open(source, "rb", buffering=0) as read, open(target, "wb", buffering=0) as written:
        for start, end in data_of(read.fileno(), status.st_size):
            read.seek(start)
            written.seek(start)
            while start < end and (part := read.read(min(_PART, end - start))):
                start += written.write(part)
                read.seek(start)
        written.truncate(status.st_size)
    shutil.copystat(source, target)


def data_of(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """Where the ``size`` bytes of an open file aren't a hole: (start, end), in order."""
    at = 0
    while at < size:
        try:
            start = os.lseek(descriptor, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # a hole up to the end
                return
            raise
        at = os.lseek(descriptor, start, os.SEEK_HOLE)
        yield start, min(at, size)
