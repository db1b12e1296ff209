"""The pages of memory that a job's process writes to, found out once, and had ready in each fork before its job begins.

A fork shares its parent's memory until it writes to it; then each page costs a fault and a copy, a thousand for a job
that does nothing. Nearly all of them are the same in each job: the interpreter's counters and tables, and the objects
of passhat's own code. One call copies them ahead. Where the kernel has no such call (Linux 6.13), nothing happens.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import os
from collections.abc import Iterable, Iterator, Sequence

from passhat.isolation import _linux

_PAGE = os.sysconf("SC_PAGE_SIZE")
_POPULATE_READ, _POPULATE_WRITE = 22, 23  # MADV_…, Linux 5.14
_SYS_PROCESS_MADVISE = 440
_MOST_RANGES = 1024  # of one call
_MOST_GAPS = 8
_PRESENT, _FILE, _OURS = 1 << 63, 1 << 61, 1 << 56  # Documentation/admin-guide/mm/pagemap.rst

Range = tuple[int, int]  # first address, bytes
Used = tuple[list[Range], list[Range]]  # written to; read of files


class Pages:
    """Ranges of addresses to be written to, and to be read, in the form that the kernel wants."""

    def __init__(self, written: Sequence[Range] = (), read: Sequence[Range] = ()) -> None:
        self.count = sum(size for _, size in written) // _PAGE
        self._calls = [
            (advice, part, (ctypes.c_size_t * (2 * len(part)))(*(number for each in part for number in each)))
            for advice, ranges in ((_POPULATE_WRITE, written), (_POPULATE_READ, read))
            for part in _parts(ranges)
        ]

    def touch(self) -> None:
        """Copy and map them into this process, as far as they are part of it."""
        if not self._calls:
            return
        with contextlib.suppress(OSError):
            myself = os.pidfd_open(os.getpid())
            try:
                for advice, part, vector in self._calls:
                    _populate(myself, advice, part, vector)
            finally:
                os.close(myself)


def _populate(myself: int, advice: int, part: Sequence[Range], vector: ctypes.Array[ctypes.c_size_t]) -> None:
    """All ranges in one call, or in a few: it stops at one that isn't there any more."""
    begun = 0
    for _ in range(_MOST_GAPS):
        place = ctypes.byref(vector, 2 * ctypes.sizeof(ctypes.c_size_t) * begun)
        count = len(part) - begun
        done = _linux.syscall(_SYS_PROCESS_MADVISE, myself, place, count, advice, 0, what="process_madvise")
        while begun < len(part) and done >= part[begun][1]:
            done -= part[begun][1]
            begun += 1
        begun += 1
        if begun >= len(part):
            return


def _parts(ranges: Sequence[Range]) -> Iterator[Sequence[Range]]:
    for first in range(0, len(ranges), _MOST_RANGES):
        yield ranges[first : first + _MOST_RANGES]


def used_by(pid: int) -> Used:
    """What a process has written to, and what it has read of files, since another one that shares all the rest.

    Raises OSError where that can't be seen.
    """
    written: list[Range] = []
    read: list[Range] = []
    with open(f"/proc/{pid}/maps", "rb") as maps:
        places = [line.split(None, 5) for line in maps]
    with open(f"/proc/{pid}/pagemap", "rb", buffering=0) as pagemap:
        for fields in places:
            first, last = (int(number, 16) for number in fields[0].split(b"-"))
            if fields[1][:1] != b"r" or fields[1][3:4] != b"p" or first >= 1 << 63:
                continue
            states = array.array("Q", os.pread(pagemap.fileno(), (last - first) // _PAGE * 8, first // _PAGE * 8))
            if fields[1][1:2] == b"w":
                _collect(written, first, (bool(state & _PRESENT and state & _OURS) for state in states))
            else:
                _collect(read, first, (bool(state & _PRESENT and state & _FILE) for state in states))
    return written, read


def _collect(ranges: list[Range], first: int, wanted: Iterable[bool]) -> None:
    for number, yes in enumerate(wanted):
        if yes:
            start = first + number * _PAGE
            if ranges and sum(ranges[-1]) == start:
                ranges[-1] = (ranges[-1][0], ranges[-1][1] + _PAGE)
            else:
                ranges.append((start, _PAGE))
