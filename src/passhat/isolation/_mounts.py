"""What a trial that runs as root mounted below its own directories, which outlives its processes."""

from __future__ import annotations

import ctypes
import os
import re
import sys

_MOUNTS = "/proc/self/mountinfo"
_DETACH = 2
_ESCAPED = re.compile(rb"\\([0-7]{3})")


def unmount_below(folder: str | os.PathLike[str]) -> tuple[str, ...]:
    """Detach every file system mounted at or below ``folder``, the innermost first. Returns where they were.

    Only root can mount there without a namespace of its own, and such a namespace ends with its processes: for anybody
    else there is nothing to do. Raises OSError for one that stays.
    """
    if sys.platform != "linux" or os.geteuid() != 0:
        return ()
    with open(_MOUNTS, "rb") as file:
        found = mounted_below(file.read(), os.fsencode(os.path.realpath(folder)))
    for place in reversed(found):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.umount2(place, _DETACH) < 0:
            number = ctypes.get_errno()
            raise OSError(number, f"can't be unmounted: {os.strerror(number)}", os.fsdecode(place))
    return tuple(os.fsdecode(place) for place in found)


def mounted_below(table: bytes, folder: bytes) -> list[bytes]:
    """The mount points at or below ``folder`` in the text of a ``mountinfo`` file, in its order.

    >>> mounted_below(b"36 35 0:1 / /t/my\\\\040work rw - tmpfs x rw\\n37 35 0:1 / /top rw - tmpfs x rw\\n", b"/t")
    [b'/t/my work']
    """
    found = []
    for line in table.splitlines():
        fields = line.split(b" ")
        place = _ESCAPED.sub(lambda match: bytes([int(match[1], 8)]), fields[4]) if len(fields) > 4 else b""
        if place == folder or place.startswith(folder + b"/"):
            found.append(place)
    return found
