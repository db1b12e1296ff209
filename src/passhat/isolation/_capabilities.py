"""What this machine lets us promise."""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import Literal

import msgspec


class IsolationError(Exception):
    """Process isolation can't do what was asked; the message says why and what to do instead."""


class IsolationUnavailable(IsolationError):
    """This platform has no process isolation."""


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What the kernel offers. ``containment`` is what can be promised about a trial's processes:

    *proved*: every descendant is found and its death is known (Linux, sub-reaper); *best effort*: descendants are
    recorded by looking again and again (macOS, old kernels); *none*: no process isolation at all.
    ``seccomp`` is whether a trial can be kept from setting the resource limits and the scheduling of other processes.
    ``missing`` names, in words, what keeps the machine from *proved*, from the Landlock guard or from that.
    """

    platform: str
    subreaper: bool = False
    pidfd: bool = False
    children_file: bool = False
    landlock_abi: int = 0
    guard: bool = False
    seccomp: bool = False
    root: bool = False
    containment: Literal["proved", "best effort", "none"] = "none"
    missing: tuple[str, ...] = ()


@cache
def capabilities() -> Capabilities:
    """What process isolation can promise here; looked up once.

    >>> capabilities().containment in ("proved", "best effort", "none")
    True
    """
    if sys.platform == "win32":
        return Capabilities(platform="win32", missing=("Windows has neither sessions nor sub-reapers",))
    root = os.geteuid() == 0
    if sys.platform == "linux" and not os.path.exists("/proc/self/stat"):
        return Capabilities(platform="linux", root=root, missing=("/proc isn't mounted",))
    if sys.platform != "linux":
        reason = f"{sys.platform} has no sub-reaper, pidfd or Landlock"
        return Capabilities(platform=sys.platform, root=root, containment="best effort", missing=(reason,))
    return _linux_capabilities(root)


def _linux_capabilities(root: bool) -> Capabilities:
    from passhat.isolation import _landlock, _linux, _seccomp

    subreaper = _linux.subreaper_available()
    pidfd = _pidfd_available()
    children = _linux.has_children_file()
    abi = _landlock.landlock_abi()
    missing = []
    if not subreaper:
        missing.append("no sub-reaper (prctl 36, Linux 3.4)")
    if not pidfd:
        missing.append("no pidfd_open (Linux 5.3), or a seccomp filter refuses it")
    if not children:
        missing.append("no /proc/PID/task/TID/children (CONFIG_PROC_CHILDREN): descendants are found by a slower scan")
    if abi < 2:
        missing.append("no Landlock of version 2 (Linux 5.19), or it is switched off: no guard, no confine")
    filtered = _seccomp.filter_available()
    if not filtered:
        missing.append("no seccomp filter can be installed: trials can set the limits of other processes")
    return Capabilities(
        platform="linux",
        subreaper=subreaper,
        pidfd=pidfd,
        children_file=children,
        landlock_abi=abi,
        guard=_landlock.guard_available(),
        seccomp=filtered,
        root=root,
        containment="proved" if subreaper and pidfd else "best effort",
        missing=tuple(missing),
    )


def _pidfd_available() -> bool:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True
