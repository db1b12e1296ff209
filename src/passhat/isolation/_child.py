"""The first process of a job, between its birth and its first line of Python that isn't ours."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import atexit
import contextlib
import fcntl
import gc
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence

from passhat.isolation import _landlock, _linux, _seccomp
from passhat.isolation._contract import JobOrder
from passhat.isolation._environ import home_environ, make_home
from passhat.isolation._launching import Ends
from passhat.isolation._processors import take_processors
from passhat.isolation._rehearsal import Rehearsal
from passhat.isolation._seeding import reseed
from passhat.isolation._snapshot import ModuleKinds, Snapshot, last_module

_HIGH = 700  # where the channel lives: out of the way of code that closes or counts low descriptors
_LINUX = sys.platform == "linux"
# `signal` turns each number into a member of an enum and back, which is most of what setting one costs in a fresh fork
_DEFAULTS = (int(signal.SIGCHLD), int(signal.SIGTERM), int(signal.SIGHUP))
_INTERRUPT = int(signal.SIGINT)


class Surroundings:
    """What a job's process inherits from its server: the user's code, changes that imports made to the environment,
    the limit on the user's processes (a backstop to counting; None for root, whom the kernel doesn't limit), and the
    processors that the run may use."""

    def __init__(
        self,
        snapshot: Snapshot,
        kinds: ModuleKinds,
        overlay: Mapping[str, str | None] | None = None,
        user_processes: int | None = None,
        rehearsal: Rehearsal | None = None,
        processors: Sequence[int] = (),
    ) -> None:
        self.snapshot = snapshot
        self.kinds = kinds
        self.overlay = dict(overlay or {})
        self.user_processes = user_processes
        self.rehearsal = rehearsal or Rehearsal()
        self.processors = tuple(processors)

    def environ(self, order: JobOrder) -> dict[str, str]:
        """The complete environment of the job: what its order says wins over what an import did."""
        own = home_environ(order.home) if order.home is not None else {}
        environ = {**order.environ, **own}
        for name, value in self.overlay.items():
            if value is not None:
                environ.setdefault(name, value)
        return environ


def detach(ends: Ends, parent: int, keep: Sequence[int] = ()) -> int:
    """Leave the server's session, descriptors and signals behind. Returns the descriptor of the result channel.

    ``keep`` are descriptors that stay open although they are none of the three. A failure here ends the process.
    """
    os.setsid()
    if _LINUX:
        _linux.hear_of_parent(parent, signal.SIGKILL)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(ends.stdout, 1)
    os.dup2(ends.stderr, 2)
    channel = fcntl.fcntl(ends.channel, fcntl.F_DUPFD_CLOEXEC, _high_descriptor())
    _close_all_but(sorted({channel, *keep}))
    _default_signals()
    return channel


def _high_descriptor() -> int:
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _HIGH if soft == resource.RLIM_INFINITY or soft > _HIGH + 20 else max(3, soft // 2)


def _close_all_but(kept: list[int]) -> None:
    first = 3
    highest = 2**32 - 1 if _LINUX else max(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 4096)
    for descriptor in [*kept, highest + 1]:
        if _LINUX:
            _linux.close_range(first, descriptor - 1)
        else:
            os.closerange(first, min(descriptor, 1 << 16))
        first = descriptor + 1


def _default_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in _DEFAULTS:
        _signal.signal(number, _signal.SIG_DFL)
    _signal.signal(_INTERRUPT, signal.default_int_handler)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())


def make_places(order: JobOrder) -> None:
    """The directories of the job, where they aren't there. Making them ahead costs less than in a fresh fork."""
    if order.home is not None and not os.path.isdir(home_environ(order.home)["TMPDIR"]):
        make_home(order.home)
    if order.cwd is not None and not os.path.isdir(order.cwd):
        os.makedirs(order.cwd, mode=0o700, exist_ok=True)


def settle_limits(surroundings: Surroundings) -> None:
    """Limits that the kernel holds each job to; from then on it can't set any for others."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if surroundings.user_processes is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
        most = surroundings.user_processes
        if hard == resource.RLIM_INFINITY or most <= hard:
            resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
    if _LINUX:
        _seccomp.keep_to_itself()


def settle(order: JobOrder, *, guarded: bool = False) -> None:
    """Place and rights of the job; its process is the user's own from now on. Raises OSError for what can't be had.

    ``guarded``: it has the guard already.
    """
    if _LINUX:
        _linux.set_dumpable(True)
    with contextlib.suppress(OSError):
        number = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(number, b"500")
        os.close(number)
    if order.cwd is not None:
        os.chdir(order.cwd)
    _give_up_rights(order, guarded)


def _give_up_rights(order: JobOrder, guarded: bool) -> None:
    if not _LINUX:
        if order.confine is not None:
            raise OSError("confine=True needs Landlock, which only Linux has; use a container instead")
        return
    if order.confine is not None:
        if not _landlock.guard_available():
            raise OSError("confine=True needs Landlock (Linux 5.19 or later, switched on); use a container instead")
        _landlock.confine([*order.confine, *(place for place in (order.home, order.cwd) if place is not None)])
    elif order.guard and not guarded and _landlock.guard_available():
        _landlock.guard()


def forget() -> None:
    """Have Python's own state as a new process has it, in place of the server's."""
    atexit._clear()
    sys.argv = ["passhat"]
    sys.dont_write_bytecode = True
    settle_streams()


def refresh(order: JobOrder) -> None:
    """Give Python the job's directories and seed. A full or missing TMPDIR is an error then, no reason to use /tmp."""
    tempfile.tempdir = None if order.home is None else home_environ(order.home)["TMPDIR"]
    reseed(order.seed)
    gc.enable()


_environ: Mapping[str, str] | None = None  # the one that was taken last: to look there is cheaper than in os.environ


def take_environ(environ: Mapping[str, str]) -> None:
    """Give this process, and what it forks, an environment; changes only what differs from the one that it has."""
    global _environ
    had = dict(os.environ) if _environ is None else _environ
    for name in had.keys() - environ.keys():
        os.environ.pop(name, None)
    for name, value in environ.items():
        if had.get(name) != value:
            os.environ[name] = value
    _environ = environ
    if had.get("TZ") != environ.get("TZ"):
        time.tzset()


def settle_streams() -> None:
    """Have stdout and stderr take any text, and pass on each line at once."""
    for stream in (sys.stdout, sys.stderr):
        if getattr(stream, "errors", "") != "backslashreplace" and hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)


class ForkedStage:
    """A fork of the supervisor on its way to become a job's process."""

    def __init__(self, surroundings: Surroundings, place: str) -> None:
        self._surroundings = surroundings
        self._place = place
        self._guarded = False
        self._mark = ""

    def foresee(self, like: JobOrder | None) -> None:
        """Do, before the order is known, what is the same for every job, and what is for one ``like`` the last."""
        settle_limits(self._surroundings)
        forget()
        self._surroundings.snapshot.install()
        self._mark = last_module()
        if like is None:
            return
        self._surroundings.rehearsal.run(like.entry, self)
        if _LINUX and like.guard and like.confine is None and _landlock.guard_available():
            _landlock.guard()
            self._guarded = True

    def suits(self, order: JobOrder) -> bool:
        """Whether this process can still become that job's: a right that was given up doesn't come back, and under a
        guard a confined process can't move files between its own directories."""
        return not self._guarded or (order.guard and order.confine is None)

    def prepare(self, order: JobOrder) -> None:
        order = order.placed(self._place)
        take_processors(self._surroundings.processors)
        make_places(order)
        take_environ(self._surroundings.environ(order))
        settle(order, guarded=self._guarded)
        refresh(order)
        self._surroundings.snapshot.only_as_it_was(order.only_old_code, (order.home, order.cwd))
        self._mark = last_module()

    def late_modules(self) -> list[str]:
        return self._surroundings.snapshot.from_disk(self._mark, self._surroundings.kinds)
