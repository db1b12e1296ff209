"""Loaders that read their file once, and have just these bytes looked at before they run them."""

from __future__ import annotations

import importlib.machinery
import os
from collections.abc import Iterable
from types import CodeType
from typing import TYPE_CHECKING, Any

from passhat.facts import message_of
from passhat.isolation._once import read_once

if TYPE_CHECKING:
    from passhat.isolation._late import LateImports


class FromSource(importlib.machinery.SourceFileLoader):
    """Compiles the source: a ``.pyc`` beside it can be anybody's."""

    def __init__(self, name: str, path: str, guard: LateImports) -> None:
        super().__init__(name, path)
        self.guards = [guard]

    def get_code(self, fullname: str) -> CodeType:
        """The code of the file, whatever ``__pycache__`` holds; ImportError if a guard refuses it."""
        return compiled(self, fullname, self.guards)


class FromBytecode(importlib.machinery.SourcelessFileLoader):
    """Runs bytecode that has no source beside it."""

    def __init__(self, name: str, path: str, guard: LateImports) -> None:
        super().__init__(name, path)
        self.guards = [guard]

    def get_data(self, path: str) -> bytes:
        """The bytes of its file; ImportError if a guard refuses them."""
        return _vetted(self.guards, self.name, path)


def reading_once(loader: Any, name: str, file: str, guard: LateImports) -> Any:
    """The same loader, or one in its place that has the guard look at what it runs. (The loader of an extension module
    stays: the system's own linker opens its file, by name.)"""
    if isinstance(loader, FromSource | FromBytecode):
        loader.guards.append(guard)  # beside another guard's
    elif type(loader) is importlib.machinery.SourceFileLoader:
        return FromSource(name, file, guard)
    elif type(loader) is importlib.machinery.SourcelessFileLoader:
        return FromBytecode(name, file, guard)
    return loader


def compiled(loader: importlib.machinery.SourceFileLoader, name: str, guards: Iterable[LateImports]) -> CodeType:
    """The code of a loader's file as that loader makes it, of the bytes that the guards have looked at."""
    path = loader.get_filename(name)
    try:
        code: CodeType = loader.source_to_code(_vetted(guards, name, path), path)
    except MemoryError:
        raise MemoryError(f"{path}: {message_of(MemoryError())}") from None
    return code


def _vetted(guards: Iterable[LateImports], name: str, path: str) -> bytes:
    once = read_once(path)
    for guard in guards:
        guard.vet(name, os.path.abspath(path), once)
    return once.data
