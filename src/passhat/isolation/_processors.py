"""The processors that a run may use: a trial, like any process, can bind others of its user to some of them.

That slows what it binds, which using all processors does as well. But a binding outlives who made it and is inherited
by forks: so each job, and the supervisor that starts it, begins with the processors that the run began with.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable


def processors() -> tuple[int, ...]:
    """The numbers of those that this process may run on; empty where the system doesn't tell."""
    return tuple(sorted(os.sched_getaffinity(0))) if sys.platform == "linux" else ()


def take_processors(numbers: Iterable[int]) -> None:
    """Let this thread run on these again, as far as they are still there."""
    if sys.platform == "linux" and (wanted := set(numbers)):
        with contextlib.suppress(OSError):  # none of them is left to this container: the kernel has chosen others
            os.sched_setaffinity(0, wanted)
