"""Which trial was under way when a file was changed: by the clock with which the file system stamps files."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

TICK = 20_000_000  # nanoseconds by which a file system's clock may be behind


class Span:
    """From the start to the end of something that ``owner`` does, in nanoseconds since the epoch."""

    __slots__ = ("began", "ended", "forgotten", "owner")

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.began = time.time_ns()
        self.ended: int | None = None
        self.forgotten = False

    def end(self) -> None:
        """It is over. The first time counts."""
        self.ended = self.ended or time.time_ns()

    def has(self, at: int) -> bool:
        """Whether a stamp may be of this time."""
        return self.began - TICK <= at and (self.ended is None or at <= self.ended)


class Spans:
    """What goes on at the same time. What is over is kept as long as somebody may ask about it."""

    def __init__(self) -> None:
        self._spans: list[Span] = []

    def begin(self, owner: Any) -> Span:
        """Something begins now."""
        span = Span(owner)
        self._spans.append(span)
        return span

    def forget(self, span: Span) -> None:
        """Nobody will ask about it any more."""
        span.end()
        span.forgotten = True
        first = min((each.began for each in self._spans if not each.forgotten), default=time.time_ns())
        self._spans = [each for each in self._spans if (each.ended or first) >= first - TICK]

    @contextmanager
    def during(self, owner: Any) -> Iterator[None]:
        """Something that is only asked about by others."""
        span = self.begin(owner)
        try:
            yield
        finally:
            self.forget(span)

    def owners(self, at: int) -> set[Any]:
        """Who was under way at that time, as far as it is known."""
        return {each.owner for each in self._spans if each.has(at)}
