"""Work on many things at once, and have the results in the order of the things."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")
_AHEAD = 4  # things, for each that is worked on at once, that wait behind a slow one


async def in_order(
    work: Callable[[T], Awaitable[R]], things: Iterable[T], *, at_once: int, cut: asyncio.Event
) -> AsyncIterator[tuple[T, R]]:
    """``(thing, await work(thing))`` for each thing, in their order, ``at_once`` worked on at a time.

    When ``cut`` is set nothing more is begun, what is done is still given, and the rest is cancelled. What ``work``
    raises comes out in its turn. Memory is bounded: ``things`` are taken as they are needed.
    """
    room = asyncio.Semaphore(at_once)

    async def one(thing: T) -> R:
        async with room:
            return await work(thing)

    window: deque[tuple[T, asyncio.Task[R]]] = deque()
    source = iter(things)
    cutting = asyncio.create_task(cut.wait())
    try:
        while not cut.is_set():
            while len(window) < at_once * _AHEAD and (more := next(source, cut)) is not cut:
                window.append((more, asyncio.create_task(one(more))))  # type: ignore[arg-type]
            if not window:
                return
            await asyncio.wait({window[0][1], cutting}, return_when=asyncio.FIRST_COMPLETED)
            if window[0][1].done():
                thing, task = window.popleft()
                yield thing, task.result()
        for thing, task in window:
            if task.done() and not task.cancelled() and task.exception() is None:
                yield thing, task.result()
    finally:
        left = [cutting, *(task for _, task in window)]
        for each in left:
            each.cancel()
        await asyncio.gather(*left, return_exceptions=True)
