"""An event loop of our own that always ends: a task that ignores its cancellation can't hold it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from passhat.running import _calling


@contextmanager
def own_loop() -> Iterator[asyncio.Runner]:
    """An ``asyncio.Runner`` that leaves behind, after a bounded wait, the tasks that don't obey their cancellation.

    A plain runner waits for them for ever.
    """
    with asyncio.Runner() as runner:
        try:
            yield runner
        finally:
            leave_behind(runner.get_loop())


def leave_behind(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel what still runs on a loop, and wait a bounded time for it to obey."""
    tasks = asyncio.all_tasks(loop)
    if not tasks:
        return
    for task in tasks:
        task.cancel()
    _, stuck = loop.run_until_complete(asyncio.wait(tasks, timeout=_calling.GRACE))
    for task in stuck:
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # it is known, and its trial says so
        asyncio._unregister_task(task)
