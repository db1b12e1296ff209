"""What outlived a run that was killed together with its server and supervisors at one instant.

Whose something is says a marker: the pid of its runner, when that started, and where that pid means something (this
start of the machine, and the pid namespace). Nothing is touched that isn't proved to be a dead runner's: a run in
another container, or beside another ``/proc``, is none of our business. A scratch directory is locked by its runner as
long as that lives, whatever namespace it is in.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from functools import cache

import psutil

from passhat.isolation._capabilities import capabilities
from passhat.isolation._environ import MARKER
from passhat.isolation._removal import open_up, remove_tree

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # Windows, where nothing is ever proved to be a dead runner's
    flock = None  # type: ignore[assignment]

_SCRATCH = "passhat-"
_UNLOCKED = ".passhat-new-"  # how the name of one begins that is being made
_BOOT = 6  # digits of a start of a machine in the name of a directory
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_number = itertools.count()
_LOCK = ".lock"
_OPEN = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_held: dict[str, int] = {}  # the locks of this process's scratch directories


def runner_marker() -> str:
    """Names this process in the environment of all that it causes: its pid, its start, and where these are valid."""
    return f"{os.getpid()}:{_start('self' if sys.platform == 'linux' else os.getpid())}:{_where()}"


def _start(pid: int | str) -> str:
    """When a process started, in a form that no change of the clock alters (on Linux)."""
    if sys.platform == "linux":
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19].decode()
    return f"{psutil.Process(int(pid)).create_time():.0f}"


@cache
def _where() -> str:
    """This start of this machine, and this pid namespace: a pid says nothing anywhere else."""
    if sys.platform != "linux":
        return f"{hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]}.{psutil.boot_time():.0f}"
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot = file.read().replace("-", "").strip()
    return f"{boot[:12]}.{os.stat('/proc/self/ns/pid').st_ino}"


def make_scratch() -> str:
    """A directory for the working directories of jobs that name none; its name says whose it is.

    It is locked before it has that name, and stays so until it is removed or this process has ended. Its path is
    short: the one of a Unix socket may have 107 bytes, and programs make theirs somewhere below TMPDIR.
    """
    for path in [path for path in _held if not os.path.isdir(path)]:
        os.close(_held.pop(path))
    name = f"{_short(runner_marker())}-{next(_number)}"
    made, path = (os.path.join(tempfile.gettempdir(), prefix + name) for prefix in (_UNLOCKED, _SCRATCH))
    os.mkdir(made, mode=0o700)
    lock_file = os.path.join(made, _LOCK)
    lock = -1
    try:
        lock = os.open(lock_file, _OPEN | os.O_CREAT, 0o600)
        _locked(lock)  # on a file system without locks others can't get one either, and leave it alone
        os.rename(made, path)
    except BaseException:
        if lock >= 0:
            os.close(lock)
            os.unlink(lock_file)
        os.rmdir(made)
        raise
    if flock is None:
        os.close(lock)
    else:
        _held[path] = lock
    return path


def remove_scratch(path: str | os.PathLike[str]) -> None:
    """Remove a scratch directory, and the lock in it, which says whose it is, last of all: who is killed meanwhile
    leaves one that the next run can remove. What took its place is removed as well; nothing there is fine.

    Raises OSError when something stays, and the lock with it.
    """
    folder = os.fspath(path)
    lock = os.path.join(folder, _LOCK)
    if os.path.islink(folder) or not os.path.lexists(lock):
        remove_tree(folder)
        return
    open_up(folder)
    failed: OSError | None = None
    for name in os.listdir(folder):
        if name != _LOCK:
            try:
                remove_tree(os.path.join(folder, name))
            except OSError as error:
                failed = failed or error
    if failed is not None:
        raise failed
    remove_tree(lock)
    remove_tree(folder)


def _short(marker: str) -> str:
    """A marker as part of a name: numbers to base 36, and the beginning of what names the machine's start.

    >>> _short("4194303:1234567890:0123456789ab.4026531836")
    '2hwcf.kf12oi.012345.1ulajuk'
    """
    pid, started, where = marker.split(":")
    boot, _, space = where.partition(".")
    return f"{_base_36(int(pid))}.{_base_36(int(started))}.{boot[:_BOOT]}.{_base_36(int(space))}"


def _base_36(number: int) -> str:
    digits = ""
    while number or not digits:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits


def _long(name: str) -> str:
    """The marker that `_short` made a part of a name of; raises ValueError for what is none.

    >>> _long("2hwcf.kf12oi.012345.1ulajuk")
    '4194303:1234567890:012345.4026531836'
    """
    pid, started, boot, space = name.split(".")
    whole = _where().partition(".")[0]
    boot = whole if whole.startswith(boot) and len(boot) == _BOOT else boot
    return f"{int(pid, 36)}:{int(started, 36)}:{boot}.{int(space, 36)}"


def end_leftovers() -> tuple[int, ...]:
    """Kill our user's processes whose environment names a runner that is proved to be gone. Returns their pids.

    Best effort: a process that cleared its environment isn't found. Scratch directories of such runners are removed
    too. To be called when a run starts.
    """
    remove_scratches_of_the_dead()
    ended = []
    if capabilities().containment == "none":
        return ()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            marker = process.environ().get(MARKER, "")
            if marker and process.pid != os.getpid() and _is_dead(marker):
                process.send_signal(signal.SIGKILL)
                ended.append(process.pid)
    return tuple(ended)


def remove_scratches_of_the_dead() -> None:
    """Remove the scratch directories whose runners are proved to be gone.

    A run does so at its start and at its end: by then the processes of one that was killed just before, which may have
    written there to the last, are gone as well.
    """
    folder = tempfile.gettempdir()
    for name in os.listdir(folder):
        prefix = next((prefix for prefix in (_SCRATCH, _UNLOCKED) if name.startswith(prefix)), None)
        if prefix is None:
            continue
        path = os.path.join(folder, name)
        with contextlib.suppress(Exception):  # what can't be removed must never keep a run from starting
            marker = _long(name.removeprefix(prefix).partition("-")[0])
            if os.lstat(path).st_uid != os.geteuid() or os.path.islink(path):
                continue
            if prefix == _UNLOCKED:
                if _is_dead(marker):
                    remove_tree(path)
            elif _may_be_dead(marker):
                with _lock_of_the_dead(path) as free:
                    if free:
                        remove_scratch(path)


def _may_be_dead(marker: str) -> bool:
    """Whether a free lock proves that the runner of a marker is dead: it is of this start of this machine."""
    here = marker.rpartition(":")[2].partition(".")[0] == _where().partition(".")[0]
    return here and (not _is_of_here(marker) or _is_dead(marker))


@contextlib.contextmanager
def _lock_of_the_dead(path: str) -> Iterator[bool]:
    """Whether the lock of a scratch directory is free; nobody else can have it meanwhile.

    One that has none is empty, and whoever was to remove it was killed just then: no living runner's is.
    """
    try:
        lock = os.open(os.path.join(path, _LOCK), _OPEN)
    except FileNotFoundError:
        os.rmdir(path)
        raise
    try:
        yield _locked(lock)
    finally:
        os.close(lock)


def _locked(file: int) -> bool:
    if flock is None:
        return False
    try:
        flock(file, LOCK_EX | LOCK_NB)
    except OSError:
        return False
    return True


def _is_of_here(marker: str) -> bool:
    return marker.count(":") == 2 and marker.rpartition(":")[2] == _where()


def _is_dead(marker: str) -> bool:
    """Whether the runner that a marker names is proved to be gone: no process has its pid, or one that started then."""
    pid, _, rest = marker.partition(":")
    if not _is_of_here(marker) or not pid.isdecimal() or not 0 < int(pid) < 1 << 31:
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    try:
        if sys.platform == "linux" and os.readlink("/proc/self") != str(os.getpid()):
            return False  # another namespace's /proc is mounted here
        return _start(int(pid)) != rest.partition(":")[0]
    except (OSError, psutil.Error):  # gone since, or hidden: it can wait for the next run
        return False
