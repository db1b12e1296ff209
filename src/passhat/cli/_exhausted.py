"""What to say when passhat's own process has run into a limit of the machine: which one it is, and the way out."""

from __future__ import annotations

import errno
import traceback

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

_NO_THREAD = "can't start new thread"  # all that Python says of it, as a RuntimeError


def exhausted(error: BaseException) -> str | None:
    """The limit that an exception, or what led to it, is about; None for any other.

    >>> exhausted(OSError(errno.ENFILE, "Too many open files in system"))
    'the machine has as many files open as it can have (fs.file-max): end other programs, or raise it'
    >>> exhausted(ValueError("no")) is None
    True
    """
    seen: BaseException | None = error
    while seen is not None:
        number = seen.errno if isinstance(seen, OSError) else None
        if number == errno.EMFILE:
            most = _limit("RLIMIT_NOFILE")
            return f"this process may have {most} files open (ulimit -n), and needs more: raise it, to 1024 say"
        if number == errno.ENFILE:
            return "the machine has as many files open as it can have (fs.file-max): end other programs, or raise it"
        if _no_process(seen) or (isinstance(seen, RuntimeError) and _NO_THREAD in str(seen)):
            return (
                f"no further thread or process can be started: this user may have {_limit('RLIMIT_NPROC')} of them "
                "(ulimit -u; a container may have a bound of its own, --pids-limit). Raise it, or end others"
            )
        seen = seen.__cause__ or seen.__context__
    return None


def _no_process(error: BaseException) -> bool:
    """Whether the kernel refused a process. A call that would have to wait fails in the same way."""
    frames = traceback.extract_tb(error.__traceback__) if isinstance(error, BlockingIOError) else []
    return any(frame.name == "_execute_child" for frame in frames)  # of subprocess


def _limit(name: str) -> str:
    soft: int = resource.getrlimit(getattr(resource, name))[0]
    return "any number" if soft == resource.RLIM_INFINITY else str(soft)
