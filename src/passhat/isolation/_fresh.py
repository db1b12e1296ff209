"""Jobs in a fresh interpreter each, for user code or machines that can't be forked warm."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import NoReturn

import msgspec

from passhat.isolation import _child, _entry
from passhat.isolation._contract import JobOrder
from passhat.isolation._frames import Kind
from passhat.isolation._launching import Ends
from passhat.isolation._snapshot import ModuleKinds, Snapshot, last_module

_PATH = "PYTHONPATH"
_BOOT = """\
import sys
sys.path[:] = sys.argv.pop().split("\\n")
from passhat.isolation.{module} import main
main([int(number) for number in sys.argv[1:]])
"""


def command(module: str, numbers: list[int], sys_path: list[str] | None = None) -> list[str]:
    """The command line of a fresh interpreter like this one that runs ``main`` of a module of this package.

    What it imports by then is looked for in the user's folders last: anybody can have left a ``tempfile.py`` there.
    """
    flags: list[str] = getattr(subprocess, "_args_from_interpreter_flags", list)()
    boot = _BOOT.format(module=module)
    path = "\n".join(ModuleKinds().installed_first(sys.path if sys_path is None else sys_path))
    return [sys.executable, *flags, "-c", boot, *map(str, numbers), path]


def without_path(environ: Mapping[str, str]) -> dict[str, str]:
    """What such an interpreter is started with: a folder in PYTHONPATH would come before the standard library."""
    return {name: value for name, value in environ.items() if name != _PATH}


def sealed_file(data: bytes) -> int:
    """A descriptor of a nameless file with ``data`` that nobody can change any more (where the kernel can)."""
    if not hasattr(os, "memfd_create"):
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.flush()
            return os.dup(file.fileno())
    import fcntl

    number = os.memfd_create("passhat", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with open(number, "wb", closefd=False) as file:
        file.write(data)
    seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
    fcntl.fcntl(number, fcntl.F_ADD_SEALS, seals)
    return number


def _content(number: int) -> bytes:
    os.lseek(number, 0, os.SEEK_SET)
    with open(number, "rb") as file:
        return file.read()


def become_interpreter(
    order: JobOrder, ends: Ends, parent: int, surroundings: _child.Surroundings, bundle: int, snapshot: int
) -> NoReturn:
    """Turn a fresh fork of the supervisor into a new interpreter that runs the job. Never returns."""
    try:
        number = _child.detach(ends, parent, keep=(bundle, snapshot))
        try:
            _child.settle_limits(surroundings)
            _child.settle(order)
            environ = without_path(surroundings.environ(order))
            for descriptor in (number, bundle, snapshot):
                os.set_inheritable(descriptor, True)
            os.execve(sys.executable, command("_fresh", [number, bundle, snapshot]), environ)  # noqa: S606
        except OSError as error:
            channel = _entry.PipeChannel(number, order.token)
            channel.send(Kind.ERROR, msgspec.json.encode(_entry.describe(error, "setup")))
    finally:
        os._exit(98)


class _FreshStage:
    """A new interpreter on its way to become a job's process; directories and rights were settled before."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._kinds = ModuleKinds()
        self._mark = ""

    def prepare(self, order: JobOrder) -> None:
        _child.forget()
        _child.refresh(order)
        if _PATH in order.environ:
            os.environ[_PATH] = order.environ[_PATH]
        if self._snapshot.path:
            sys.path[:] = self._snapshot.path
        self._snapshot.guard(self._kinds)
        self._snapshot.only_as_it_was(order.only_old_code, (order.home, order.cwd))
        self._snapshot.install()
        self._mark = last_module()

    def late_modules(self) -> list[str]:
        return self._snapshot.from_disk(self._mark, self._kinds)


def main(numbers: list[int]) -> None:
    """What the new interpreter does: read the order and the code, then answer."""
    number, bundle, snapshot = numbers
    for descriptor in numbers:
        os.set_inheritable(descriptor, False)
    order = msgspec.json.decode(_content(bundle), type=JobOrder)
    code = Snapshot.load(_content(snapshot))
    _entry.answer(order, _entry.PipeChannel(number, order.token), _FreshStage(code))
