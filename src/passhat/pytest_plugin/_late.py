"""What a covered test leaves behind by rarer means: bare threads, and functions to be called when the process ends."""

from __future__ import annotations

import _thread
import atexit
import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from passhat.pytest_plugin._births import marked
from passhat.pytest_plugin._patches import Patches

Looking = Callable[[], AbstractContextManager[None]]


class Late:
    """Marks them by what ``whose`` says where they are started or registered; at the end ``looking`` is around each."""

    def __init__(self, whose: Callable[[], str], looking: Looking) -> None:
        self._whose = whose
        self._looking = looking
        self._patches = Patches()

    def install(self) -> None:
        """Mark them from now on."""
        self._patch(_thread, "start_new_thread", self._thread)
        self._patch(atexit, "register", self._register)

    def remove(self) -> None:
        """Mark none any more."""
        self._patches.undo()

    def _patch(self, owner: Any, name: str, around: Callable[..., Any]) -> None:
        original = getattr(owner, name)
        self._patches.make(owner, name, functools.wraps(original)(functools.partial(around, original)))

    def _thread(self, original: Any, function: Any, *args: Any) -> Any:
        mark = self._whose()
        return original(_Marked(function, mark) if mark and callable(function) else function, *args)

    def _register(self, original: Any, function: Any, *args: Any, **named: Any) -> Any:
        mark = self._whose()
        original(_AtExit(function, mark, self._looking) if mark and callable(function) else function, *args, **named)
        return function


class _Marked:
    """A function whose thread is somebody's while it runs."""

    def __init__(self, function: Any, mark: str) -> None:
        self._function = function
        self._mark = mark

    def __call__(self, *args: Any, **named: Any) -> Any:
        with marked(self._mark):
            return self._function(*args, **named)


class _AtExit(_Marked):
    """It equals its function, so that `atexit.unregister` finds it."""

    def __init__(self, function: Any, mark: str, looking: Looking) -> None:
        super().__init__(function, mark)
        self._looking = looking

    def __call__(self, *args: Any, **named: Any) -> Any:
        with self._looking():
            return super().__call__(*args, **named)

    def __eq__(self, other: object) -> bool:
        return other is self or other == self._function

    __hash__ = None  # type: ignore[assignment]
