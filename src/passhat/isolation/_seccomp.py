"""A filter of system calls: no process of a trial sets the resource limits, or the priority, of any other process.

The kernel lets a process set the limits of every process of its user (``prlimit``), and the priority with which they
run: by that an agent could take the memory or the open files away from what judges it, or the processor from its
neighbours. Landlock doesn't cover these calls; what it does cover (ptrace, signals, another's memory) isn't repeated
here. Nothing else is refused: a call whose number alone decides is answered by the kernel without running the filter
(since Linux 5.11). Binding to processors is free: libraries bind their threads, which a filter can't tell from other
processes, and all that it does to others is to slow them for a while (see `_processors`).

The filter is a program for the kernel's classic packet filter machine (``man 2 seccomp``). It sees numbers only, and
is inherited by all that the process starts. So "its own" is the caller (pid 0), and the first process of the trial,
whose pid is written into it; a child's limits are set by the child itself, as ``ulimit`` and ``preexec_fn`` do.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from functools import cache
from typing import NamedTuple

from passhat.isolation import _linux

_SET_MODE_FILTER = 1
_SPEC_ALLOW = 1 << 2  # don't switch processors' speculation off, as Linux before 5.16 does for filtered processes
_LOAD, _AND, _GO, _EQUAL, _RETURN = 0x20, 0x54, 0x05, 0x15, 0x06
_NUMBER, _ARCHITECTURE = 0, 4  # where they stand in what the filter is shown (struct seccomp_data); then the arguments
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | errno.EPERM
_PRIO_USER, _IOPRIO_WHO_USER = 2, 3  # "all processes of a user", the caller's own where it says 0
_PIDFD_SELF = (0xFFFFFFFF - 9999, 0xFFFFFFFF - 10000)  # -10000 and -10001: the caller's thread, its process
_PROCESS_MADVISE = 440  # the same everywhere, like all calls since Linux 5.1


class _Calls(NamedTuple):
    """The numbers of the calls in question on one architecture. ``by_pid``: the first argument says whose."""

    architecture: int  # as <linux/audit.h> has it
    prlimit: int
    setpriority: int
    ioprio_set: int
    by_pid: tuple[int, ...]  # sched_setparam, sched_setscheduler, sched_setattr
    mask: int = 0xFFFFFFFF  # of a call's number


_X32 = ~0x40000000 & 0xFFFFFFFF  # x32 calls are x86-64 calls with a mark
_X86_64 = _Calls(0xC000003E, 302, 141, 251, (142, 144, 314), mask=_X32)
_I386 = _Calls(0x40000003, 340, 97, 289, (154, 156, 351))
_AARCH64 = _Calls(0xC00000B7, 261, 140, 30, (118, 119, 274))
_ARM = _Calls(0x40000028, 369, 97, 314, (154, 156, 380))


class _Machine(NamedTuple):
    seccomp: int  # the number of the call that installs a filter
    calls: tuple[_Calls, ...]  # of every architecture whose programs it runs


_MACHINES = {"x86_64": _Machine(317, (_X86_64, _I386)), "aarch64": _Machine(277, (_AARCH64, _ARM))}


class _Line(NamedTuple):
    """One instruction: what to do with ``value``, and for a comparison where to go (the next line when empty)."""

    code: int
    value: int | str
    equal: str = ""
    other: str = ""


def _argument(number: int, half: int = 0) -> int:
    """Where half (0 is the lower) of an argument stands; a pid is the lower one, whatever the other is."""
    return 16 + 8 * number + 4 * half


# What is done with each call in question. A text is a label; the value "first" is the pid of the trial's first process.
_JUDGING: tuple[_Line | str, ...] = (
    "prlimit",  # sets limits where the address of new ones isn't 0
    _Line(_LOAD, _argument(2)),
    _Line(_EQUAL, 0, "", "by pid"),
    _Line(_LOAD, _argument(2, 1)),
    _Line(_EQUAL, 0, "allow", "by pid"),
    "by pidfd",
    _Line(_LOAD, _argument(0)),
    _Line(_EQUAL, _PIDFD_SELF[0], "allow"),
    _Line(_EQUAL, _PIDFD_SELF[1], "allow", "refuse"),
    "setpriority",
    _Line(_LOAD, _argument(0)),
    _Line(_EQUAL, _PRIO_USER, "refuse", "of whom"),
    "ioprio_set",
    _Line(_LOAD, _argument(0)),
    _Line(_EQUAL, _IOPRIO_WHO_USER, "refuse", "of whom"),
    "by pid",
    _Line(_LOAD, _argument(0)),
    _Line(_GO, "whose"),
    "of whom",
    _Line(_LOAD, _argument(1)),
    "whose",
    _Line(_EQUAL, 0, "allow"),
    _Line(_EQUAL, "first", "allow"),
    "refuse",
    _Line(_RETURN, _REFUSE),
    "allow",
    _Line(_RETURN, _ALLOW),
)


def _source(calls: tuple[_Calls, ...]) -> list[_Line | str]:
    """The filter: by the architecture and the number of a call to what is done with it."""
    code: list[_Line | str] = [_Line(_LOAD, _ARCHITECTURE)]
    code += [_Line(_EQUAL, one.architecture, f"calls of {one.architecture}") for one in calls]
    code.append(_Line(_GO, "allow"))
    for one in calls:
        code += [f"calls of {one.architecture}", _Line(_LOAD, _NUMBER), _Line(_AND, one.mask)]
        code.append(_Line(_EQUAL, one.prlimit, "prlimit"))
        code += [_Line(_EQUAL, number, "by pid") for number in one.by_pid]
        code.append(_Line(_EQUAL, one.setpriority, "setpriority"))
        code.append(_Line(_EQUAL, one.ioprio_set, "ioprio_set"))
        code.append(_Line(_EQUAL, _PROCESS_MADVISE, "by pidfd", "allow"))
    return [*code, *_JUDGING]


def _assembled(source: list[_Line | str]) -> tuple[bytes, int]:
    """The program as the kernel reads it, and where in it the pid goes."""
    places: dict[str, int] = {}
    lines: list[_Line] = []
    for item in source:
        if isinstance(item, str):
            places[item] = len(lines)
        else:
            lines.append(item)
    code, pid_at = b"", -1
    for here, line in enumerate(lines, 1):  # a distance counts from the next line
        value, equal, other = line.value, *(places[name] - here if name else 0 for name in (line.equal, line.other))
        if line.code == _GO:
            value = places[str(value)] - here
        elif value == "first":
            pid_at, value = len(code) + 4, 0
        code += struct.pack("<HBBI", line.code, equal, other, value)
    return code, pid_at


class _Prog(ctypes.Structure):
    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_void_p))


class _Filter:
    """The filter in memory, and the call that installs it: a fresh fork fills in its pid and makes the call."""

    def __init__(self, machine: _Machine, flags: int) -> None:
        code, pid_at = _assembled(_source(machine.calls))
        self._code = ctypes.create_string_buffer(code, len(code))
        self._pid = ctypes.c_uint32.from_buffer(self._code, pid_at)
        self._prog = _Prog(len(code) // 8, ctypes.addressof(self._code))
        self._install = _linux.prepared(
            machine.seccomp, _SET_MODE_FILTER, flags, ctypes.byref(self._prog), what="seccomp filter"
        )

    def install(self) -> None:
        self._pid.value = os.getpid()
        self._install()


@cache
def _filter() -> _Filter | None:
    """None where there can be no filter: asked with a program that isn't there, which only then is missed."""
    machine = _MACHINES.get(platform.machine())
    if sys.platform != "linux" or machine is None or struct.calcsize("P") != 8 or sys.byteorder != "little":
        return None
    for flags in (_SPEC_ALLOW, 0):
        try:
            _linux.syscall(machine.seccomp, _SET_MODE_FILTER, flags, None, what="seccomp")
        except OSError as error:
            if error.errno == errno.EFAULT:
                return _Filter(machine, flags)
    return None


def filter_available() -> bool:
    """Whether `keep_to_itself` does anything here; what it needs is looked up and built once."""
    return _filter() is not None


def keep_to_itself() -> None:
    """Refuse this process, the first of a trial, and all that it starts to set limits or priorities of others.

    EPERM is what they get. No program that they start can gain privileges from then on. Raises OSError when the kernel
    takes no filter although it said so.
    """
    if (found := _filter()) is not None:
        _linux.forbid_new_privileges()
        found.install()
