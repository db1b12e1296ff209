"""The global random generators of a process, set from the job's seed."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import random
import sys
from collections.abc import Sequence
from types import ModuleType


def reseed(seed: int) -> None:
    """Seed `random`, and numpy's global generator now or when it is imported."""
    random.seed(seed)
    module = sys.modules.get("numpy.random")
    if module is not None:
        _seed_numpy(module, seed)
    else:
        sys.meta_path.insert(0, _SeedOnImport(seed))


def _seed_numpy(module: ModuleType, seed: int) -> None:
    module.seed(seed % 2**32)


class _SeedOnImport(importlib.abc.MetaPathFinder):
    """Seeds ``numpy.random`` right after its import."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "numpy.random":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _SeedingLoader(spec.loader, self._seed)
        return spec


class _SeedingLoader(importlib.abc.Loader):
    """Loads as the other loader does, then seeds."""

    def __init__(self, loader: importlib.abc.Loader, seed: int) -> None:
        self._loader = loader
        self._seed = seed

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        _seed_numpy(module, self._seed)
