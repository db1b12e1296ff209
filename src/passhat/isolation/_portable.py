"""Where there is no sub-reaper (macOS, old kernels): the same supervisor, best effort about descendants.

Descendants are recorded by looking ten times a second. At the end the group, everything recorded and everything that
carries this job's mark in its environment is killed, until two looks find nothing. A process that forks twice and
clears its environment between two looks can escape.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping

import msgspec
import psutil

from passhat.isolation._capabilities import IsolationError
from passhat.isolation._child import Surroundings
from passhat.isolation._config import ServerConfig
from passhat.isolation._contract import JobOrder
from passhat.isolation._frames import Framing, Kind
from passhat.isolation._fresh import command, without_path
from passhat.isolation._launching import Begun
from passhat.isolation._owner import Owner
from passhat.isolation._slot import Slot
from passhat.isolation._snapshot import ModuleKinds
from passhat.isolation._supervisor import Spawning, Supervisor, leave, wakeup_on_child

_TRIAL = "PASSHAT_TRIAL"
_LOOK_EVERY = 0.1
_QUIET = 0.05


class PolledTree:
    """The processes of one job as far as looking can tell."""

    containment = "best effort"

    def __init__(self) -> None:
        self.mark = ""
        self.reset(0)

    def reset(self, root: int) -> None:
        """Begin to account for a new job."""
        self._root = root
        self._known: dict[int, psutil.Process] = {}
        self._looked = 0.0
        self.status: int | None = None
        self.cpu = 0.0
        self.largest = 0
        self.reaped = 0
        if root:
            self.members()

    def reap(self) -> bool:
        """Take the root's status; True when nothing that is known lives."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
                if pid == 0:
                    return False
                self.cpu += usage.ru_utime + usage.ru_stime
                self.largest = max(self.largest, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024))
                if pid == self._root:
                    self.status = status
        return self.status is not None and not self._living() and not self._marked()

    def members(self) -> list[int]:
        """The descendants known by now; looks for new ones at most ten times a second."""
        now = time.monotonic()
        if now - self._looked >= _LOOK_EVERY:
            self._looked = now
            self._look()
        return [process.pid for process in self._living()]

    def _look(self) -> None:
        """Follow parents from every process that is known, the dead ones' children having gone to init."""
        parents: dict[int, list[int]] = {}
        for pid, parent in _parents():
            parents.setdefault(parent, []).append(pid)
        waiting = [os.getpid(), *self._known]
        for pid in waiting:
            for child in parents.get(pid, ()):
                if child not in self._known:
                    with contextlib.suppress(psutil.Error):
                        self._known[child] = psutil.Process(child)
                        waiting.append(child)

    def _living(self) -> list[psutil.Process]:
        living = []
        for process in self._known.values():
            with contextlib.suppress(psutil.Error):
                if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                    living.append(process)
        return living

    def _marked(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                if process.pid != os.getpid() and process.environ().get(_TRIAL) == self.mark:
                    found.append(process)
        return found

    def memory(self, members: list[int]) -> int:
        """Resident bytes, without shared pages where the platform tells."""
        total = 0
        for pid in members:
            with contextlib.suppress(psutil.Error):
                info = psutil.Process(pid).memory_info()
                total += max(0, info.rss - getattr(info, "shared", 0))
        return total

    def kill_all(self, within: float = 10.0) -> tuple[int, ...]:
        """Kill until two looks in a row find nothing. Returns who is left."""
        give_up = time.monotonic() + within
        quiet = 0
        while quiet < 2:
            self._look()
            targets = {process.pid: process for process in [*self._living(), *self._marked()]}
            targets.pop(os.getpid(), None)
            if self._root:
                with contextlib.suppress(OSError):
                    os.killpg(self._root, signal.SIGKILL)
            for process in targets.values():
                with contextlib.suppress(psutil.Error, OSError):
                    process.send_signal(signal.SIGKILL)
            self.reaped += len(targets)
            self.reap()
            quiet = 0 if targets else quiet + 1
            if targets and time.monotonic() > give_up:
                return tuple(sorted(targets))
            if quiet < 2:
                time.sleep(_QUIET if not targets else 0.002)
        return ()


def _parents() -> list[tuple[int, int]]:
    found = []
    for process in psutil.process_iter(["ppid"]):
        found.append((process.pid, process.info["ppid"] or 0))
    return found


class _Marking(Spawning):
    """Gives each job a mark of its own in its environment."""

    def __init__(self, surroundings: Surroundings, tree: PolledTree) -> None:
        super().__init__(surroundings)
        self._tree = tree
        self._count = 0

    def _begin(self, order: JobOrder) -> Begun:
        self._count += 1
        self._tree.mark = f"{os.getpid()}-{self._count}"
        return super()._begin(msgspec.structs.replace(order, environ={**order.environ, _TRIAL: self._tree.mark}))


def main(numbers: list[int]) -> None:
    """What the interpreter of a supervisor does."""
    line, runner = numbers
    os.set_inheritable(line, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    owner = Owner(socket.socket(fileno=line), parent=runner)
    try:
        message = owner.next()
        if message is not None:
            config = msgspec.json.decode(message[1], type=ServerConfig)
            sys.path[:] = list(config.sys_path)
            tree = PolledTree()
            wakeup = wakeup_on_child()
            launch = _Marking(Surroundings(config.snapshot(), ModuleKinds(), processors=config.processors), tree)
            Supervisor(owner, tree, wakeup, launch, config.scratch).serve()
    finally:
        leave(0)


class PortableServer:
    """Starts a supervisor of its own for each slot; there is no server process."""

    pid = None
    alive = True

    def __init__(self, config: ServerConfig, environ: Mapping[str, str], marker: str) -> None:
        self._config = config
        self._environ = dict(environ)
        self._marker = marker
        self._supervisors: list[subprocess.Popen[bytes]] = []

    async def slot(self) -> Slot:
        """A new supervisor."""
        ours, theirs = socket.socketpair()
        try:
            popen = subprocess.Popen(
                command("_portable", [theirs.fileno(), os.getpid()], list(self._config.sys_path)),
                env=without_path(self._environ),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )
        except OSError as error:
            ours.close()
            raise IsolationError(f"no supervisor could be started: {error}") from error
        finally:
            theirs.close()
        self._supervisors.append(popen)
        ours.setblocking(False)
        config = Framing().pack(Kind.JOB, msgspec.json.encode(self._config))
        await asyncio.get_running_loop().sock_sendall(ours, config)

        async def settle() -> bool:
            return await asyncio.to_thread(_end_marked, f"{popen.pid}-")

        return await Slot(popen.pid, None, self._marker, settle).connect(ours)

    async def close(self) -> None:
        """Wait for the supervisors, whose lines are closed."""
        for popen in self._supervisors:
            with contextlib.suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(popen.wait, 15.0)
            if popen.poll() is None:
                popen.kill()
                popen.wait()
        self._supervisors.clear()


def _end_marked(prefix: str) -> bool:
    """Kill what carries the marks of a dead supervisor."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(_TRIAL, "").startswith(prefix):
                process.send_signal(signal.SIGKILL)
    return True
