"""How many files a process may have open: the default is low for a run, which talks to many clients at once."""

from __future__ import annotations

import contextlib

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


def as_before(pid: int) -> None:
    """Give a child the limit that this process was started with: trials see what they would see without us."""
    if _before and hasattr(resource, "prlimit"):
        with contextlib.suppress(OSError):
            resource.prlimit(pid, resource.RLIMIT_NOFILE, _before[0])
