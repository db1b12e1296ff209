"""Whole lines of a file that may be growing, or end in a torn line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from passhat.isolation import open_regular
from passhat.records._errors import BadRecord, disk_error

LONGEST_LINE = 256 << 20
T = TypeVar("T")


class Lines:
    """Iterates over (number from 1, line) of the whole lines of a file, one in memory at a time.

    Afterwards ``end`` is where the last whole line ends, and ``torn`` the number of bytes behind it. A file that isn't
    there has no lines. ``upto`` is where the file ends for this reader, if others wrote behind that. Raises
    `RecordError`.
    """

    def __init__(self, path: Path, *, upto: int | None = None) -> None:
        self.path = path
        self._upto = upto
        self.end = 0
        self.torn = 0

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        try:
            descriptor = open_regular(self.path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise disk_error(error, self.path) from error
        with open(descriptor, "rb") as file:
            number = 0
            while (self._upto is None or self.end < self._upto) and (line := file.readline(LONGEST_LINE)):
                number += 1
                if not line.endswith(b"\n"):
                    self.torn = len(line)
                    if len(line) >= LONGEST_LINE:
                        raise BadRecord(self.path, f"is longer than {LONGEST_LINE} bytes", line=number)
                    return
                self.end += len(line)
                yield number, line

    def parsed(self, decode: Callable[[bytes], T], *, skip: int = 0) -> Iterator[tuple[int, T]]:
        """(number, value) of each whole line after the first ``skip``; one that can't be decoded is a `BadRecord`."""
        for number, line in self:
            if number <= skip:
                continue
            try:
                value = decode(line)
            except (ValueError, RecursionError, msgspec.MsgspecError) as error:
                start = line[:60].decode("utf-8", "replace").strip()
                raise BadRecord(self.path, f"isn't a record: {error}. It begins with {start!r}", line=number) from None
            yield number, value
