"""The environment that this process was started with, which the kernel shows to others for as long as it lives."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable

_ENV_START = 47  # of the fields of /proc/self/stat that follow the name: 50 and 51 in proc(5)


def hide_in_own_block(is_secret: Callable[[str], bool]) -> int:
    """Blank the values of secret variables in ``/proc/<this process>/environ``; returns how many there were.

    Changing ``os.environ`` doesn't: that leaves the block at the bottom of the stack as it was. The variables keep
    their values for this process and for what it starts: they are set anew, elsewhere, before the old text goes. Does
    nothing where there is no such file. Whoever may read this process's memory finds them all the same.
    """
    if sys.platform != "linux":
        return 0
    try:
        start, block = _block()
    except (OSError, ValueError, IndexError):
        return 0
    hidden, place = 0, start
    for entry in block.split(b"\0"):
        name, _, value = entry.partition(b"=")
        if value and is_secret(os.fsdecode(name)):
            now = os.environb.get(name)
            if now is not None:
                os.putenv(name, now)
            else:
                os.unsetenv(name)
            ctypes.memset(place + len(name) + 1, 0, len(value))
            hidden += 1
        place += len(entry) + 1
    return hidden


def _block() -> tuple[int, bytes]:
    """Where the block is, and what is in it. ValueError when the kernel shows something else."""
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    start, end = int(fields[_ENV_START]), int(fields[_ENV_START + 1])
    with open("/proc/self/environ", "rb") as file:
        shown = file.read()
    if not 0 < start < end or len(shown) != end - start or ctypes.string_at(start, end - start) != shown:
        raise ValueError("the block isn't where it should be")
    return start, shown
