"""Which trial was under way when a file was changed: by the clock with which the file system stamps files."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_COARSE = 5  # CLOCK_REALTIME_COARSE, with which Linux stamps files; newer kernels stamp some by the finer one
TICK = 20_000_000  # nanoseconds by which a file system's clock may be behind


class Span:
    """From the start to the end of something that ``owner`` does, in nanoseconds since the epoch.

    ``turn``: when the agent of a trial could begin at the earliest, by the file system's clock. Before that it was the
    suite's code that ran, which makes the trial's world. None: it has not begun, or nothing ran before it.
    ``alone``: when it began all data was in its place, and no code of the suite's runs beside its agent.
    """

    __slots__ = ("alone", "began", "ended", "forgotten", "owner", "turn")

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.began = time.time_ns()
        self.ended: int | None = None
        self.forgotten = False
        self.turn: int | None = None
        self.alone = False

    def end(self) -> None:
        """It is over. The first time counts."""
        self.ended = self.ended or time.time_ns()

    def has(self, at: int) -> bool:
        """Whether a stamp may be of this time."""
        return self.began - TICK <= at and (self.ended is None or at <= self.ended)

    def before_turn(self, at: int) -> bool:
        """Whether a stamp is of the time before the agent's turn."""
        return self.turn is not None and at < self.turn


def next_stamp() -> int:
    """A time that the file system's clock reaches now, in nanoseconds since the epoch, and that it hasn't given to
    anything yet: it waits for the clock's next tick, a few milliseconds."""
    if sys.platform != "linux":
        return time.time_ns()
    begun, give_up = time.time_ns(), time.monotonic_ns() + TICK
    while (now := time.clock_gettime_ns(_COARSE)) <= begun and time.monotonic_ns() < give_up:
        time.sleep(0.0005)
    return now


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

    def others_since(self, span: Span) -> set[Any]:
        """Who else was under way at any time since something began that isn't forgotten yet."""
        return {each.owner for each in self._spans if (each.ended or span.began) >= span.began} - {span.owner}
