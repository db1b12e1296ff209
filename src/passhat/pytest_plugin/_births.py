"""Whose a thread or task is: one that is started in a covered test, in a fixture of one or by a judge stays theirs."""

from __future__ import annotations

import asyncio
import functools
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from passhat.pytest_plugin._patches import Patches

COVERED, JUDGE = "covered", "judge"
_MARK = "passhat_whose"
_HERE = threading.local()  # the mark of a thread that is no object of threading's own
_TASKS: weakref.WeakKeyDictionary[asyncio.Future[Any], str] = weakref.WeakKeyDictionary()


def whose_thread() -> str:
    """Where the thread that asks, or its task, was started: COVERED, JUDGE, or empty for one that is none of ours."""
    found: str = getattr(threading.current_thread(), _MARK, "")
    return found or getattr(_HERE, "mark", "") or _whose_task()


@contextmanager
def marked(mark: str) -> Iterator[None]:
    """While inside, this thread is somebody's."""
    before, _HERE.mark = getattr(_HERE, "mark", ""), mark
    try:
        yield
    finally:
        _HERE.mark = before


def _whose_task() -> str:
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs here
        return ""
    return "" if task is None else _TASKS.get(task, "")


class Births:
    """Marks threads and tasks when they are started, by what ``whose`` says where that is done.

    Tasks are those of asyncio's own loops; others start theirs in a way of their own.
    """

    def __init__(self, whose: Callable[[], str]) -> None:
        self._whose = whose
        self._patches = Patches()

    def install(self) -> None:
        """Mark them from now on."""
        self._patches.make(threading.Thread, "start", self._start())
        self._patches.make(asyncio.BaseEventLoop, "create_task", self._create_task())

    def remove(self) -> None:
        """Mark none any more."""
        self._patches.undo()

    def _start(self) -> Any:
        original, whose = threading.Thread.start, self._whose

        @functools.wraps(original)
        def start(thread: threading.Thread) -> None:
            if mark := whose():
                setattr(thread, _MARK, mark)
            original(thread)

        return start

    def _create_task(self) -> Any:
        original, whose = asyncio.BaseEventLoop.create_task, self._whose

        @functools.wraps(original)
        def create_task(loop: Any, *args: Any, **named: Any) -> Any:
            task = original(loop, *args, **named)
            if mark := whose():
                _TASKS[task] = mark
            return task

        return create_task
