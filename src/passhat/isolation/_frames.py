"""Messages on a byte stream: between runner and supervisor, and from an isolated process to its supervisor."""

from __future__ import annotations

import enum
import struct
from collections.abc import Iterator


class Kind(enum.IntEnum):
    """What a message is. The first group goes down (to the supervisor), the others come up."""

    JOB = 1
    CANCEL = 2
    LEARNED = 3  # to the server: its whole configuration

    EVENT = 11
    PHASE = 12
    RESULT = 13
    ERROR = 14
    MODULES = 15  # user modules that came from disk
    STOPPING = 16  # the tree is being killed
    ENDED = 17
    READY = 20  # the server: what was preloaded
    FAILED = 21
    SLOT = 22
    SETTLED = 23


class BadFrame(Exception):
    """Bytes on the channel that aren't one of our messages."""


class TooBig(Exception):
    """A message announces more bytes than are allowed."""


class Framing:
    """Cuts a byte stream into (kind, body). Each message starts with ``token``, which a stray writer doesn't know."""

    def __init__(self, token: bytes = b"") -> None:
        self._token = token
        self._head = struct.Struct(f">{len(token)}sBI" if token else ">BI")
        self._buffer = bytearray()

    def pack(self, kind: Kind, body: bytes = b"") -> bytes:
        """One message as bytes."""
        head = (self._token, kind, len(body)) if self._token else (kind, len(body))
        return self._head.pack(*head) + body

    @property
    def pending(self) -> int:
        """Bytes of an unfinished message."""
        return len(self._buffer)

    def feed(self, data: bytes, largest: int | None = None) -> Iterator[tuple[Kind, bytes]]:
        """Add bytes and yield the messages that are complete. Raises `BadFrame` or `TooBig`."""
        self._buffer += data
        start = 0
        try:
            while len(self._buffer) - start >= self._head.size:
                *token, number, size = self._head.unpack_from(self._buffer, start)
                if token and token[0] != self._token:
                    raise BadFrame("bytes that aren't a message of this process")
                if largest is not None and size > largest:
                    raise TooBig(f"a message of {size} bytes")
                end = start + self._head.size + size
                if len(self._buffer) < end:
                    return
                body = bytes(memoryview(self._buffer)[start + self._head.size : end])
                start = end
                yield Kind(number), body
        except ValueError:
            raise BadFrame("a message of an unknown kind") from None
        finally:
            del self._buffer[:start]
