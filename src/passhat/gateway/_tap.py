"""Reads server-sent events off a stream of raw bytes, and holds back those that the agent mustn't see."""

from __future__ import annotations

from typing import Any

import msgspec

from passhat.gateway._wires._shape import Watch, part

_decode = msgspec.json.Decoder().decode


class Tap:
    """Feed it raw bytes, pass on what it returns. ``watch`` is told every event; ``events`` keeps them when wanted."""

    def __init__(self, watch: Watch, *, hide_usage: bool = False, keep: bool = False) -> None:
        self.watch = watch
        self.events: list[Any] = []
        self._hide = hide_usage
        self._keep = keep
        self._rest = b""

    def feed(self, raw: bytes) -> bytes:
        """The bytes to pass on: all of them, or whole events without the hidden one."""
        self._rest += raw
        passed: list[bytes] = []
        while True:
            end = _event_end(self._rest)
            if end < 0:
                break
            block, self._rest = self._rest[:end], self._rest[end:]
            if not (self._take(block) and self._hide):
                passed.append(block)
        return b"".join(passed) if self._hide else raw

    def rest(self) -> bytes:
        """What is left when the stream has ended: an event without its blank line."""
        rest, self._rest = self._rest, b""
        if rest.strip():
            self._take(rest)
        return rest if self._hide else b""

    def _take(self, block: bytes) -> bool:
        """Read one event; True for a chunk that holds nothing but the usage."""
        lines = block.splitlines()
        data = b"\n".join(line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:"))
        if not data:
            return False
        event = decode_event(data)
        self.watch.feed(event)
        if self._keep:
            self.events.append(event)
        return part(event, "choices") == [] and part(event, "usage") is not None


def decode_event(data: bytes) -> Any:
    """An event's data: JSON, or the text that stands there."""
    try:
        return _decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return data.decode("utf-8", "replace").strip()


def _event_end(data: bytes) -> int:
    """Where the first event ends, its blank line included; -1 when it isn't there yet."""
    ends = [at + len(mark) for mark in (b"\n\n", b"\r\n\r\n", b"\r\r") if (at := data.find(mark)) >= 0]
    return min(ends, default=-1)
