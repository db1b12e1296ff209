"""The user's modules as code objects, compiled once and run afresh in each process.

A trial can replace files on disk; what its grader runs was compiled before the first trial began.
"""

from __future__ import annotations

import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import marshal
import os
import sys
from collections.abc import Mapping, Sequence
from types import CodeType, ModuleType

import msgspec

from passhat.isolation._importable import Importable, Listing
from passhat.isolation._late import LateImports

_REFUSED = ".passhat-refused"  # in the process's own directory


class UserModule(msgspec.Struct, frozen=True):
    """A module of the user's own: its name in ``sys.modules``, its file, its source, whether it is a package, and the
    SHA-256 of its file."""

    name: str
    file: str
    source: str
    package: bool
    digest: str = ""


class Snapshot:
    """Code of the user's modules, by name and by file.

    ``since`` is when it was taken, in nanoseconds since the epoch: what isn't in it is run only if it is older, where
    that is asked for (`LateImports`). 0: whatever is there. ``own`` are directories that this doesn't concern, and
    ``path`` is the ``sys.path`` of a fresh interpreter for this code. ``then``: see `Importable`.
    """

    def __init__(
        self,
        modules: Sequence[UserModule] = (),
        *,
        since: int = 0,
        own: Sequence[str] = (),
        path: Sequence[str] = (),
        then: Listing | None = None,
    ) -> None:
        self.path = list(path)
        self._then = dict(then or {})
        self._since = since
        self._own = tuple(own)
        self._late: LateImports | None = None
        self._names = {module.name: (module.file, module.package) for module in modules}
        self._code: dict[str, CodeType] = {}
        for module in modules:
            if module.file not in self._code:
                self._code[module.file] = compile(module.source, module.file, "exec", dont_inherit=True)

    @classmethod
    def load(cls, data: bytes) -> Snapshot:
        """What `dump` gave, from this run's own server and this Python."""
        snapshot = cls()
        kept = marshal.loads(data)  # noqa: S302 - made by this run's own server, in sealed memory
        snapshot._names, snapshot._code, snapshot._since, snapshot._own, snapshot.path, snapshot._then = kept
        return snapshot

    def dump(self) -> bytes:
        """As bytes, for a fresh interpreter of the same Python."""
        return marshal.dumps((self._names, self._code, self._since, self._own, self.path, self._then))

    def hold(self, file: str, source: str) -> None:
        """Have the code of one more file, which needs not exist."""
        self._code[file] = compile(source, file, "exec", dont_inherit=True)

    def code(self, file: str) -> CodeType | None:
        """The code of a file, if it is part of the snapshot."""
        return self._code.get(file)

    def guard(self, kinds: ModuleKinds) -> None:
        """Have this process and its forks import nothing else of the user's that has changed since."""
        if self._since and self._late is None:
            self._late = LateImports(kinds, self._since, self._own, Importable(self._then))
            self._late.install()

    def only_as_it_was(self, strict: bool, own: Sequence[str | None] = ()) -> None:
        """Whether files that have changed since are refused, or only come after the standard library; ``own`` are more
        directories that this doesn't concern."""
        if self._late is not None:
            self._late.strict = strict
            if strict:
                folders = [folder for folder in own if folder is not None]
                self._late.exempt(folders)
                self._late.restart(os.path.join(folders[0], _REFUSED) if folders else None)

    def install(self) -> None:
        """Serve imports from the snapshot, in this process: by module name first, and by file for other loaders."""
        if not self._names and self._late is None:
            return
        sys.meta_path.insert(0, _Finder(self, self._names))
        late = self._late
        original = importlib.machinery.SourceFileLoader.get_code

        def get_code(loader: importlib.machinery.SourceFileLoader, fullname: str) -> CodeType | None:
            file = os.path.abspath(loader.path)
            found = self.code(file)
            if found is None and late is not None and late.is_users(fullname, file):
                return late.code(loader, fullname)
            return found if found is not None else original(loader, fullname)

        importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign,assignment]

    def from_disk(self, mark: str, kinds: ModuleKinds) -> list[str]:
        """User modules loaded since `last_module` gave ``mark`` that the snapshot doesn't hold."""
        late = []
        for name in itertools.takewhile(mark.__ne__, reversed(sys.modules)):
            file = _file_of(sys.modules.get(name))
            if file is None or name in self._names or file in self._code or not kinds.is_user(name, file):
                continue
            if self._late is None or self._late.is_users(name, file):
                late.append(name)
        return sorted(late)


def last_module() -> str:
    """The module imported last; what comes after it in ``sys.modules`` is newer.

    A set of all names would touch, and so copy, the memory of every one of them in each fork.
    """
    return next(reversed(sys.modules))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the snapshot's modules before anything looks at the disk."""

    def __init__(self, snapshot: Snapshot, names: Mapping[str, tuple[str, bool]]) -> None:
        self._snapshot = snapshot
        self._names = names

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        known = self._names.get(name)
        if known is None:
            return None
        file, package = known
        loader = importlib.machinery.SourceFileLoader(name, file)
        folders = [os.path.dirname(file)] if package else None
        return importlib.util.spec_from_file_location(name, file, loader=loader, submodule_search_locations=folders)


class ModuleKinds:
    """Tells the user's own modules from installed packages, the standard library and passhat."""

    def __init__(self) -> None:
        import site
        import sysconfig

        names = ("stdlib", "platstdlib", "purelib", "platlib")
        folders = {sysconfig.get_path(name) for name in names}
        folders.update(getattr(site, "getsitepackages", list)())
        folders.add(site.getusersitepackages())
        version = "".join(map(str, sys.version_info[:2]))
        archive = os.path.join(sys.base_prefix, sys.platlibdir, f"python{version}.zip")
        folders.add(archive)
        self._stdlib = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
        self._stdlib |= {os.path.join(folder, "lib-dynload") for folder in self._stdlib} | {archive}
        self._installed = tuple(sorted({os.path.realpath(f) + os.sep for f in folders} | {f + os.sep for f in folders}))

    def is_user(self, name: str, file: str) -> bool:
        """Whether a module with this name and file is the user's own code."""
        if name.partition(".")[0] == "passhat":
            return False
        return not (self.is_installed(file) or os.path.realpath(file).startswith(self._installed))

    def is_installed(self, file: str) -> bool:
        """Whether a path, links in it not followed, is below where packages and the standard library are."""
        if file.startswith(self._installed):
            return True
        parts = file.split(os.sep)
        return "site-packages" in parts or "dist-packages" in parts

    def stdlib_first(self, path: Sequence[str]) -> list[str]:
        """A ``sys.path`` with the same entries, the standard library before all others."""
        return sorted(path, key=lambda entry: entry not in self._stdlib)

    def installed_first(self, path: Sequence[str]) -> list[str]:
        """A ``sys.path`` with the same entries, in which the user's folders, and what they hide, come last."""
        ours = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        return sorted(path, key=lambda entry: (not self.is_installed(os.path.join(entry, "")), entry != ours))


def _file_of(module: ModuleType | None) -> str | None:
    file = getattr(module, "__file__", None)
    return os.path.abspath(file) if type(file) is str else None


class Loaded(msgspec.Struct, frozen=True):
    """What an import of the user's code brought in, in the order of ``sys.modules``."""

    installed: tuple[str, ...] = ()
    user: tuple[UserModule, ...] = ()
    unreadable: tuple[str, ...] = ()  # user modules without Python source, loaded from disk in each process

    @property
    def files(self) -> dict[str, str]:
        """SHA-256 of each user file, by path."""
        return {module.file: module.digest for module in self.user}


def look_at_modules(kinds: ModuleKinds) -> Loaded:
    """Sort the modules of this process into installed ones and the user's own, with their source."""
    installed, user, unreadable = [], [], []
    for name, module in sys.modules.copy().items():  # in one step: the collector may import
        file = _file_of(module)
        spec = getattr(module, "__spec__", None)
        if name == "__main__" or not isinstance(module, ModuleType):
            continue
        if file is None or not kinds.is_user(name, file):
            if spec is not None and getattr(spec, "name", None) == name:
                installed.append(name)
        elif file.endswith(".py") and os.path.isfile(file):  # else it is in an archive
            with open(file, "rb") as source:
                data = source.read()
            text, digest = importlib.util.decode_source(data), hashlib.sha256(data).hexdigest()
            user.append(UserModule(name, file, text, hasattr(module, "__path__"), digest))
        else:
            unreadable.append(name)
    return Loaded(tuple(installed), tuple(user), tuple(unreadable))
