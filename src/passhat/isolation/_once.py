"""A file read once, through one descriptor: what is looked at and what is then run are the same bytes.

A file that is looked at by its name and opened by it again can be another one by then.
"""

from __future__ import annotations

import errno
import hashlib
import os
from typing import NamedTuple

from passhat.isolation._regular import open_regular


class Once(NamedTuple):
    """The bytes of a file, and the file system's last change of it, taken after they were read."""

    data: bytes
    changed: int  # nanoseconds since the epoch

    @property
    def digest(self) -> str:
        """SHA-256 of the bytes."""
        return hashlib.sha256(self.data).hexdigest()


def read_once(file: str, most: int | None = None) -> Once:
    """Read a regular file; OSError for anything else, and for one of more than ``most`` bytes."""
    number = open_regular(file)
    try:
        status = os.fstat(number)
        if most is not None and status.st_size > most:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), file)
        parts = [os.read(number, status.st_size + 1)]
        while parts[-1]:
            parts.append(os.read(number, 1 << 20))
        return Once(b"".join(parts), os.fstat(number).st_ctime_ns)
    finally:
        os.close(number)
