"""What outlived a run that was killed together with its server and supervisors at one instant."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile

import psutil

from passhat.isolation._environ import MARKER
from passhat.isolation._removal import remove_tree

_SCRATCH = "passhat-run-"


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


def make_scratch() -> str:
    """A directory for the working directories of jobs that name none; its name says whose it is."""
    return tempfile.mkdtemp(prefix=f"{_SCRATCH}{runner_marker().replace(':', '.')}-")


def end_leftovers() -> tuple[int, ...]:
    """Kill our user's processes whose environment names a runner that is gone. Returns their pids.

    Best effort: a process that cleared its environment isn't found. Temporary directories of such runners are removed
    too. To be called when a run starts.
    """
    _remove_scratches()
    ended = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            marker = process.environ().get(MARKER, "")
            if marker and process.pid != os.getpid() and not _alive(marker):
                process.send_signal(signal.SIGKILL)
                ended.append(process.pid)
    return tuple(ended)


def _remove_scratches() -> None:
    folder = tempfile.gettempdir()
    for name in os.listdir(folder):
        pid, _, rest = name.removeprefix(_SCRATCH).partition(".")
        path = os.path.join(folder, name)
        if name.startswith(_SCRATCH) and not _alive(f"{pid}:{rest.partition('-')[0]}"):
            with contextlib.suppress(Exception):  # what can't be removed must never keep a run from starting
                if os.lstat(path).st_uid == os.geteuid() and not os.path.islink(path):
                    remove_tree(path)


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
