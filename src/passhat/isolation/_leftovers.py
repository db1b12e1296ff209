"""Processes that outlived a run which was killed together with its server and supervisors at one instant."""

from __future__ import annotations

import contextlib
import os
import signal
import sys

import psutil

from passhat.isolation._environ import MARKER


def runner_marker() -> str:
    """Names this process in the environment of all that it causes: its pid and its start."""
    return f"{os.getpid()}:{_start(os.getpid())}"


def _start(pid: int) -> str:
    """When a process started, in a form that no change of the clock alters (on Linux)."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19].decode()
        raise psutil.NoSuchProcess(pid)
    return f"{psutil.Process(pid).create_time():.0f}"


def end_leftovers() -> tuple[int, ...]:
    """Kill our user's processes whose environment names a runner that is gone. Returns their pids.

    Best effort: a process that cleared its environment isn't found. To be called when a run starts.
    """
    ended = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            marker = process.environ().get(MARKER, "")
            if marker and process.pid != os.getpid() and not _alive(marker):
                process.send_signal(signal.SIGKILL)
                ended.append(process.pid)
    return tuple(ended)


def _alive(marker: str) -> bool:
    """Whether the runner that a marker names lives; an unreadable marker counts as alive."""
    pid, _, started = marker.partition(":")
    if not pid.isdigit() or not started:
        return True
    try:
        return _start(int(pid)) == started
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True
