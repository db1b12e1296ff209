"""Opening a suite's environment, for a live trial and for a finished one."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from typing import Any


def open_environment(environment: Callable[[Any], Any], trial: Any, closing: contextlib.ExitStack) -> Any:
    """Open a suite's environment for a trial: enter a context manager, or take what a plain function returns."""
    opened = environment(trial)
    if hasattr(opened, "__enter__") and hasattr(opened, "__exit__"):
        return closing.enter_context(opened)
    if inspect.isgenerator(opened):
        opened.close()
        raise TypeError("environment is a generator function; decorate it with @contextlib.contextmanager")
    if inspect.isawaitable(opened) or hasattr(opened, "__aenter__"):
        if inspect.iscoroutine(opened):
            opened.close()
        raise TypeError("environment must be a plain context manager or function; async ones can't be opened here")
    return opened
