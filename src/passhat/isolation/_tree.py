"""The processes of one job on Linux: who they are, how much they hold, and their certain end.

The supervisor is a sub-reaper: whatever a descendant does (new session, double fork, empty environment), its nearest
living reaper is the supervisor or something below it. So when ``wait4`` answers ECHILD, there is no descendant left.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time

_PAGE = os.sysconf("SC_PAGE_SIZE")
_LOOK_AGAIN_MS = 1


class SubreaperTree:
    """The descendants of this process, which must be a sub-reaper with no children of other kinds."""

    containment = "proved"

    def __init__(self, wakeup: int) -> None:
        self._wakeup = wakeup
        self._root = 0
        self.reset(0)

    def reset(self, root: int) -> None:
        """Begin to account for a new job whose first process is ``root``."""
        self._root = root
        self.status: int | None = None  # of the root, as wait4 gave it
        self.cpu = 0.0
        self.largest = 0  # bytes: the highest resident size of one process that ended
        self.reaped = 0

    def reap(self) -> bool:
        """Take the status of every dead child; True when there is no child at all, dead or alive."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if pid == 0:
                return False
            self.reaped += 1
            self.cpu += usage.ru_utime + usage.ru_stime
            self.largest = max(self.largest, usage.ru_maxrss * 1024)
            if pid == self._root:
                self.status = status

    def members(self) -> list[int]:
        """The living descendants and zombies, parents before their children."""
        found = children_of(os.getpid())
        for pid in found:  # the list grows while it is walked
            found.extend(children_of(pid))
        return found

    def memory(self, members: list[int]) -> int:
        """Resident bytes of ``members`` without shared pages."""
        return sum(_private_bytes(pid) for pid in members)

    def kill_all(self, within: float = 10.0) -> tuple[int, ...]:
        """Kill every descendant and reap it. Returns who is left after ``within`` seconds: nobody, as a rule."""
        give_up = time.monotonic() + within
        waiter = select.poll()
        waiter.register(self._wakeup, select.POLLIN)
        while not self.reap():
            members = self.members()
            if time.monotonic() > give_up:
                return tuple(members) or (0,)
            _kill(members)
            if waiter.poll(_LOOK_AGAIN_MS):
                drain(self._wakeup)
        return ()


def children_of(pid: int) -> list[int]:
    """The children of a process, zombies included; a snapshot that may be out of date at once."""
    found: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", "rb", buffering=0) as file:
                found.extend(int(child) for child in file.read().split())
        except FileNotFoundError:
            if not os.path.exists(f"/proc/{os.getpid()}/task/{os.getpid()}/children"):
                return _children_by_scan(pid)
        except OSError:
            continue
    return found


def _children_by_scan(parent: int) -> list[int]:
    """The same for kernels without the ``children`` file: look at every process's parent."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError), open(f"/proc/{name}/stat", "rb") as file:
                if int(file.read().rpartition(b")")[2].split()[1]) == parent:
                    found.append(int(name))
    return found


def _private_bytes(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb", buffering=0) as file:
            fields = file.read().split()
    except OSError:
        return 0
    return max(0, int(fields[1]) - int(fields[2])) * _PAGE


def _kill(members: list[int]) -> None:
    """Kill the groups first, which no fork escapes, then each process."""
    ours = os.getpgid(0)
    groups = set()
    for pid in members:
        with contextlib.suppress(OSError):
            groups.add(os.getpgid(pid))
    for group in groups - {ours}:
        with contextlib.suppress(OSError):
            os.killpg(group, signal.SIGKILL)
    for pid in members:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def drain(descriptor: int) -> None:
    """Read what a wake-up descriptor holds."""
    with contextlib.suppress(BlockingIOError):
        while len(os.read(descriptor, 4096)) == 4096:
            pass
