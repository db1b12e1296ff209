"""The few Linux calls that Python has no name for, each raising OSError with what was asked.

Everything else (pidfds, waits, sessions, resource limits) comes from the standard library.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
PR_GET_CHILD_SUBREAPER = 37
PR_SET_NO_NEW_PRIVS = 38

# These numbers are the same on every architecture: calls added since 5.1 share one table.
SYS_CLOSE_RANGE = 436
SYS_LANDLOCK_CREATE_RULESET = 444
SYS_LANDLOCK_ADD_RULE = 445
SYS_LANDLOCK_RESTRICT_SELF = 446


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl.argtypes = (ctypes.c_int, *(ctypes.c_ulong,) * 4)
    libc.syscall.restype = ctypes.c_long
    return libc


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, *args: Any, what: str) -> int:
    """Call the kernel by number; integers are passed as 64-bit values."""
    return prepared(number, *args, what=what)()


def prepared(number: int, *args: Any, what: str) -> Callable[[], int]:
    """`syscall` as something to call later, with as little as can be left to do then."""
    call = _libc().syscall
    wide = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in (number, *args)]
    return lambda: _checked(call(*wide), what)


def prctl(option: int, value: int = 0) -> int:
    """``prctl(option, value, 0, 0, 0)``."""
    return _checked(_libc().prctl(option, value, 0, 0, 0), f"prctl({option}, {value})")


def become_subreaper() -> None:
    """Orphans among our descendants become our children instead of init's."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def subreaper_available() -> bool:
    """Whether the kernel knows sub-reapers; asks without becoming one."""
    answer = ctypes.c_int(0)
    return int(_libc().prctl(PR_GET_CHILD_SUBREAPER, ctypes.addressof(answer), 0, 0, 0)) == 0


def hear_of_parent(parent: int, signal_number: int) -> None:
    """Get ``signal_number`` when the parent dies; leaves at once if ``parent`` is gone already."""
    prctl(PR_SET_PDEATHSIG, signal_number)
    if os.getppid() != parent:
        os._exit(96)


def set_dumpable(value: bool) -> None:
    """Whether /proc/self belongs to our user and can be traced by it."""
    prctl(PR_SET_DUMPABLE, int(value))


def forbid_new_privileges() -> None:
    """No program we start may gain privileges (sudo, set-user-id): a process that became root can't be killed by us."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def close_range(first: int, last: int) -> None:
    """Close the descriptors ``first`` to ``last``, both included."""
    if last < first:
        return
    try:
        syscall(SYS_CLOSE_RANGE, first, min(last, 2**32 - 1), 0, what="close_range")
    except OSError:
        for name in os.listdir("/proc/self/fd"):
            if first <= int(name) <= last:
                with contextlib.suppress(OSError):
                    os.close(int(name))


def has_children_file() -> bool:
    """Whether /proc lists the children of a thread (CONFIG_PROC_CHILDREN)."""
    pid = os.getpid()
    return Path(f"/proc/{pid}/task/{pid}/children").exists()
