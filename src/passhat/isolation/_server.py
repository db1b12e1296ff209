"""The fork server: installed packages warm, no user code, no thread, no event loop; it forks supervisors on request.

It is a sub-reaper as well: what a killed supervisor leaves behind becomes its child, and is killed here.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import sys
import time
from typing import Any, NoReturn

import msgspec

from passhat.isolation import _child, _landlock, _linux, _load, _seccomp
from passhat.isolation._capabilities import IsolationError
from passhat.isolation._config import ServerConfig, ServerReady
from passhat.isolation._descriptors import as_before
from passhat.isolation._frames import Framing, Kind
from passhat.isolation._owner import Owner
from passhat.isolation._preload import Preloader
from passhat.isolation._rehearsal import Rehearsal
from passhat.isolation._snapshot import ModuleKinds, Snapshot
from passhat.isolation._spare import Forking
from passhat.isolation._supervisor import Spawning, Supervisor, leave, wakeup_on_child
from passhat.isolation._tree import SubreaperTree, children_of, drain

_WARM = (_landlock, _load)  # what every job needs is imported once, here
_GUARD_MS = 200
_LAST_WORDS = 12.0  # seconds that supervisors get to prove their trees gone when the runner is


class Server:
    """The loop of the fork server."""

    def __init__(self, sock: socket.socket, config: ServerConfig) -> None:
        self._sock = sock
        self._config = config
        self._framing = Framing()
        self._passed: list[int] = []  # descriptors that came with messages not handled yet
        self._slots: set[int] = set()
        self._runner = os.pidfd_open(config.runner)
        self._myself = os.pidfd_open(os.getpid())
        self._wakeup = wakeup_on_child()
        self._tree = SubreaperTree(self._wakeup)
        _seccomp.filter_available()  # built here once, for all jobs
        _linux.hear_of_parent(config.runner, signal.SIGCONT)  # to see that it is gone it must run, if it was stopped

    def prepare(self) -> ServerReady:
        """Import what is to be warm, as far as that is known. The answer for the runner."""
        config = self._config
        sys.path[:] = list(config.sys_path)
        self._kinds = ModuleKinds()
        self._before = dict(os.environ)
        self._preloader = Preloader(config.sentinels, self._kinds)
        if config.certain is None:
            return self.complete(config)
        self._preloader.take(config.preload, ())
        self._preloader.import_all()
        dirty = self._preloader.import_certain(config.certain)
        self._surround(Snapshot())
        gc.freeze()  # a collection in the fork that comes next would copy all of this memory
        return ServerReady(modules=len(sys.modules), dirty=tuple(dirty))

    def complete(self, config: ServerConfig) -> ServerReady:
        """Import what else is to be warm, and freeze it. The answer for the runner."""
        self._config = config
        self._wait_for_supervisors()  # a child would be a hazard
        snapshot = config.snapshot()
        snapshot.guard(self._kinds)
        preloader = self._preloader
        preloader.take([*config.preload, *config.installed], [module.name for module in config.user])
        if config.suspect:
            left_out = preloader.import_safe(config.import_seconds, self._sweep)
        else:
            left_out = preloader.import_all()
        self._surround(snapshot)
        self._surroundings.rehearsal = Rehearsal(self._warm_up(snapshot))
        dirty = preloader.state() if config.mode == "fork" else []
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        overlay = self._surroundings.overlay
        return ServerReady(modules=len(sys.modules), left_out=left_out, dirty=tuple(dirty), overlay=overlay)

    def _surround(self, snapshot: Snapshot) -> None:
        config = self._config
        overlay = _changes(self._before, dict(os.environ), set(config.sentinels))
        self._surroundings = _child.Surroundings(
            snapshot, self._kinds, overlay, _user_processes(config.slots), processors=config.processors
        )

    def _wait_for_supervisors(self) -> None:
        """Until those that have been told to leave have done so."""
        waiter = select.poll()
        waiter.register(self._wakeup, select.POLLIN)
        give_up = time.monotonic() + _LAST_WORDS
        self._guard()
        while self._slots and time.monotonic() < give_up:
            if waiter.poll(50):
                drain(self._wakeup)
            self._guard()

    def _warm_up(self, snapshot: Snapshot) -> dict[str, Any]:
        if not self._config.warm_up:
            return {}
        module, _, function = self._config.warm_up.partition(":")
        payloads: dict[str, Any] = getattr(importlib.import_module(module), function)(self._config.scratch, snapshot)
        return payloads

    def _sweep(self) -> None:
        self._tree.kill_all()

    def serve(self) -> None:
        """Fork a supervisor for each request, and kill orphans, until the runner is gone."""
        poller = select.poll()
        for descriptor in (self._sock.fileno(), self._runner, self._wakeup):
            poller.register(descriptor, select.POLLIN)
        while True:
            for descriptor, _ in poller.poll(_GUARD_MS):
                if descriptor == self._runner:
                    return
                if descriptor == self._wakeup:
                    drain(self._wakeup)
                elif not self._listen():
                    return
            self._guard()

    def _listen(self) -> bool:
        try:
            data, descriptors, _, _ = socket.recv_fds(self._sock, 65536, 8)
        except OSError:
            return False
        self._passed += descriptors
        for kind, body in self._framing.feed(data):
            if kind is Kind.SLOT:
                self._fork_supervisor(self._passed.pop(0))
            elif kind is Kind.LEARNED:
                self.say(Kind.READY, msgspec.json.encode(self.complete(msgspec.json.decode(body, type=ServerConfig))))
            elif kind is Kind.SETTLED:
                self.say(Kind.SETTLED, b"1" if self._settle() else b"0")
        return bool(data)

    def say(self, kind: Kind, body: bytes, descriptors: tuple[int, ...] = ()) -> None:
        """Send a message to the runner, with descriptors."""
        with contextlib.suppress(OSError):
            socket.send_fds(self._sock, [self._framing.pack(kind, body)], list(descriptors))

    def _fork_supervisor(self, line: int) -> None:
        try:
            pid = os.fork()
        except BlockingIOError as error:
            raise IsolationError(
                "no further process can be started: raise the limit of this user's (ulimit -u) or of the container's "
                "(--pids-limit), or end others"
            ) from error
        if pid == 0:
            try:
                self._become_supervisor(line)
            finally:
                leave(0)
        os.close(line)
        self._slots.add(pid)
        pidfd = os.pidfd_open(pid)
        self.say(Kind.SLOT, b"%d" % pid, (pidfd,))
        os.close(pidfd)

    def _become_supervisor(self, line: int) -> NoReturn:
        self._sock.close()
        os.close(self._wakeup)
        signal.set_wakeup_fd(-1)
        wakeup = wakeup_on_child()
        _linux.become_subreaper()
        owner = Owner(socket.socket(fileno=line), pidfds=(self._runner, self._myself))
        tree = SubreaperTree(wakeup)
        known = self._surroundings
        launch = Spawning(known) if self._config.mode == "spawn" else Forking(known, tree)
        try:
            Supervisor(owner, tree, wakeup, launch, self._config.scratch).serve()
        finally:
            launch.close()
        leave(0)

    def _guard(self) -> bool:
        """Reap, and kill every child that is no supervisor. True when there was none."""
        self._reap()
        orphans = [pid for pid in children_of(os.getpid()) if pid not in self._slots]
        for pid in orphans:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if orphans:
            self._reap()
        return not orphans

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (pid := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                self._slots.discard(pid)

    def _settle(self) -> bool:
        """Kill what a lost supervisor left. True when nothing is left to find."""
        give_up = time.monotonic() + 5.0
        quiet = 0
        while quiet < 2 and time.monotonic() < give_up:
            quiet = quiet + 1 if self._guard() else 0
            select.poll().poll(2)
        return quiet >= 2

    def finish(self) -> None:
        """Let the supervisors end their jobs, then end everything."""
        self._sock.close()
        self._wait_for_supervisors()
        self._tree.kill_all()


def _changes(before: dict[str, str], after: dict[str, str], ignored: set[str]) -> dict[str, str | None]:
    changed: dict[str, str | None] = dict.fromkeys(before.keys() - after.keys())
    changed.update({name: value for name, value in after.items() if before.get(name) != value})
    return {name: value for name, value in changed.items() if name not in ignored}


def _user_processes(slots: int) -> int | None:
    """The most processes and threads that our user may have while a job runs; None for root, who has no such limit.

    The kernel counts all of a user's threads on the machine, so there is generous room: it stops storms only.
    """
    if os.geteuid() == 0:
        return None
    mine = 0
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == os.geteuid():
                mine += len(os.listdir(f"/proc/{name}/task"))
    return mine + 500 + 500 * slots


def main(numbers: list[int]) -> None:
    """What the server's interpreter does: read the configuration, prepare, answer, serve."""
    line, *files = numbers
    as_before(files)
    sock = socket.socket(fileno=line)
    os.set_inheritable(line, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()  # imports make little garbage; it is collected once, when all are done
    _child.settle_streams()
    _linux.become_subreaper()
    config = _read_config(sock)
    server = Server(sock, config)
    try:
        ready = server.prepare()
        if os.geteuid() != 0:
            _linux.set_dumpable(False)  # no process of our user may read or change this one's memory
        server.say(Kind.READY, msgspec.json.encode(ready))
        server.serve()
    except BaseException as error:
        server.say(Kind.FAILED, f"{type(error).__name__}: {error}".encode("utf-8", "replace"))
        raise
    finally:
        server.finish()
        leave(0)


def _read_config(sock: socket.socket) -> ServerConfig:
    framing = Framing()
    while True:
        data = sock.recv(1 << 18)
        if not data:
            leave(94)
        for _, body in framing.feed(data):
            return msgspec.json.decode(body, type=ServerConfig)
