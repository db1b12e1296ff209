"""Interpreters that `multiprocessing` starts for a grader (spawn, forkserver) import like the grader itself."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from passhat.isolation._late import LateImports

STARTER = "multiprocessing.util"
_LOADED = "passhat_file_"  # of `passhat.suite.load_module`
_PATH = "PYTHONPATH"
_BOOT = """\
import os, sys
_path, sys.path[:] = sys.path[:], {path!r}
from passhat.isolation._late import guard_child
from passhat.isolation._late_children import OwnFiles
sys.meta_path.append(OwnFiles({files!r}))
guard_child({since!r}, {own!r}, {noted!r}, {then!r})
sys.path[:] = _path
os.environ.update({environ!r})
del _path
"""
_lock = threading.Lock()


def files_by_name() -> dict[str, str]:
    """The suites' files that this process has loaded, by names that no ``sys.path`` leads to."""
    modules = [(name, sys.modules.get(name)) for name in sys.modules.copy() if name.startswith(_LOADED)]
    files = {name: getattr(module, "__file__", None) for name, module in modules}
    return {name: file for name, file in files.items() if isinstance(file, str)}


class OwnFiles(importlib.abc.MetaPathFinder):
    """Finds suites' files by the names under which another process has loaded them: it sends functions by these."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        file = self._files.get(name)
        return None if file is None else importlib.util.spec_from_file_location(name, file)


class Guarding(importlib.machinery.SourceFileLoader):
    """Loads `multiprocessing.util` and has what it starts guarded."""

    def __init__(self, name: str, path: str, guard: LateImports) -> None:
        super().__init__(name, path)
        self._guard = guard

    def exec_module(self, module: ModuleType) -> None:
        """Load it, then `guard_starts`."""
        super().exec_module(module)
        guard_starts(module, self._guard)


def guard_starts(module: Any, guard: LateImports) -> None:
    """Have the interpreters that this `multiprocessing.util` starts import under a guard like this one, while it is
    strict."""
    start: Callable[[Any, Sequence[Any], Any], int] = module.spawnv_passfds
    if hasattr(start, "passhat_guard"):
        start.passhat_guard = guard
        return

    def spawnv_passfds(path: Any, args: Sequence[Any], passfds: Any) -> int:
        guard: LateImports = spawnv_passfds.passhat_guard  # type: ignore[attr-defined]
        if not guard.strict or "-c" not in args:
            return start(path, args, passfds)
        with _lock, _without_path() as environ:
            program = list(args).index("-c") + 1
            boot = _BOOT.format(environ=environ, files=files_by_name(), **guard.for_child())
            return start(path, [*args[:program], boot + args[program], *args[program + 1 :]], passfds)

    spawnv_passfds.passhat_guard = guard  # type: ignore[attr-defined]
    module.spawnv_passfds = spawnv_passfds


@contextlib.contextmanager
def _without_path() -> Iterator[dict[str, str]]:
    """PYTHONPATH out of the environment: an interpreter that starts imports from there first. Gives what it was."""
    had = {_PATH: os.environ[_PATH]} if _PATH in os.environ else {}
    os.environ.pop(_PATH, None)
    try:
        yield had
    finally:
        os.environ.update(had)


def guard_loaded(guard: LateImports) -> None:
    """`guard_starts`, where that module is there already."""
    module = sys.modules.get(STARTER)
    if module is not None and hasattr(module, "spawnv_passfds"):
        guard_starts(module, guard)
