"""The runs of a suite, from one folder or several: copied from other machines, nested or not."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from passhat.facts import Manifest
from passhat.history._errors import HistoryError
from passhat.records import RecordError, manifest_now

_DEPTH = 4


class Found(NamedTuple):
    """One run directory."""

    path: Path
    manifest: Manifest


def collect(suite: str, roots: Iterable[Path | str]) -> tuple[list[Found], list[str]]:
    """The runs of a suite, oldest first, each run once however often it was copied; and what could not be read.

    Raises `HistoryError` when there is none, naming the suites there are.
    """
    places = [Path(root) for root in roots]
    found: dict[str, Found] = {}
    problems: list[str] = []
    others: set[str] = set()
    for folder in (folder for place in places for folder in _folders(place, _DEPTH)):
        try:
            manifest = manifest_now(folder)
        except RecordError as error:
            problems.append(str(error))
            continue
        if manifest.suite == suite:
            found.setdefault(manifest.run_id, Found(folder, manifest))
        else:
            others.add(manifest.suite)
    if not found:
        known = f"; there are runs of {', '.join(sorted(others))}" if others else ""
        raise HistoryError(f"no run of suite {suite!r} in {', '.join(map(str, places))}{known}")
    return sorted(found.values(), key=lambda each: (each.manifest.started, each.manifest.run_id)), problems


def _folders(place: Path, depth: int) -> Iterator[Path]:
    """Run directories at or below a place; nothing inside a run directory is looked at."""
    if (place / "run.json").is_file():
        yield place
        return
    if depth == 0:
        return
    try:
        entries = sorted(entry.path for entry in os.scandir(place) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return
    for entry in entries:
        yield from _folders(Path(entry), depth - 1)
