"""Whose a thread is: one that is started in a covered test, in a fixture of one or by a judge stays theirs."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

COVERED, JUDGE = "covered", "judge"
_MARK = "passhat_whose"


def whose_thread() -> str:
    """Where the thread that asks was started: COVERED, JUDGE, or empty for one that is none of ours."""
    found: str = getattr(threading.current_thread(), _MARK, "")
    return found


class Births:
    """Marks threads when they are started, by what ``whose`` says in the thread that starts them."""

    def __init__(self, whose: Callable[[], str]) -> None:
        self._whose = whose
        self._original: Any = None
        self._ours: Any = None

    def install(self) -> None:
        """Mark threads from now on."""
        original, whose = threading.Thread.start, self._whose

        @functools.wraps(original)
        def start(thread: threading.Thread) -> None:
            if mark := whose():
                setattr(thread, _MARK, mark)
            original(thread)

        self._original, self._ours = original, start
        setattr(threading.Thread, "start", start)  # noqa: B010 - a method that is replaced

    def remove(self) -> None:
        """Put back what was there, unless somebody else has replaced it since."""
        if threading.Thread.start is self._ours:
            setattr(threading.Thread, "start", self._original)  # noqa: B010
