"""What an import left behind that a fork of this process could not live with."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType

_HARMLESS_THREADS = ("jemalloc_bg_thd",)  # knows of forks
_HARMLESS_DEVICES = ("/dev/null", "/dev/urandom", "/dev/random", "/dev/zero")
_CONTAINERS = (list, tuple, set, frozenset)


class Baseline:
    """The descriptors of this process before anything was imported."""

    def __init__(self) -> None:
        self.descriptors = _descriptors()


def hazards(baseline: Baseline) -> list[str]:
    """What keeps this process from being forked safely, in words; empty when nothing does.

    Native threads are counted after a rehearsal fork, because some libraries (OpenBLAS) end theirs when one happens.
    """
    found = [f"a Python thread named {thread.name!r}" for thread in threading.enumerate()[1:]]
    found += _native_threads(known=bool(found))
    found += _children()
    for number, target in sorted(_descriptors().items()):
        if baseline.descriptors.get(number) != target:
            found += _descriptor_hazard(number, target)
    return found


def _native_threads(*, known: bool) -> list[str]:
    if known or len(_thread_names()) == 1:
        return []
    _rehearsal_fork()
    return [f"a native thread named {name!r}" for name in _thread_names()[1:] if name not in _HARMLESS_THREADS]


def _thread_names() -> list[str]:
    """The main thread's name first."""
    main = os.getpid()
    names = []
    for thread in sorted(os.listdir("/proc/self/task"), key=lambda number: int(number) != main):
        with contextlib.suppress(OSError):
            names.append(Path(f"/proc/self/task/{thread}/comm").read_text().strip())
    return names


def _rehearsal_fork() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _children() -> list[str]:
    found = []
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError):
            found += Path(f"/proc/self/task/{thread}/children").read_text().split()
    return [f"a child process ({pid})" for pid in found]


def _descriptors() -> dict[int, str]:
    found = {}
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
    return {number: target for number, target in found.items() if not target.startswith("/proc/")}


def _descriptor_hazard(number: int, target: str) -> list[str]:
    if target.startswith("socket:"):
        return ["an open socket"]
    if target.startswith("/dev/"):
        return [] if target in _HARMLESS_DEVICES else [f"an open device {target}"]
    if target.startswith("/"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            flags = Path(f"/proc/self/fdinfo/{number}").read_text().split("flags:")[1].split()[0]
            if int(flags, 8) & (os.O_WRONLY | os.O_RDWR):
                return [f"the file {target} open for writing"]
    return []


def sentinel_holders(modules: Iterable[str], sentinels: Mapping[str, str]) -> list[tuple[str, str]]:
    """(module, variable's name) for each module whose globals hold the value that one of our variables had.

    Exact types only: asking a lazy proxy what it is can make it build what it stands for.
    """
    found = []
    for name in modules:
        module = sys.modules.get(name)
        if not isinstance(module, ModuleType) or name in ("os", "posix", "subprocess"):
            continue
        texts = _texts(list(vars(module).values()))
        for variable, value in sentinels.items():
            if value in texts:
                found.append((name, variable))
    return found


def _texts(values: list[object]) -> set[str]:
    texts = set()
    for value in values:
        if type(value) is str:
            texts.add(value)
        elif type(value) is dict:
            texts.update(item for item in list(value.values()) if type(item) is str)
        elif type(value) in _CONTAINERS:
            texts.update(item for item in list(value) if type(item) is str)  # type: ignore[call-overload]
    return texts
