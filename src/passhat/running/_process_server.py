"""The fork server of a run, on a thread with a loop of its own: it lives from before the first trial to after the last.

A run is set up before its own loop exists, and what can't be isolated must be refused then.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Literal, TypeVar

from passhat.isolation import Ended, ForkServer, IsolationError, Job, ServerReport, ServerSpec, Slot
from passhat.running import _calling

T = TypeVar("T")
Work = Literal["act", "grade"]
_SILENCE = 5.0  # seconds until it is told what a start waits for
_TRIES = 3  # slots that may be found dead, one after the other, before a job


class Ending:
    """A way to end one job while it runs. Belongs to the loop of its `ServerThread`."""

    def __init__(self, due: Callable[[], bool]) -> None:
        """``due``: asked when the time has come, whether it is still to be ended."""
        self._due = due
        self.slot: Slot | None = None  # while the job runs

    def __call__(self, reason: str) -> None:
        if self.slot is not None and self._due():
            self.slot.cancel(reason)


class ServerThread:
    """A `ForkServer` that can be used from any loop. `start` and `stop` wait; the other calls are awaited."""

    def __init__(self, spec: ServerSpec, waiting: Callable[[str], object] | None = None) -> None:
        """``waiting`` is told what a start waits for that takes long, now and then."""
        self._waiting = waiting
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="passhat-isolation", daemon=True)
        self._server = ForkServer(spec)
        self._starting: asyncio.Task[Any] | None = None
        self._idle: dict[Work, list[Slot]] = {"act": [], "grade": []}
        self._leaving: dict[Work, set[asyncio.Task[Ended]]] = {"act": set(), "grade": set()}

    def start(self) -> ServerReport:
        """Start the server. Raises `IsolationError` and its kinds; nothing is left behind then."""
        self._thread.start()
        try:
            starting = asyncio.run_coroutine_threadsafe(self._started(), self._loop)
            silence = _SILENCE
            while not concurrent.futures.wait([starting], silence).done:
                silence = 4 * _SILENCE
                if self._waiting is not None:
                    self._waiting(self._server.doing)
            return starting.result()
        except BaseException:
            self.stop()
            raise

    async def _started(self) -> ServerReport:
        self._starting = asyncio.current_task()
        return await self._server.start()

    def stop(self) -> None:
        """End all jobs, slots and the server, and wait for it. May be called again."""
        if self._loop.is_closed():
            return
        with contextlib.suppress(IsolationError):
            asyncio.run_coroutine_threadsafe(self._stopped(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _stopped(self) -> None:
        if self._starting is not None and not self._starting.done():  # interrupted: let it clean up after itself
            self._starting.cancel()
            await asyncio.wait({self._starting}, timeout=_calling.GRACE)
        await self._server.close()
        if leaving := {*self._leaving["act"], *self._leaving["grade"]}:
            await asyncio.wait(leaving)

    async def run(self, work: Work, job: Job, on_event: Callable[[bytes], None], ending: Ending | None = None) -> Ended:
        """Run a job in a free slot for that kind of work; when it returns, or is cancelled, the job's tree is gone.

        Agents and graders never share a slot: what a supervisor was told stays in its memory, of which each of its
        forks has a copy, and the orders for graders hold what no agent may see. ``ending`` is for `end_after`.
        """
        return await self._there(self._run(work, job, on_event, ending=ending))

    def end_after(self, seconds: float, ending: Ending, reason: str) -> None:
        """End that job then, if it still runs and is still to be ended: it is *cancelled*. From any thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed, and all jobs have ended
            self._loop.call_soon_threadsafe(self._loop.call_later, seconds, ending, reason)

    async def run_until_known(
        self, work: Work, job: Job, on_event: Callable[[bytes], None], enough: Callable[[], bool]
    ) -> Ended:
        """`run`, but return as soon as the job's entry has, if ``enough`` says then that nothing that its process does
        on its way out can matter. Its slot takes no other job before its tree is gone."""
        return await self._there(self._until_known(work, job, on_event, enough))

    async def _until_known(
        self, work: Work, job: Job, on_event: Callable[[bytes], None], enough: Callable[[], bool]
    ) -> Ended:
        known: asyncio.Future[Ended] = self._loop.create_future()

        def returned(from_disk: tuple[str, ...]) -> None:
            if enough() and not known.done():
                known.set_result(Ended(kind="returned", from_disk=from_disk))

        running = self._loop.create_task(self._run(work, job, on_event, returned))
        try:
            await asyncio.wait({running, known}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            running.cancel()
            await asyncio.wait({running})
            raise
        if running.done():
            return running.result()
        self._leaving[work].add(running)
        running.add_done_callback(self._leaving[work].discard)
        running.add_done_callback(lambda task: task.cancelled() or task.exception())  # nobody waits for it
        return known.result()

    async def _run(
        self,
        work: Work,
        job: Job,
        on_event: Callable[[bytes], None],
        on_result: Callable[[tuple[str, ...]], None] | None = None,
        ending: Ending | None = None,
    ) -> Ended:
        for last in range(1, _TRIES + 1):
            slot = await self._free_slot(work)
            if ending is not None:
                ending.slot = slot
            try:
                return await slot.run(job, on_event, on_result)
            except IsolationError:
                if slot.alive or last == _TRIES:
                    raise
            finally:
                if ending is not None:
                    ending.slot = None
                if slot.alive:
                    self._idle[work].append(slot)
        raise AssertionError("unreachable")

    async def _free_slot(self, work: Work) -> Slot:
        while self._idle[work] or self._leaving[work]:
            if not self._idle[work]:
                await asyncio.wait(self._leaving[work], return_when=asyncio.FIRST_COMPLETED)
            elif (slot := self._idle[work].pop()).alive:
                return slot
        return await self._server.slot()

    async def _there(self, work: Coroutine[Any, Any, T]) -> T:
        """Await on the server's loop. A cancellation is passed on to there, and what it causes is waited for."""
        result: concurrent.futures.Future[T] = concurrent.futures.Future()
        tasks: list[asyncio.Task[T]] = []

        def begin() -> None:
            tasks.append(self._loop.create_task(work))
            tasks[0].add_done_callback(settle)

        def settle(task: asyncio.Task[T]) -> None:
            error = IsolationError("the job was cancelled") if task.cancelled() else task.exception()
            if error is None:
                result.set_result(task.result())
            else:
                result.set_exception(error)

        self._loop.call_soon_threadsafe(begin)
        waiting = asyncio.wrap_future(result)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            self._loop.call_soon_threadsafe(lambda: tasks[0].cancel())
            await asyncio.wait({waiting})
            waiting.exception()  # looked at, so that nobody complains
            raise
