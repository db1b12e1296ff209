"""What importing a file of the user's is certain to import first: read from its text, nothing of it is run.

A file mostly begins with its imports. Up to its first other statement it is known what a fresh interpreter would do,
so a server can have the installed packages among them ready before it is known what else the file does.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder

import msgspec

from passhat.isolation._snapshot import ModuleKinds


class Certain(msgspec.Struct, frozen=True):
    """Imports of installed modules, in order, as (module, names taken from it), and the user's modules on the way."""

    imports: tuple[tuple[str, tuple[str, ...]], ...] = ()
    user: tuple[str, ...] = ()


def certain_imports(file: str | os.PathLike[str] | None, path: Sequence[str]) -> Certain:
    """What ``file`` imports for certain, with its folder before ``path``; nothing for None.

    Reading ends at the first statement that could change what later ones mean, also in the user's modules that are
    imported on the way.
    """
    if file is None:
        return Certain()
    place = os.path.abspath(file)
    reading = _Reading([os.path.dirname(place), *path])
    reading.file(place)
    return Certain(tuple(reading.imports), tuple(reading.user))


class _Reading:
    """Follows imports; each method says whether what comes next is certain, too."""

    def __init__(self, path: Sequence[str]) -> None:
        self._path = list(path)
        self._kinds = ModuleKinds()
        self._specs: dict[str, ModuleSpec] = {}
        self.imports: list[tuple[str, tuple[str, ...]]] = []
        self.user: list[str] = []

    def file(self, file: str) -> bool:
        """A file of the user's, up to the first statement that isn't an import."""
        try:
            with open(file, "rb") as source:
                tree = ast.parse(source.read())
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            return False
        return all(self._statement(statement) for statement in tree.body)

    def _statement(self, statement: ast.stmt) -> bool:
        match statement:
            case ast.Expr(ast.Constant()) | ast.ImportFrom(module="__future__"):
                return True
            case ast.If(ast.Name("TYPE_CHECKING") | ast.Attribute(ast.Name("typing"), "TYPE_CHECKING"), orelse=[]):
                return True
            case ast.Import(aliases):
                return all(self._module(alias.name, ()) for alias in aliases)
            case ast.ImportFrom(str(module), aliases, 0):
                return self._module(module, tuple(alias.name for alias in aliases))
        return False

    def _module(self, name: str, names: tuple[str, ...]) -> bool:
        top = name.partition(".")[0]
        spec = self._specs.get(top) or PathFinder.find_spec(top, self._path)
        if spec is None:
            if top not in sys.builtin_module_names:
                return False
        elif self._is_user(top, spec):
            return top not in sys.stdlib_module_names and self._user(name, names)
        self.imports.append((name, names))
        return True

    def _is_user(self, name: str, spec: ModuleSpec) -> bool:
        places = [spec.origin] if spec.has_location and spec.origin else spec.submodule_search_locations or ()
        return any(self._kinds.is_user(name, os.path.abspath(place)) for place in places)

    def _user(self, name: str, names: tuple[str, ...]) -> bool:
        """A module of the user's, after the packages that it is in; then those of ``names`` that are modules."""
        parts = name.split(".")
        path: Sequence[str] | None = self._path
        for count in range(1, len(parts) + 1):
            full = ".".join(parts[:count])
            if full not in self._specs:
                spec = None if path is None else PathFinder.find_spec(full, path)
                if spec is None or not self._run(full, spec):
                    return False
            path = self._specs[full].submodule_search_locations
        return path is None or all(self._taken(self._specs[name], path, part) for part in names)

    def _run(self, name: str, spec: ModuleSpec) -> bool:
        self._specs[name] = spec
        if not self._is_user(name, spec):
            return False
        self.user.append(name)
        if not spec.has_location or spec.origin is None:
            return spec.submodule_search_locations is not None  # a folder without __init__.py
        return spec.origin.endswith(".py") and self.file(spec.origin)

    def _taken(self, package: ModuleSpec, path: Sequence[str], part: str) -> bool:
        """``from package import part``: a module of the package, unless the package itself has given it that name."""
        full = f"{package.name}.{part}"
        spec = PathFinder.find_spec(full, path)
        if spec is None or full in self._specs:
            return True
        return not _says_anything(package) and self._run(full, spec)


def _says_anything(package: ModuleSpec) -> bool:
    if not package.has_location or package.origin is None:
        return False
    try:
        return os.path.getsize(package.origin) > 0
    except OSError:
        return True
