"""Import the installed packages into the fork server, unless that makes it unfit for forking."""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import ModuleType

from passhat.isolation import _linux
from passhat.isolation._certain import Certain
from passhat.isolation._hazards import Baseline, hazards, sentinel_holders
from passhat.isolation._snapshot import ModuleKinds


class _KeepsOut(importlib.abc.MetaPathFinder):
    """Refuses imports of the user's modules, and remembers who was asked for."""

    def __init__(self) -> None:
        self.names: frozenset[str] = frozenset()
        self.asked: list[str] = []

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name in self.names:
            self.asked.append(name)
            raise ImportError(f"{name} is the user's module, which the server must not import", name=name)
        return None


class Preloader:
    """Imports modules package by package and judges what each left behind."""

    def __init__(self, sentinels: Mapping[str, str], kinds: ModuleKinds) -> None:
        self._gate = _KeepsOut()
        self._packages: dict[str, list[str]] = {}
        self._sentinels = dict(sentinels)
        self._kinds = kinds
        self._baseline = Baseline()

    def take(self, names: Iterable[str], user: Iterable[str]) -> None:
        """Modules to import next, those that are here already left out; ``user`` are those that must stay out."""
        self._packages = {}
        for name in names:
            if name not in sys.modules:
                self._packages.setdefault(name.partition(".")[0], []).append(name)
        self._gate.names = frozenset(user)

    def import_certain(self, certain: Certain) -> list[str]:
        """Import what the user's code is certain to import, just as it would. What is wrong with this process then, as
        far as it concerns forking it; empty when nothing is."""
        self._gate.names = frozenset(certain.user)
        with self._without_user_modules():
            for name, names in certain.imports:
                try:
                    importlib.__import__(name, {}, {}, names)
                except Exception as error:
                    return [f"{name} can't be imported: {type(error).__name__}: {error}"]
                found = hazards(self._baseline) or [
                    f"it asked for the user's module {name}" for name in self._gate.asked
                ]
                if found:
                    return found
        return []

    def import_all(self) -> dict[str, str]:
        """Import everything. Returns the packages that could not be imported on their own, with the reason."""
        failed = {}
        with self._without_user_modules():
            for package in self._packages:
                problem = self._import(package)
                if problem is not None:
                    failed[package] = problem
        return failed

    @contextlib.contextmanager
    def _without_user_modules(self) -> Iterator[None]:
        sys.meta_path.insert(0, self._gate)
        try:
            yield
        finally:
            sys.meta_path.remove(self._gate)

    def import_safe(self, seconds: float, sweep: Callable[[], None]) -> dict[str, str]:
        """Let scouts (forks that are thrown away) import first; then import what did no harm to them.

        Returns the packages that are left out, with the reason. A scout that hangs for ``seconds`` condemns the package
        it was importing. ``sweep`` ends the processes that scouts left.
        """
        left_out: dict[str, str] = {}
        pending = list(self._packages)
        while pending:
            with self._without_user_modules():
                good, bad = self._scout(pending, seconds)
                sweep()
                for package in good:
                    problem = self._import(package)
                    if problem is not None:
                        left_out[package] = problem
            left_out.update(bad)
            done = {*good, *bad}
            if not done:
                left_out.update(dict.fromkeys(pending, "the process that tried its import died"))
                break
            pending = [package for package in pending if package not in done]
        return left_out

    def state(self) -> list[str]:
        """What is wrong with this process as a parent of trials; empty when nothing is."""
        found = hazards(self._baseline)
        names = list(sys.modules.copy())
        found += [f"{name} holds the value of {var}" for name, var in sentinel_holders(names, self._sentinels)]
        for name in names:
            file = getattr(sys.modules.get(name), "__file__", None)
            if type(file) is str and name != "__main__" and self._kinds.is_user(name, os.path.abspath(file)):
                found.append(f"it imported the user's module {name}")
        found += [f"it asked for the user's module {name}" for name in dict.fromkeys(self._gate.asked)]
        return found

    def _import(self, package: str) -> str | None:
        for name in self._packages[package]:
            try:
                importlib.import_module(name)
            except Exception as error:
                if self._gate.asked:
                    return None  # `state` names it
                if name == package:
                    return f"can't be imported by itself: {type(error).__name__}: {error}"
        return None

    def _scout(self, packages: list[str], seconds: float) -> tuple[list[str], dict[str, str]]:
        """Packages that did no harm, and the first one that did."""
        reader, writer = os.pipe()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(reader)
                _linux.hear_of_parent(parent, signal.SIGKILL)
                self._baseline = Baseline()
                self._try_each(packages, writer)
            finally:
                os._exit(0)
        os.close(writer)
        try:
            lines = _lines(reader, seconds)
        finally:
            os.close(reader)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        return _verdicts(lines)

    def _try_each(self, packages: list[str], writer: int) -> None:
        for package in packages:
            os.write(writer, f"try {package}\n".encode())
            problem = self._import(package)
            wrong = [problem] if problem is not None else self.state()
            text = "; ".join(wrong).replace("\n", " ")[:2000]
            os.write(writer, (f"bad {package} {text}\n" if wrong else f"good {package}\n").encode("utf-8", "replace"))
            if wrong:
                return
        os.write(writer, b"end\n")


def _lines(reader: int, seconds: float) -> list[str]:
    """What the scout says until it has ended, or has been silent for ``seconds``."""
    data = b""
    poller = select.poll()
    poller.register(reader, select.POLLIN)
    heard = time.monotonic()
    while time.monotonic() - heard < seconds:
        if not poller.poll(100):
            continue
        more = os.read(reader, 65536)
        if not more:
            break
        data += more
        heard = time.monotonic()
        last = data.splitlines()[-1] if data.endswith(b"\n") else b""
        if last == b"end" or last.startswith(b"bad "):
            break
    return data.decode("utf-8", "replace").splitlines()


def _verdicts(lines: list[str]) -> tuple[list[str], dict[str, str]]:
    good: list[str] = []
    bad: dict[str, str] = {}
    trying = ""
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "try":
            trying = rest
        elif word == "good":
            good.append(rest)
            trying = ""
        elif word == "bad":
            package, _, reason = rest.partition(" ")
            bad[package] = reason
            trying = ""
    if trying:
        bad[trying] = "its import hung or ended the process"
    return good, bad
