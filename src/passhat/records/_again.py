"""Recorded trials that a resume grades again: their new lines wait beside, and then replace the old ones at once.

Until then every trial has the line that it had. A process that is killed in between loses nothing: what waits is taken
over by the next writer of the run.
"""

from __future__ import annotations

import os
from pathlib import Path

from passhat.facts import TrialKey
from passhat.isolation import open_regular
from passhat.records._disk import open_private, replace_durably, sync_folder, write_all, write_durably
from passhat.records._errors import RunChanged
from passhat.records._format import AGAIN, SUPERSEDED, TRIALS, decode_record
from passhat.records._lines import Lines


def wait_beside(run: Path, line: bytes) -> int:
    """Add the new line of a trial to those that wait; how many bytes that is."""
    descriptor = open_private(run / AGAIN, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        before = os.fstat(descriptor).st_size
        try:
            write_all(descriptor, line)
        except BaseException:
            os.ftruncate(descriptor, before)
            raise
    finally:
        os.close(descriptor)
    return len(line)


def check_waiting(run: Path, size: int) -> None:
    """Raise `RunChanged` unless the lines that wait are those that the writer left, ``size`` bytes of them."""
    try:
        seen = os.lstat(run / AGAIN).st_size
    except FileNotFoundError:
        seen = 0
    if seen != size:
        raise RunChanged(run / AGAIN, f"has {seen} bytes where its writer left {size}", "Only the runner may write it")


def take_over(run: Path) -> int:
    """Put the lines that wait in place of the old ones, which move to ``superseded.jsonl``. How many there were.

    What is written is durable before anything is replaced, and doing it again after a crash changes nothing more.
    """
    waiting = _Waiting(run)
    if not waiting.places:
        waiting.remove()
        return 0
    moved = [line for _, line in Lines(run / TRIALS) if waiting.replaces(line)]
    append_durably(run / SUPERSEDED, moved)
    replace_durably(run / TRIALS, (waiting.current(line) for _, line in Lines(run / TRIALS)))
    sync_folder(run)
    waiting.remove()
    return len(moved)


class _Waiting:
    """The lines that wait, found by trial and read when they are needed."""

    def __init__(self, run: Path) -> None:
        self._path = run / AGAIN
        self.places: dict[TrialKey, tuple[int, int]] = {}
        lines = Lines(self._path)
        for _, (record, size) in lines.parsed(lambda line: (decode_record(line), len(line))):
            self.places[record.key] = (lines.end - size, size)

    def current(self, line: bytes) -> bytes:
        """The line that a trial has from now on."""
        record = decode_record(line)
        place = self.places.get(record.key)
        if place is None:
            return line
        with open(open_regular(self._path), "rb") as file:
            file.seek(place[0])
            return file.read(place[1])

    def replaces(self, line: bytes) -> bool:
        """Whether a line is an old one."""
        return self.current(line) != line

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)


def append_durably(path: Path, new: list[bytes]) -> None:
    """Add whole lines to a file of lines, behind its last whole line, and none that is there already."""
    earlier = Lines(path)
    known = set(new)
    for _, line in earlier:
        known.discard(line)
    write_durably(path, earlier.end, (line for line in new if line in known))
