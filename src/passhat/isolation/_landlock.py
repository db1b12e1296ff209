"""Landlock, the kernel's way to give up rights without being root (Linux 5.13 and later).

*guard* puts a process and all it starts into a domain of their own: no tracing, no memory access and no signals to
anything outside. It touches no file right. *confine* also restricts writing to named directories.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable
from functools import cache

from passhat.isolation import _linux

_WRITE_FILE = 1 << 1
_MAKE_BLOCK = 1 << 11
_REFER = 1 << 13
_TRUNCATE = 1 << 14
# remove_dir, remove_file and make_{char,dir,reg,sock,fifo,block,sym} are bits 4 to 12
_CHANGE_FOLDERS = sum(1 << bit for bit in range(4, 13))
_SCOPE_SIGNAL = 1 << 1
_RULE_PATH_BENEATH = 1
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx")
_SHARED_FOLDERS = ("/dev/shm", "/dev/pts")  # noqa: S108


class _RulesetAttr(ctypes.Structure):
    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


@cache
def landlock_abi() -> int:
    """The version of the kernel's Landlock; 0 where there is none or it is switched off."""
    try:
        return _linux.syscall(_linux.SYS_LANDLOCK_CREATE_RULESET, None, 0, 1, what="landlock version")
    except OSError:
        return 0


def guard_available() -> bool:
    """Whether `guard` does anything here. Version 1 can't be used: it forbids moving files between directories."""
    return landlock_abi() >= 2


def guard() -> None:
    """Cut this process and its future children off from tracing and signalling anything outside."""
    if landlock_abi() >= 6:
        _enter(handled=0, scoped=_SCOPE_SIGNAL, rules=[])
    else:  # any handled right makes a domain; these two are then allowed everywhere
        both = _MAKE_BLOCK | _REFER
        _enter(handled=both, scoped=0, rules=[("/", both)])


def confine(folders: Iterable[str]) -> None:
    """`guard`, and writing only below ``folders``, in /dev/shm and to the usual devices."""
    handled = _WRITE_FILE | _CHANGE_FOLDERS | _REFER
    if landlock_abi() >= 3:
        handled |= _TRUNCATE
    rules = [(folder, handled) for folder in (*folders, *_SHARED_FOLDERS)]
    rules += [(device, handled & (_WRITE_FILE | _TRUNCATE)) for device in _DEVICES]
    _enter(handled=handled, scoped=_SCOPE_SIGNAL if landlock_abi() >= 6 else 0, rules=rules)


def _enter(*, handled: int, scoped: int, rules: list[tuple[str, int]]) -> None:
    abi = landlock_abi()
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    attr = _RulesetAttr(handled, 0, scoped)
    create = _linux.SYS_LANDLOCK_CREATE_RULESET
    ruleset = _linux.syscall(create, ctypes.byref(attr), size, 0, what="landlock_create_ruleset")
    try:
        for path, access in rules:
            _allow(ruleset, path, access)
        _linux.forbid_new_privileges()
        _linux.syscall(_linux.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, what="landlock_restrict_self")
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, access: int) -> None:
    optional = path in _DEVICES or path in _SHARED_FOLDERS
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        if optional:
            return
        raise
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            access &= _WRITE_FILE | _TRUNCATE  # the only rights a file that isn't a directory can have
        rule = _PathBeneath(access, place)
        add = _linux.SYS_LANDLOCK_ADD_RULE
        _linux.syscall(add, ruleset, _RULE_PATH_BENEATH, ctypes.byref(rule), 0, what=f"landlock_add_rule {path}")
    finally:
        os.close(place)
