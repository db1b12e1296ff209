"""Entries that set limits and scheduling of processes: nothing changes by it, as what is set is what there is."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import resource
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import psutil

from passhat.isolation import Channel

_LIBC = ctypes.CDLL(None, use_errno=True)
_NUMBERS = {
    "x86_64": {"prlimit64": 302, "sched_setattr": 314, "sched_getattr": 315, "ioprio_set": 251, "ioprio_get": 252},
    "aarch64": {"prlimit64": 261, "sched_setattr": 274, "sched_getattr": 275, "ioprio_set": 30, "ioprio_get": 31},
}
_ADVISE, _COLD = 440, 20
_INT_80 = bytes.fromhex("53 89f8 89f3 87ca 4489c6 cd80 5b c3")  # a 32-bit call by 64-bit code, its number first


def _call(name: str | int, *words: Any) -> int:
    number = name if isinstance(name, int) else _NUMBERS[os.uname().machine][name]
    wide = [ctypes.c_long(word) if isinstance(word, int) else word for word in (number, *words)]
    done: int = _LIBC.syscall(*wide)
    if done < 0:
        raise OSError(ctypes.get_errno(), str(name))
    return done


def _group(pid: int) -> int:
    return os.getpgid(pid) if pid else 0


def _sched_attr(pid: int) -> None:
    attr = ctypes.create_string_buffer(56)
    _call("sched_getattr", pid, attr, 56, 0)
    _call("sched_setattr", pid, attr, 0)


def _advise(pid: int) -> None:
    with mmap.mmap(-1, mmap.PAGESIZE) as page:
        place = ctypes.c_char.from_buffer(page)
        piece = struct.pack("QQ", ctypes.addressof(place), mmap.PAGESIZE)
        del place
        pidfd = os.pidfd_open(pid)
        _call(_ADVISE, pidfd, piece, 1, _COLD, 0)


WAYS: dict[str, Callable[[int], Any]] = {
    "limit": lambda pid: resource.prlimit(pid, resource.RLIMIT_NOFILE, resource.prlimit(pid, resource.RLIMIT_NOFILE)),
    "scheduler": lambda pid: os.sched_setscheduler(pid, os.sched_getscheduler(pid), os.sched_getparam(pid)),
    "parameters": lambda pid: os.sched_setparam(pid, os.sched_getparam(pid)),
    "attributes": _sched_attr,
    "priority": lambda pid: os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, pid)),
    "group": lambda pid: os.setpriority(os.PRIO_PGRP, _group(pid), os.getpriority(os.PRIO_PGRP, _group(pid))),
    "io priority": lambda pid: _call("ioprio_set", 1, pid, _call("ioprio_get", 1, pid)),
}


def _said(way: Callable[..., Any], *words: Any) -> str:
    try:
        way(*words)
    except (OSError, psutil.Error) as error:
        return errno.errorcode[error.errno] if isinstance(error, OSError) and error.errno else type(error).__name__
    return "done"


def sets(payload: Any, channel: Channel) -> Any:
    """What became of each way to set something for each of the named processes (0: oneself, -1: the own pid)."""
    named = {name: os.getpid() if pid == -1 else pid for name, pid in payload.items()}
    return {name: {what: _said(way, pid) for what, way in WAYS.items()} for name, pid in named.items()}


def sets_from_below(payload: Any, channel: Channel) -> Any:
    """The same in a program that this process starts, and that starts another."""
    code = "import sys, json; from isolation_limits import *; print(json.dumps(sets({'pid': int(sys.argv[1])}, None)))"
    command = [sys.executable, "-c", code, str(payload)]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}
    done = subprocess.run(["sh", "-c", '"$@"; true', "sh", *command], capture_output=True, text=True, env=environ)
    return done.stdout or done.stderr


def reads(payload: Any, channel: Channel) -> Any:
    return [list(resource.prlimit(payload, resource.RLIMIT_NOFILE)), len(os.sched_getaffinity(payload)) > 0]


def binds(payload: Any, channel: Channel) -> Any:
    """Bind each thread of these processes to one processor; how many it had, and how many threads were bound."""
    had, bound = os.sched_getaffinity(0), 0
    for pid in [*payload, os.getpid()]:
        for thread in map(int, os.listdir(f"/proc/{pid}/task")):
            os.sched_setaffinity(thread, {min(had)})
            bound += os.sched_getaffinity(thread) == {min(had)}
    return len(had), bound


def binds_its_threads(payload: Any, channel: Channel) -> Any:
    """What each of three threads may run on, bound by its own number to the lowest processor there is, from outside."""
    lowest, bound, over = min(os.sched_getaffinity(0)), [], threading.Event()
    threads = [threading.Thread(target=over.wait) for _ in range(3)]
    for thread in threads:
        thread.start()
        assert thread.native_id is not None
        os.sched_setaffinity(thread.native_id, {lowest})
        bound.append(os.sched_getaffinity(thread.native_id) == {lowest})
    over.set()
    return bound


def all_of_a_user(payload: Any, channel: Channel) -> Any:
    mine = os.getpriority(os.PRIO_USER, 0)
    return [_said(os.setpriority, os.PRIO_USER, 0, mine), _said(_call, "ioprio_set", 3, 0, 0)]


def by_other_doors(payload: Any, channel: Channel) -> Any:
    """The same calls with an address whose lower half is 0, by numbers of other ABIs, and by a descriptor."""
    told = {"lower half 0": _said(_call, "prlimit64", payload, resource.RLIMIT_NOFILE, 1 << 40, 0)}
    told["advice"] = _said(_advise, payload)
    told["advice to oneself"] = _said(_call, _ADVISE, -10_000, None, 0, _COLD, 0)
    if os.uname().machine != "x86_64":
        return told
    told["x32"] = _said(_call, 0x40000000 | 302, payload, resource.RLIMIT_NOFILE, 1 << 40, 0)
    with mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) as page:
        page.write(_INT_80)
        place = ctypes.c_char.from_buffer(page)
        call = ctypes.CFUNCTYPE(ctypes.c_int, *(ctypes.c_int,) * 5)(ctypes.addressof(place))
        child = os.fork()
        if child == 0:  # dies where the kernel runs no 32-bit programs
            fine = call(20, 0, 0, 0, 0) == os.getpid()
            refused = call(97, 0, payload, os.getpriority(0, payload), 0) == -errno.EPERM
            refused &= call(340, payload, resource.RLIMIT_NOFILE, 1, 0) == -errno.EPERM
            os._exit(2 * fine + refused)
        status = os.waitpid(child, 0)[1]
        del place, call
    if os.WIFEXITED(status):
        told["i386"] = "EPERM" if os.WEXITSTATUS(status) == 3 else f"exit {os.WEXITSTATUS(status)}"
    return told


def sets_its_own(payload: Any, channel: Channel) -> Any:
    """What programs do to themselves, and for children before these begin."""
    myself = psutil.Process()
    files = resource.RLIMIT_NOFILE
    told: dict[str, Any] = {
        "psutil": [
            _said(myself.rlimit, psutil.RLIMIT_NOFILE, (200, 300)),
            _said(myself.cpu_affinity, myself.cpu_affinity()),
            _said(myself.nice, 1),
        ],
        "now": resource.getrlimit(files),
    }
    for name, command in payload.items():
        done = subprocess.run(command, capture_output=True, text=True)
        told[name] = done.stdout.strip() if done.returncode == 0 else done.stderr
    preexec = subprocess.run(
        ["sh", "-c", "ulimit -n"],
        preexec_fn=lambda: resource.setrlimit(files, (60, 60)),
        capture_output=True,
        text=True,
    )
    told["preexec_fn"] = preexec.stdout.strip()
    return told


def sets_its_childs(payload: Any, channel: Channel) -> Any:
    child = subprocess.Popen(["sleep", "100"])
    try:
        return _said(resource.prlimit, child.pid, resource.RLIMIT_NOFILE, (60, 60))
    finally:
        child.kill()
        child.wait()
