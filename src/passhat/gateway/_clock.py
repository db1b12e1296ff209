"""Time for pacing, so that tests needn't wait for it."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """A way to wait, plain and async; both take seconds."""

    def sleep(self, seconds: float) -> None:
        """Wait in a thread."""

    async def sleep_async(self, seconds: float) -> None:
        """Wait in an event loop."""


class SystemClock:
    """The real time."""

    def sleep(self, seconds: float) -> None:
        """Wait in a thread."""
        time.sleep(seconds)

    async def sleep_async(self, seconds: float) -> None:
        """Wait in an event loop."""
        await asyncio.sleep(seconds)


class ImmediateClock:
    """A clock that doesn't wait and keeps what it was asked to wait for, in seconds.

    >>> clock = ImmediateClock()
    >>> clock.sleep(30.0); clock.waited
    [30.0]
    """

    def __init__(self) -> None:
        self.waited: list[float] = []

    def sleep(self, seconds: float) -> None:
        """Don't wait."""
        self.waited.append(seconds)

    async def sleep_async(self, seconds: float) -> None:
        """Let others run, but don't wait."""
        self.waited.append(seconds)
        await asyncio.sleep(0)
