"""What the trials of a leak check left: how they ended, which planted words turned up, git histories, changed files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from passhat.facts import ModelCall, Transcript, TrialRecord, count, digest, name_in_text
from passhat.isolation import ask_git
from passhat.records import unpack_workspace

if TYPE_CHECKING:
    from passhat.running import Run
    from passhat.suite import Suite

Key = tuple[str, str, int]  # arm, task, trial
Files = dict[str, tuple[int, int]]  # path: size in bytes, time of the last change in nanoseconds
PARTS = ("verdict", "output", "transcript")
"""What of a trial is compared."""
_CACHES = frozenset({".passhat", "__pycache__", ".git", ".venv", "node_modules", ".mypy_cache", ".pytest_cache"})
_MOST_BYTES = 64 << 20  # of one file that is looked through for words
_GIT_SECONDS = 30.0


@dataclass(frozen=True)
class Trace:
    """One trial: how it ended in comparable parts, the planted words of others in it, and its git repositories.

    ``calls`` counts requests to a model, refused ones too.
    """

    parts: Mapping[str, str]
    calls: int
    strangers: tuple[tuple[str, str], ...] = ()  # where, marker
    repositories: tuple[str, ...] = field(default=())  # "" for a sound one, else what is wrong with it

    @property
    def fingerprint(self) -> str:
        """Equal for trials in which the same happened."""
        return self.parts["transcript"]


def traces_of(run: Run, markers: Mapping[str, str] | None = None) -> dict[Key, Trace]:
    """The traces of a run's trials; ``markers`` (by task id) are looked for in the trials of all other tasks."""
    reader = run.reader
    found = {}
    for record in reader.trials():
        transcript = reader.transcript(record) or Transcript()
        archive = reader.workspace(record)
        with tempfile.TemporaryDirectory(prefix="passhat-leaks-") as place:
            folder = Path(place)
            if archive is not None:
                unpack_workspace(archive, folder)
            others = {mark for task, mark in (markers or {}).items() if task != record.task}
            found[record.key] = Trace(
                parts=_parts(record),
                calls=sum(isinstance(event, ModelCall) for event in transcript.events),
                strangers=tuple(_strangers(record, transcript, folder, others)) if others else (),
                repositories=tuple(repositories(folder)),
            )
    return found


def _parts(record: TrialRecord) -> dict[str, str]:
    marks = (f"{record.status} {record.passed}", digest(record.output), record.fingerprint)
    return dict(zip(PARTS, marks, strict=True))


def _strangers(
    record: TrialRecord, transcript: Transcript, folder: Path, markers: set[str]
) -> Iterator[tuple[str, str]]:
    asked: list[Any] = [call.messages for call in transcript.model_calls]
    told = [event for event in transcript.events if event not in transcript.model_calls]
    for where, what in (
        ("what the agent asked its model", asked),
        ("what the agent recorded or printed", told),
        ("the output", record.output),
    ):
        text = msgspec.json.encode(what)
        yield from ((where, mark) for mark in markers if mark.encode() in text)
    for path in _files_in(folder):
        if path.stat().st_size <= _MOST_BYTES:
            content = path.read_bytes()
            name = name_in_text(path.relative_to(folder))
            yield from ((f"{name} in the workspace", mark) for mark in markers if mark.encode() in content)


def _files_in(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        yield from (path for name in names if (path := Path(place, name)).is_file() and not path.is_symlink())


def repositories(folder: Path) -> Iterator[str]:
    """What is wrong with each git repository in a folder; empty for a sound one."""
    for place, folders, names in os.walk(folder):
        if ".git" in names:
            yield "has a .git file, which leads to a repository outside"
        if ".git" in folders:
            folders.remove(".git")
            yield _trouble(Path(place))


def _trouble(repository: Path) -> str:
    """What is wrong with a repository's history; empty when it is its own, or can't be told."""
    if (repository / ".git" / "objects" / "info" / "alternates").is_file():
        return "has a git repository that takes objects from one outside"
    if _git(repository, "config", "--get-regexp", r"^(extensions\.partialclone|remote\..*\.promisor)$"):
        return (
            "has a git repository that is a partial clone: what it lacks can be had from its remote at any time, "
            "so its history can't be looked through"
        )
    beside = _git(repository, "rev-list", "--count", "--all", "--reflog", "--not", "HEAD")
    if beside.isdigit() and int(beside):
        return (
            f"has a git repository with {count(int(beside), 'commit')} beside the one that is checked out "
            "(git log --all shows them): an answer may stand there"
        )
    for line in _git(repository, "config", "--get-regexp", r"^remote\..*\.url$").splitlines():
        url = line.partition(" ")[2]
        if url.startswith(("/", "file:", ".")):
            return f"has a git repository with a remote on this machine, {url}: trials could meet there"
    return ""


def _git(repository: Path, *arguments: str) -> str:
    """What git says of a repository that an agent left; empty when it fails."""
    said = ask_git(repository, *arguments, seconds=_GIT_SECONDS, foreign=True)
    return "" if said is None else said.decode(errors="replace").strip()


def files_beside(suite: Suite) -> Files:
    """The files of the suite's folder and of its template, without caches and repositories."""
    places = {suite.template_path(), None if suite.file is None else suite.folder} - {None}
    found: Files = {}
    for place in sorted(str(each) for each in places):
        for here, folders, names in os.walk(place):
            folders[:] = [name for name in folders if name not in _CACHES]
            for name in names:
                path = Path(here, name)
                if path.suffix != ".pyc" and path.is_file():
                    state = path.stat()
                    found[str(path)] = (state.st_size, state.st_mtime_ns)
    return found


def changed_files(before: Files, after: Files) -> list[str]:
    """Paths that are new, gone or otherwise."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
