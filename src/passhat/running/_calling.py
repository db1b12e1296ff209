"""Calling user code that may be sync or async, may never end, and may raise anything.

A sync call with a deadline runs on a daemon thread: Python can't stop a thread, so the deadline ends the wait and the
thread is left to itself; what it returns or raises later is dropped. An async call runs as a task on the caller's loop;
its deadline cancels it and waits a bounded time for it to obey.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
import threading
from collections.abc import Awaitable, Callable
from queue import SimpleQueue
from typing import Any

from passhat.facts import duration

GRACE = 1.0  # seconds that a cancelled async call gets to end
_STEP = 0.2  # seconds after which a Ctrl-C that a wait missed is seen


class DeadlinePassed(Exception):
    """The deadline of a call has passed; ``milliseconds`` is how long it was given, ``words`` say so in a run."""

    def __init__(self, seconds: float) -> None:
        self.milliseconds = max(1, round(seconds * 1000))
        self.words = f"timed out after {duration(self.milliseconds / 1000)}"
        super().__init__(f"timed out after {self.milliseconds}ms")  # as `evaluate` says it


class Raised(Exception):
    """Carries what user code raised, whatever its kind, past asyncio's special care for some kinds."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(type(error).__name__)
        self.error = error


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling ``function`` gives a coroutine, seen through partials and objects with an async ``__call__``."""
    inner: Any = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    if inspect.iscoroutinefunction(inner):
        return True
    return not inspect.isroutine(inner) and inspect.iscoroutinefunction(getattr(inner, "__call__", None))  # noqa: B004


class TrialThread:
    """One daemon thread that runs sync calls in turn, all in one context, so that what one call opens the next can use.

    It is started by the first call. A call that never ends holds the thread and nothing else.
    """

    def __init__(self, name: str, context: contextvars.Context | None = None) -> None:
        self._name = name
        self._context = context if context is not None else contextvars.copy_context()
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def submit(self, function: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        """Queue a call; the future gets its result, or `Raised`."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        future.add_done_callback(_observe)

        def job() -> None:
            try:
                value = self._context.run(function, *args)
            except BaseException as error:
                _post(loop, future, None, Raised(error))
            else:
                _post(loop, future, value, None)

        self._jobs.put(job)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        return future

    def later(self, function: Callable[[], Any]) -> None:
        """Queue a call that nobody waits for; what it raises is dropped."""

        def job() -> None:
            with contextlib.suppress(BaseException):  # the trial is over: nobody is left to tell
                self._context.run(function)

        self._jobs.put(job)

    def close(self) -> None:
        """Let the thread end once its calls have."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            del job


def _post(loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any], value: Any, error: Exception | None) -> None:
    def settle() -> None:
        if future.done():
            _drop(value)
        elif error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    try:
        loop.call_soon_threadsafe(settle)
    except RuntimeError:  # the loop is closed: the run ended before this thread did
        _drop(value)


def _drop(value: Any) -> None:
    """Let go of a late result; a coroutine that nobody will await is closed, so that it isn't complained about."""
    if inspect.iscoroutine(value):
        value.close()


def _observe(future: asyncio.Future[Any]) -> None:
    """Look at a result that nobody may wait for any more, so that it isn't reported as never retrieved."""
    if not future.cancelled():
        future.exception()


def start(coroutine: Awaitable[Any], context: contextvars.Context | None = None) -> asyncio.Task[Any]:
    """Run an awaitable as a task in a context; whatever it raises comes out as `Raised`."""
    task: asyncio.Task[Any] = asyncio.get_running_loop().create_task(_wrapped(coroutine), context=context)
    task.add_done_callback(_observe)
    return task


async def awaited(awaitable: Awaitable[Any], context: contextvars.Context) -> Any:
    """The value of an awaitable in a context; whatever it raises comes out as `Raised`."""
    return await within(start(awaitable, context), None)


async def _wrapped(awaitable: Awaitable[Any]) -> Any:
    task = asyncio.current_task()
    try:
        return await awaitable
    except (Raised, GeneratorExit):  # a task that is thrown away is closed with GeneratorExit
        raise
    except asyncio.CancelledError as error:
        if task is not None and task.cancelling():
            raise
        raise Raised(error) from error
    except BaseException as error:
        raise Raised(error) from error


async def within(work: asyncio.Future[Any], seconds: float | None) -> Any:
    """Wait for ``work`` at most ``seconds``: `DeadlinePassed` after that, `Raised` for what user code raised.

    A task is cancelled and gets `GRACE` seconds to end; the same happens when the caller is cancelled.
    """
    try:
        done, _ = await asyncio.wait({work}, timeout=seconds)
    except asyncio.CancelledError:
        await _give_up(work)
        raise
    if not done:
        await _give_up(work)
        raise DeadlinePassed(seconds or 0.0)
    try:
        return work.result()
    except GeneratorExit as error:
        raise Raised(error) from error


async def _give_up(work: asyncio.Future[Any]) -> None:
    work.cancel()
    if isinstance(work, asyncio.Task):
        await asyncio.wait({work}, timeout=GRACE)


def loop_is_running() -> bool:
    """Whether this thread is inside a running event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def wait_for(over: threading.Event) -> None:
    """Wait in steps: a signal in the moment before a wait begins doesn't end it, and is looked at after the step."""
    while not over.wait(_STEP):
        pass


def on_own_thread(function: Callable[[], Any], stop: Callable[[], None]) -> Any:
    """Call ``function`` on a thread without a loop and wait for it; an interrupt of the wait calls ``stop``."""
    outcome: list[Any] = []
    over = threading.Event()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            outcome.extend((None, context.run(function)))
        except BaseException as error:
            outcome.extend((error, None))
        finally:
            over.set()

    try:
        threading.Thread(target=work, name="passhat", daemon=True).start()
        wait_for(over)  # not join(): interrupted, it takes the thread for ended
    except BaseException:
        stop()
        raise
    error, value = outcome
    if error is not None:
        raise error
    return value
