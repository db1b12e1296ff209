"""Finding runs by what a person types, and listing them cheaply."""

from __future__ import annotations

from pathlib import Path

import msgspec

from passhat.facts import Manifest, named, plural
from passhat.records._damage import own_lines
from passhat.records._errors import RecordError, RunNotFound, disk_error
from passhat.records._format import LOCK, MANIFEST, decode_record, read_manifest
from passhat.records._lock import holder_of
from passhat.records._pairs import PairSet
from passhat.records._tally import Tally


class RunEntry(msgspec.Struct, frozen=True):
    """One directory among the runs; ``manifest`` is None when it can't be read, and ``problem`` says why."""

    path: Path
    manifest: Manifest | None = None
    problem: str = ""

    @property
    def run_id(self) -> str:
        """The name of the directory."""
        return self.path.name


def list_runs(root: Path | str = ".passhat") -> list[RunEntry]:
    """All runs below ``root``, newest first, from their ``run.json``; broken ones have a ``problem``.

    A run whose writer was killed is *interrupted*, whatever its ``run.json`` says.
    """
    return sorted((_entry(path) for path in _folders(Path(root))), key=_age, reverse=True)


def find_run(text: str, root: Path | str = ".passhat") -> Path:
    """The directory of the run that ``text`` names: "last", an id, a unique beginning or end of one, or a path.

    Raises `RunNotFound` when no run, or more than one, answers to it.
    """
    runs = Path(root) / "runs"
    if text == "last":
        whole = [entry for entry in list_runs(root) if entry.manifest is not None]
        if not whole:
            raise RunNotFound(runs, "there is no run yet", "Make one: passhat run PATH")
        return whole[0].path
    if text.strip():
        given = Path(text)
        path = given.parent if given.is_file() else given
        if (path / MANIFEST).is_file():
            return path
    folders = _folders(Path(root))
    names = {path.name: path for path in folders}
    if text in names:
        return names[text]
    found = sorted(name for name in names if text and (name.startswith(text) or name.endswith(text)))
    if len(found) == 1:
        return names[found[0]]
    if found:
        listed = named(reversed(found))
        raise RunNotFound(runs, f"{len(found)} runs answer to {text!r}: {listed}", "Give more of the id")
    if within := sorted((name for name in names if text.strip() and text in name), reverse=True):
        which = (
            f"no run's id begins or ends with {text!r}; {named(within)} {plural(len(within), 'has', 'have')} it within"
        )
        raise RunNotFound(runs, which, "Give the id, or its end")
    raise RunNotFound(runs, f"no run answers to {text!r}", "`passhat runs` lists what there is")


def called(path: Path) -> str:
    """What commands call a run that is at ``path``: its id, or its path where runs are kept in an unusual place."""
    path = path.absolute()
    if path.parent.parent == Path(".passhat").absolute():
        return path.name
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _folders(root: Path) -> list[Path]:
    try:
        return sorted(path for path in (root / "runs").iterdir() if path.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise disk_error(error, root / "runs") from error


def manifest_now(path: Path) -> Manifest:
    """The manifest of a run as things stand: one that says it is running, and that nobody writes, was interrupted.

    Raises `RecordError`.
    """
    manifest = read_manifest(path)
    if manifest.state != "running" or holder_of(path / LOCK) is not None:
        return manifest
    return msgspec.structs.replace(manifest, state="interrupted")


def counted(entry: RunEntry) -> RunEntry:
    """A run with the counts that its manifest lacks because its writer was killed, or still writes: from its records.

    Reads every record of such a run, and nothing of the others. One whose records can't be read has a ``problem``.
    """
    if entry.manifest is None or entry.manifest.counts:
        return entry
    tally, seen = Tally(), PairSet()
    try:
        for _, record in own_lines(entry.path, entry.manifest).parsed(decode_record):
            if seen.add(record.key):
                tally.add(record)
    except RecordError as error:
        return RunEntry(entry.path, problem=str(error))
    return msgspec.structs.replace(
        entry, manifest=msgspec.structs.replace(entry.manifest, counts=tally.counts(entry.manifest))
    )


def _entry(path: Path) -> RunEntry:
    try:
        return RunEntry(path, manifest_now(path))
    except RecordError as error:
        return RunEntry(path, problem=str(error))


def _age(entry: RunEntry) -> tuple[str, str, str]:
    """Its stamp, then its start to the millisecond."""
    return entry.run_id[:16], entry.manifest.started if entry.manifest else "", entry.run_id
