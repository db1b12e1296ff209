"""How many files a process may have open: the default is low for a run, which talks to many clients at once."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None  # type: ignore[assignment]

_ENOUGH = 1 << 16
_before: list[tuple[int, int]] = []


def more_descriptors() -> None:
    """Raise this process's soft limit to the hard one, up to what a run can make use of."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):  # macOS has a lower bound of its own
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            _before.append((soft, hard))


def before() -> tuple[int, ...]:
    """The soft and hard limit that this process was started with; empty where `more_descriptors` changed nothing."""
    return _before[0] if _before else ()


def as_before(limit: Sequence[int]) -> None:
    """Take, in a child, the limit that `before` told its parent: trials see what they would see without us.

    The child does it itself, as a process in a trial of another run can't set another's limits.
    """
    if limit:
        soft, hard = limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
