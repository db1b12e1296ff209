"""What a process wrote, kept in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Callable

_AT_ONCE = 1 << 16
_READS = 16  # per readiness, so that a flood can't keep the supervisor from its clock


class Kept:
    """The first and the last half of ``capacity`` bytes of a stream."""

    def __init__(self, capacity: int) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._head_room = capacity - capacity // 2
        self._tail_room = capacity // 2
        self.total = 0

    def add(self, data: bytes) -> None:
        """Take more bytes."""
        self.total += len(data)
        room = self._head_room - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail += data
            if len(self._tail) > 2 * self._tail_room + _AT_ONCE:
                self._trim()

    def _trim(self) -> None:
        if len(self._tail) > self._tail_room:
            del self._tail[: len(self._tail) - self._tail_room]

    def text(self) -> str:
        """What was kept; bytes that aren't UTF-8 are replaced, and a gap is named."""
        self._trim()
        gap = self.total - len(self._head) - len(self._tail)
        if gap == 0:
            return (self._head + self._tail).decode("utf-8", "replace")
        left_out = f"\n… {gap:,} bytes left out …\n"
        return self._head.decode("utf-8", "replace") + left_out + self._tail.decode("utf-8", "replace")


def read_some(descriptor: int, take: Callable[[bytes], None]) -> bool:
    """Pass on what is there, at most about a megabyte. False at the end of the stream."""
    for _ in range(_READS):
        try:
            data = os.read(descriptor, _AT_ONCE)
        except BlockingIOError:
            return True
        if not data:
            return False
        take(data)
    return True
