"""Modules that are first imported after a run has begun: the user's only as they were then.

What a trial writes beside the suite is on ``sys.path`` like the suite itself. A grader that calls `datetime.strptime`
would import a ``_strptime.py`` that an agent left there, and so would passhat, for what it imports lazily. So the
standard library comes before the user's folders for every name that isn't known yet, and a file of the user's that
changed since is not run: the import fails and says why, or gets an installed module of that name if the file is new.
What decides is the content, where it was hashed at the start, else the file system's times; source that is run is read
once, and these bytes are looked at. A file that is gone is refused like one that changed: what imports it may have
another way ready for when it isn't there.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.abc
import importlib.machinery
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from passhat.facts import CHANGED_SINCE, GONE_SINCE
from passhat.isolation._editable import editable_folders
from passhat.isolation._importable import MOST_BYTES, Importable
from passhat.isolation._late_children import STARTER, Guarding, guard_loaded
from passhat.isolation._late_loaders import compiled, reading_once
from passhat.isolation._once import Once, read_once

if TYPE_CHECKING:
    from passhat.isolation._snapshot import ModuleKinds

_STDLIB = sys.stdlib_module_names - {"test"}  # which many a project calls a package of its own


class LateImports(importlib.abc.MetaPathFinder):
    """Looks over what the finders after it find.

    ``since``: nanoseconds since the epoch; what the file system changed later isn't run while this is ``strict``.
    ``own`` are directories that are exempt: nobody but the process itself has written there. ``then`` has what could be
    imported when the run began; where it knows the content, that decides and no time.
    """

    def __init__(self, kinds: ModuleKinds, since: int, own: Sequence[str] = (), then: Importable | None = None) -> None:
        self._kinds = kinds
        self._since = since
        self._then = Importable() if then is None else then
        self._at_refusal: Callable[[str], object] | None = None
        self._own: tuple[str, ...] = ()
        self._refused: dict[str, None] = {}
        self._noted: str | None = None
        self._process = os.getpid()
        self.strict = True
        self.exempt(own)

    def exempt(self, own: Sequence[str]) -> None:
        """Leave what is in these directories alone, too."""
        new = [folder for folder in own if not folder.startswith(self._own)]  # as a rule it is there, and costs nothing
        self._own += tuple(place + os.sep for folder in new for place in {folder, os.path.realpath(folder)})

    def restart(self, noted: str | None = None) -> None:
        """Forget what was refused so far. Children of this process, which has no other ear for them, write what they
        were refused to the file ``noted``; and so do interpreters that `multiprocessing` starts."""
        self._refused.clear()
        self._noted, self._process = noted, os.getpid()
        guard_loaded(self)

    @property
    def refused(self) -> list[str]:
        """Why files were refused, in this process and in its children, each once: whoever asked may have caught it."""
        if self._noted is not None:
            with contextlib.suppress(OSError), open(self._noted, encoding="utf-8", errors="replace") as noted:
                self._refused.update(dict.fromkeys(noted.read().splitlines()))
        return list(self._refused)

    def for_child(self) -> dict[str, Any]:
        """What `guard_child` needs in an interpreter of its own, and the ``path`` to find it on."""
        own = [folder.removesuffix(os.sep) for folder in self._own]
        path = self._kinds.installed_first(sys.path)
        then = None if self._noted is None else f"{self._noted}-names"
        if then is not None and not os.path.exists(then):
            with contextlib.suppress(OSError), open(then, "w", encoding="utf-8", errors="surrogateescape") as names:
                json.dump(self._then.listed, names, ensure_ascii=False)
        return {"since": self._since, "own": own, "noted": self._noted, "path": path, "then": then}

    def install(self) -> None:
        """Have this process, and its forks, import so from now on."""
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    @contextlib.contextmanager
    def from_source_only(self) -> Iterator[None]:
        """`install`, also for who loads a file by its path, and run no bytecode of the user's; as ever afterwards."""
        original = importlib.machinery.SourceFileLoader.get_code

        def get_code(loader: importlib.machinery.SourceFileLoader, fullname: str) -> CodeType | None:
            file = os.path.abspath(loader.path)
            if not self.is_users(fullname, file):
                return original(loader, fullname)
            return self.code(loader, fullname)

        self.install()
        importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign,assignment]
        try:
            yield
        finally:
            importlib.machinery.SourceFileLoader.get_code = original  # type: ignore[method-assign]
            self.remove()

    def remove(self) -> None:
        """Import as ever again."""
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(self)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """What would be found without this; ImportError for a file that isn't as it was."""
        try:
            spec = self._usual(name, path, target)
        except Exception:  # an archive that changed under the index that was read of it fails in any way
            self._check_archives(name, sys.path if path is None else path)
            raise
        if name == STARTER and spec is not None and type(spec.loader) is importlib.machinery.SourceFileLoader:
            spec.loader = Guarding(name, spec.loader.path, self)
        if self.strict:
            self._check_there(name, path, spec)
        file = None if spec is None or not spec.has_location or spec.origin is None else os.path.abspath(spec.origin)
        if spec is None or file is None or not self.is_users(name, file):
            return spec
        known = name in _STDLIB
        if path is None and (known or (self.strict and self._changed(file) and not self._then.had_beside(file, name))):
            folders = [entry for entry in sys.path if self._kinds.is_installed(os.path.join(entry, ""))]
            instead = importlib.machinery.PathFinder.find_spec(name, folders)
            if instead is not None and instead.has_location:
                return instead
            if known and self.strict and self._changed(file):  # what other systems have: as if nothing were there
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        self.check(name, file)
        spec.loader = reading_once(spec.loader, name, file, self)
        return spec

    def _usual(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> importlib.machinery.ModuleSpec | None:
        finders = list(sys.meta_path)
        for finder in finders[finders.index(self) + 1 :] if self in finders else finders:
            find = getattr(finder, "find_spec", None)
            spec: importlib.machinery.ModuleSpec | None = None if find is None else find(name, path, target)
            if spec is not None:
                return spec
        return None

    def is_users(self, name: str, file: str) -> bool:
        """Whether a module with this name and file is neither installed nor passhat's nor the process's own."""
        return not (name.partition(".")[0] == "passhat" or self._kinds.is_installed(file) or file.startswith(self._own))

    def check(self, name: str, file: str) -> None:
        """Raise ImportError for a file of the user's that changed since, while this is strict."""
        if self.strict and self._changed(file):
            self._refuse_changed(name, file)

    def vet(self, name: str, file: str, once: Once) -> None:
        """`check` of just these bytes."""
        if self.strict and self._differs(file, once):
            self._refuse_changed(name, file)

    def code(self, loader: importlib.machinery.SourceFileLoader, name: str) -> CodeType:
        """The code of a loader's file, compiled from the bytes that were checked, whatever ``__pycache__`` holds."""
        return compiled(loader, name, [self])

    def _refuse_changed(self, name: str, file: str) -> NoReturn:
        why = (
            f"{name} isn't imported: {file} {CHANGED_SINCE}, and neither graders "
            "nor the run itself take code from then. Import it at the top of the suite's file, where it is taken "
            "as it is when the run begins, or start again"
        )
        self._refuse(name, file, why)

    def _refuse(self, name: str, file: str, why: str) -> NoReturn:
        self._note(why)
        if self._at_refusal is not None:
            self._at_refusal(why)
        raise ImportError(why, name=name, path=file)

    def _check_there(self, name: str, path: Sequence[str] | None, spec: importlib.machinery.ModuleSpec | None) -> None:
        """Raise ImportError for a module that could be found when the run began and can't any more."""
        if name.partition(".")[0] == "passhat" or (path is None and name in _STDLIB):
            return
        places = [*sys.path, *editable_folders(name)] if path is None else path
        gone = self._then.missing(name, places, spec)
        if gone is None or gone[0].startswith(self._own):
            return
        place, there = gone
        what = "can't be found there any more" if there else "is gone"
        self._refuse(
            name,
            place.rstrip(os.sep),
            f"{name} isn't imported: {place.rstrip(os.sep)} {GONE_SINCE}, and {what}. Neither graders "
            "nor the run itself go on without code that was there then: restore it, or import it at the top of the "
            "suite's file, where it is taken as it is when the run begins",
        )

    def _check_archives(self, name: str, path: Sequence[str]) -> None:
        for entry in path:
            archive = getattr(sys.path_importer_cache.get(entry), "archive", None)
            if isinstance(archive, str) and self.is_users(name, os.path.abspath(archive)):
                self.check(name, os.path.abspath(archive))

    def _note(self, why: str) -> None:
        self._refused[why] = None
        if self._noted is not None and os.getpid() != self._process:
            with contextlib.suppress(OSError), open(self._noted, "a", encoding="utf-8", errors="replace") as noted:
                noted.write(" ".join(why.splitlines()) + "\n")

    def _changed(self, file: str) -> bool:
        """Whether what is at a path isn't what was there when the run began."""
        if self._then.digest(file):
            try:
                return self._differs(file, read_once(file, MOST_BYTES))
            except OSError as error:
                return error.errno == errno.EFBIG or self._newer(file)
        return self._newer(file)

    def _differs(self, file: str, once: Once) -> bool:
        """Whether these bytes of a file aren't what was there then; by times where that isn't known."""
        known = self._then.digest(file)
        return once.digest != known if known else once.changed >= self._since or self._newer(file)

    def _newer(self, file: str) -> bool:
        """Whether the file, the archive that it is in, or a link on the way to it is newer than the run."""
        place, seen = file, False
        while place != os.path.dirname(place):
            with contextlib.suppress(OSError):
                status = os.lstat(place)
                link = os.path.islink(place)
                if (link or not seen) and status.st_ctime_ns >= self._since:
                    return True
                if link and not seen and os.stat(place).st_ctime_ns >= self._since:
                    return True
                seen = True
            place = os.path.dirname(place)
        return not seen


_kept: list[LateImports] | None = None


def guard_imports(since: int = 0, then: Importable | None = None) -> Callable[[], None]:
    """Have this process import nothing of the user's that changes from now on, or has since then, and do without none
    of ``then``; returns what undoes it. ``since`` is in nanoseconds since the epoch."""
    from passhat.isolation._snapshot import ModuleKinds

    guard = LateImports(ModuleKinds(), since or time.time_ns(), then=then)
    guard.install()
    if _kept is None:
        return guard.remove
    _kept.append(guard)
    return _nothing


def guard_child(since: int, own: Sequence[str], noted: str | None, then: str | None) -> None:
    """Have this interpreter, which a grader started, import as the grader does, and note what it is refused. ``then``
    is a file with what could be imported when the run began."""
    from passhat.isolation._snapshot import ModuleKinds

    listed: Mapping[str, Mapping[str, str]] = {}
    if then is not None:
        with open(then, encoding="utf-8", errors="surrogateescape") as names:
            listed = json.load(names)
    guard = LateImports(ModuleKinds(), since, own, Importable(listed))
    guard.restart(noted)
    guard._process = 0  # whose ear is elsewhere
    guard.install()


def relax() -> None:
    """From now on this process is an agent's, which may import what it likes."""
    for finder in _guards():
        finder.strict = False


def at_refusal(do: Callable[[str], object]) -> None:
    """Have this done, with the reason, when this process is refused something: nobody asks for its `refusals`."""
    for finder in _guards():
        finder._at_refusal = do


def exempt(folder: str) -> None:
    """Let this process import from a directory that is its own, whenever it was written."""
    for finder in _guards():
        finder.exempt([folder])


def _guards() -> list[LateImports]:
    return [finder for finder in sys.meta_path if isinstance(finder, LateImports)]


def refusals() -> list[str]:
    """Why this process and its children were refused files, since it was made ready."""
    return [why for finder in _guards() for why in finder.refused]


def _nothing() -> None:
    """It stays."""


@contextlib.contextmanager
def keeping_guards() -> Iterator[None]:
    """Let what `guard_imports` did stay until the end of this: a command reports after its run has ended."""
    global _kept
    before, _kept = _kept, []
    try:
        yield
    finally:
        for guard in _kept:
            guard.remove()
        _kept = before
