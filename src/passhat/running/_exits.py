"""Keeping the process while user code runs in it: ``os._exit(0)`` would end a run without a word, and look green."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Collection
from typing import Any


class ProcessExit(BaseException):
    """User code called ``os._exit`` in the process that runs its trial. No `Exception`, as a real exit is none."""


class ProcessExitError(RuntimeError):
    """The same as an ordinary error: see `exits_raise_errors`."""


class _Hold:
    """The hold on this process's ``os._exit``, entered for each trial.

    A test may have thousands: it costs a microsecond or two.
    """

    def __init__(self) -> None:
        self.refused = 0
        self.last = ""
        self.kind: type[BaseException] = ProcessExit
        self._lock = threading.Lock()
        self._holds = 0
        self._real = os._exit
        self._process = 0
        self._threads: list[threading.Thread] = []  # when a hold was last entered: first the one that entered it
        self._outside: Collection[threading.Thread] = ()
        self._stands_in = self._refuse

    def __enter__(self) -> None:
        with self._lock:
            self._holds += 1
            if self._holds == 1:
                self._real, self._process = os._exit, os.getpid()
                threads = [threading.current_thread(), *threading.enumerate()]
                if threads != self._threads:  # mostly they are the same as for the trial before
                    others = [each for each in threads if each is not threads[0]]
                    others = [each for each in others if not each.name.startswith("passhat")]
                    self._threads, self._outside = threads, weakref.WeakSet(others) if others else ()
                os._exit = self._stands_in

    def __exit__(self, *raised: object) -> None:
        with self._lock:
            self._holds -= 1
            if not self._holds and os._exit is self._stands_in:
                os._exit = self._real

    def _refuse(self, status: int) -> Any:  # the real one never returns
        if not self._holds or os.getpid() != self._process or threading.current_thread() in self._outside:
            return self._real(status)
        self.last = (
            f"os._exit({status!r}) would have ended the whole process without a word; raise an error, or sys.exit, "
            "which ends only the trial"
        )
        self.refused += 1
        raise self.kind(self.last)


_HOLD = _Hold()


def no_exit() -> _Hold:
    """While inside, ``os._exit`` raises `ProcessExit` in this process.

    It stays as it is in forked children, and for threads that were there before and aren't passhat's, such as a
    watchdog that ends the process on purpose. May be nested, and entered by several threads at once. Code that took
    the function by ``from os import _exit`` earlier isn't held.

    >>> with no_exit():
    ...     os._exit(0)
    Traceback (most recent call last):
    ...
    passhat.running._exits.ProcessExit: os._exit(0) would have ended the whole process without a word; raise an error...
    """
    return _HOLD


def exits_refused() -> int:
    """How often that was, in this process: an error in a thread, or one that is swallowed, ends nothing."""
    return _HOLD.refused


def last_exit() -> str:
    """What was said the last time."""
    return _HOLD.last


def exits_raise_errors(yes: bool) -> bool:
    """Have a refused exit raise an ordinary error from now on, or `ProcessExit` again; returns what was so before.

    For clean-up that goes on after ordinary errors only.
    """
    before, _HOLD.kind = _HOLD.kind is ProcessExitError, ProcessExitError if yes else ProcessExit
    return before
