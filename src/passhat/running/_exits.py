"""Keeping the process while user code runs in it: ``os._exit(0)`` would end a run without a word, and look green."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.Lock()
_holds = 0
_refused = 0
_last = ""
_real = os._exit
_process = 0
_outside: Collection[threading.Thread] = ()


class ProcessExit(BaseException):
    """User code called ``os._exit`` in the process that runs its trial. No `Exception`, as a real exit is none."""


_kind: type[BaseException] = ProcessExit


def no_exit() -> _Held:
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
    return _HELD


class ProcessExitError(RuntimeError):
    """The same as an ordinary error: see `exits_as_errors`."""


def exits_refused() -> int:
    """How often that was, in this process: an error in a thread, or one that is swallowed, ends nothing."""
    return _refused


def last_exit() -> str:
    """What was said the last time."""
    return _last


@contextmanager
def exits_as_errors() -> Iterator[None]:
    """While inside, ``os._exit`` raises an ordinary error instead: for clean-up that goes on after those only."""
    global _kind
    before, _kind = _kind, ProcessExitError
    try:
        yield
    finally:
        _kind = before


class _Held:
    """A hold is entered for each trial, and a test may have thousands: it costs a microsecond or two."""

    def __enter__(self) -> None:
        global _holds, _real, _process, _outside
        with _lock:
            _holds += 1
            if _holds == 1:
                _real, _process = os._exit, os.getpid()
                here = threading.current_thread()
                others = [each for each in threading.enumerate() if each is not here]
                others = [each for each in others if not each.name.startswith("passhat")]
                _outside = weakref.WeakSet(others) if others else ()
                os._exit = _refuse

    def __exit__(self, *raised: object) -> None:
        global _holds
        with _lock:
            _holds -= 1
            if not _holds and os._exit is _refuse:
                os._exit = _real


_HELD = _Held()


def _refuse(status: int) -> Any:  # the real one never returns
    global _refused, _last
    if not _holds or os.getpid() != _process or threading.current_thread() in _outside:
        return _real(status)
    why = (
        f"os._exit({status!r}) would have ended the whole process without a word; raise an error, or sys.exit, which "
        "ends only the trial"
    )
    _refused, _last = _refused + 1, why
    raise _kind(why)
