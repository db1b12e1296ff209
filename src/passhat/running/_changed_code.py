"""Code that changed after a run had begun, by the user or by one of its agents: what goes on with the run says so."""

from __future__ import annotations

import contextlib
import datetime
import os
from collections.abc import Iterable, Sequence
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import TYPE_CHECKING

from passhat.facts import (
    CHANGED_SINCE,
    ErrorInfo,
    Grade,
    Manifest,
    Role,
    count,
    gone_files,
    moment,
    refused_files,
    shortened,
)
from passhat.isolation._snapshot import ModuleKinds
from passhat.running._manifest import project_files, project_of
from passhat.running._spans import TICK

if TYPE_CHECKING:
    from passhat.running._executor import Executor
    from passhat.running._setup import Setup
    from passhat.running._spans import Span, Spans

_MOST = 12  # files that a regrade's record names for one trial


def began(manifest: Manifest) -> int:
    """When the first trial of a run can have begun at the earliest, in nanoseconds since the epoch; 0: not known.

    However often it was resumed, that is its first start.

    >>> began(Manifest(run_id="r", suite="s", started="1970-01-01T00:00:01.500+00:00"))
    1480000000
    >>> began(Manifest(run_id="r", suite="s"))
    0
    """
    try:
        started = datetime.datetime.fromisoformat(manifest.started)
    except ValueError:
        return 0
    return round(started.timestamp() * 1000) * 1_000_000 - TICK


def written_since(since: int, setup: Setup, old: Manifest, executor: Executor) -> dict[str, str]:
    """The files that trials would import now and that aren't the run's: of those the time of the last change.

    A file that the run had is left out as long as its content is the same, whenever it was written. One that the run
    didn't have may lie outside the project, where the run kept no hashes: it counts if it changed since. In this
    process (``inline``) nothing is told: its modules are whatever it has imported for any purpose.
    """
    if not since or executor.imported is None:
        return {}
    root, _ = project_of(setup.suite.folder)
    now = project_files(root, setup.suite.file, executor.imported)
    same = {name for name, value in now.items() if old.files.get(name) == value}
    whole = old.isolation != "inline" and _source(setup, root) == (old.source_file or "").partition("::")[0]
    found = {}
    for file in executor.imported:
        name = shown(file, root)
        new = whole and name in now and name not in old.files
        if name not in same and (new or name in old.files or changed_at(file) >= since):
            found[name] = moment(changed_at(file))
    return found


class ChangedCode:
    """What graders import, at their start and while they grade, that is new or changed since the run began.

    ``files`` has them as the manifest would name them, each with the time of its last change.
    """

    def __init__(self, setup: Setup, manifest: Manifest, executor: Executor) -> None:
        self._root, _ = project_of(setup.suite.folder)
        self._since = began(manifest)
        self.files = written_since(self._since, setup, manifest, executor)
        now = project_files(self._root, setup.suite.file, executor.imported)
        for name in now.keys() & manifest.files.keys():
            if now[name] != manifest.files[name]:
                self.files[name] = moment(changed_at(self._root / name))
        self._first = dict(self.files)

    def see(self, late: Iterable[str]) -> tuple[str, ...]:
        """For the record of one trial: these files, and those of what its graders imported first while they graded."""
        found = dict(self._first)
        for file in late:
            if self._since and (at := changed_at(file)) >= self._since:
                found[shown(file, self._root)] = moment(at)
        self.files.update(found)
        return tuple(f"{name} ({at})" for name, at in sorted(found.items())[:_MOST])


def whose_change(grades: Sequence[Grade], span: Span | None, spans: Spans) -> tuple[ErrorInfo | None, tuple[str, ...]]:
    """Whether it was the agent of this trial that changed files which graders weren't given for that reason.

    It was when the last change was made while it was under way and no other trial or grading was; not when that was
    before its turn, while the suite's own code made its world. Else it can't be told, and the notes say so.
    """
    if span is None:
        return None, ()
    notes = []
    gone = {file for grade in grades for file in gone_files(grade.error)}
    for file in _refused(grades):
        at, name = changed_at(file), shortened(file, 300)
        others = spans.owners(at) - {span.owner}
        if file in gone:
            notes.append(f"{name} is gone: whose doing that is isn't known")
        elif not span.has(at):
            notes.append(f"{name} was changed when this trial's agent wasn't under way: whose doing it is isn't known")
        elif span.before_turn(at):
            notes.append(
                f"{name} was written while this trial's world was made (prepare, environment), before its agent began: "
                "it isn't this agent's doing. Make it before the run begins: what is written then may be the same again"
            )
        elif others:
            who = count(len(others), "other trial")
            notes.append(f"{name} was changed while this trial and {who} were under way: whose doing it is isn't known")
        else:
            why = f"{name} {CHANGED_SINCE}, while this trial's agent was under way and no other trial"
            return ErrorInfo("code", f"{why}; graders that need it gave no grade"), ()
    return None, tuple(notes)


def _refused(grades: Iterable[Grade]) -> list[str]:
    """The files without which graders that decide gave no grade."""
    deciding = (grade for grade in grades if grade.role is not Role.ADVISORY)
    return list(dict.fromkeys(file for grade in deciding for file in refused_files(grade.error)))


def found_files(modules: Iterable[str], path: Sequence[str]) -> tuple[str, ...]:
    """Where the modules of these names lie that aren't installed."""
    if not (names := list(modules)):
        return ()
    kinds = ModuleKinds()
    return tuple(file for name in names for file in _files_of(name, path, kinds)[:1])


def _files_of(module: str, path: Sequence[str], kinds: ModuleKinds) -> list[str]:
    parts = module.split(".")
    ends = ("/__init__.py", ".py", "/__init__.pyc", ".pyc", *EXTENSION_SUFFIXES)
    places = (os.path.abspath(os.path.join(entry, *parts) + end) for entry in path for end in ends)
    archives = (os.path.abspath(entry) for entry in path if os.path.isfile(entry))
    return [file for file in (*places, *archives) if os.path.isfile(file) and not kinds.is_installed(file)]


def _source(setup: Setup, root: Path) -> str:
    return "" if setup.suite.file is None else shown(setup.suite.file, root)


def shown(file: str | Path, root: Path) -> str:
    """A file as the manifest names it."""
    path = Path(file)
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def changed_at(file: str | Path) -> int:
    """When the file system last changed a file, or a link on the way to it, in nanoseconds since the epoch.

    Of a file in an archive it is the archive's; of one that is gone, 0.
    """
    times, place = [0], os.path.abspath(file)
    while place != os.path.dirname(place):
        with contextlib.suppress(OSError):
            if os.path.islink(place) or len(times) == 1:
                times += [os.lstat(place).st_ctime_ns, os.stat(place).st_ctime_ns]
        place = os.path.dirname(place)
    return max(times)
