"""Keeping the process while user code runs in it.

``os._exit(0)`` would end a run without a word, and look green; so would ``os.execv("/bin/true", …)``, which puts
another program in the process's place.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Collection
from typing import Any


class ProcessExit(BaseException):
    """User code was to end the process that runs its trial. No `Exception`, as a real exit is none."""


class ProcessExitError(RuntimeError):
    """The same as an ordinary error: see `exits_raise_errors`."""


_WATCHDOG = "pytest_timeout"  # with its thread method; what hangs would hang for ever if its exit were refused
_PATIENCE = 5.0  # seconds that code has to end after it, so that only its own phase fails


class _Hold:
    """The hold on what ends this process, ``os._exit`` and ``os.exec…``, entered for each trial.

    A test may have thousands: it costs a microsecond or two. The other functions of the ``os.exec…`` family end in the
    two that are held.
    """

    def __init__(self) -> None:
        self.refused = 0
        self.last = ""
        self.kind: type[BaseException] = ProcessExit
        self.phase = 0  # goes up when code that runs under the hold has ended
        self._lock = threading.Lock()
        self._holds = 0
        self._real: tuple[Callable[..., Any], ...] = (os._exit, os.execv, os.execve)
        self._process = 0
        self._threads: list[threading.Thread] = []  # when a hold was last entered: first the one that entered it
        self._outside: Collection[threading.Thread] = ()
        self._stand_ins: tuple[Callable[..., Any], ...] = (self._exit, self._execv, self._execve)

    def __enter__(self) -> None:
        with self._lock:
            self._holds += 1
            if self._holds == 1:
                self._real, self._process = (os._exit, os.execv, os.execve), os.getpid()
                threads = [threading.current_thread(), *threading.enumerate()]
                if threads != self._threads:  # mostly they are the same as for the trial before
                    others = [each for each in threads if each is not threads[0]]
                    others = [each for each in others if not each.name.startswith("passhat")]
                    self._threads, self._outside = threads, weakref.WeakSet(others) if others else ()
                os._exit, os.execv, os.execve = self._stand_ins

    def __exit__(self, *raised: object) -> None:
        with self._lock:
            self._holds -= 1
            if not self._holds:  # what somebody has patched since is theirs to put back
                stand_ins = self._stand_ins
                if os._exit is stand_ins[0]:
                    os._exit = self._real[0]
                if os.execv is stand_ins[1]:
                    os.execv = self._real[1]
                if os.execve is stand_ins[2]:
                    os.execve = self._real[2]

    def _exit(self, status: int) -> Any:  # the real one never returns
        __tracebackhide__ = True
        if not self._held():
            return self._real[0](status)
        if sys._getframe(1).f_globals.get("__name__") == _WATCHDOG:
            return self._time_out(status)
        return self._refuse(
            f"os._exit({status!r}) would have ended the whole process without a word; raise an error, or sys.exit, "
            "which ends only the trial"
        )

    def _time_out(self, status: int) -> Any:
        """In the watchdog's own thread: wait a little for what it watched, then let it do what it is there for."""
        self.last = (
            "timeout: pytest-timeout's timer ran out, and with its method 'thread' it can't stop a test; with method "
            "'signal' it can"
        )
        self.refused += 1
        phase, ends = self.phase, time.monotonic() + _PATIENCE
        while self.phase == phase:
            if time.monotonic() > ends:
                return self._real[0](status)
            time.sleep(0.02)
        raise self.kind(self.last)

    def _execv(self, path: Any, args: Any) -> Any:
        __tracebackhide__ = True
        if not self._held():
            return self._real[1](path, args)
        return self._refuse(_replaced("execv", path))

    def _execve(self, path: Any, args: Any, env: Any) -> Any:
        __tracebackhide__ = True
        if not self._held():
            return self._real[2](path, args, env)
        return self._refuse(_replaced("execve", path))

    def _held(self) -> bool:
        return bool(self._holds) and os.getpid() == self._process and threading.current_thread() not in self._outside

    def _refuse(self, why: str) -> Any:
        __tracebackhide__ = True
        self.last = why
        self.refused += 1
        raise self.kind(why)


def _replaced(function: str, path: Any) -> str:
    path = os.fsdecode(path) if isinstance(path, bytes) else path
    return (
        f"os.{function}({path!r}, …) would have put another program in the place of the whole process without a word; "
        "start it with subprocess.run"
    )


_HOLD = _Hold()


def no_exit() -> _Hold:
    """While inside, ``os._exit`` and the functions ``os.exec…`` raise `ProcessExit` in this process.

    They stay as they are in forked children, and for threads that were there before and aren't passhat's, such as a
    watchdog that ends the process on purpose; pytest-timeout's is let through whenever it starts, where what it watches
    doesn't end within seconds. May be nested, and entered by several threads at once. Code that took a function by
    ``from os import _exit`` earlier isn't held.

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


def phase_over() -> None:
    """What ran until now has ended: a watchdog of it needn't end the process."""
    _HOLD.phase += 1


def last_exit() -> str:
    """What was said the last time."""
    return _HOLD.last


def exits_raise_errors(yes: bool) -> bool:
    """Have a refused exit raise an ordinary error from now on, or `ProcessExit` again; returns what was so before.

    For clean-up that goes on after ordinary errors only.
    """
    before, _HOLD.kind = _HOLD.kind is ProcessExitError, ProcessExitError if yes else ProcessExit
    return before
