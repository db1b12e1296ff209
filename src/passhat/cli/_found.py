"""Suites by path."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from passhat.facts import Manifest, PasshatError, TrialRecord

if TYPE_CHECKING:
    from passhat.suite import FoundSuite, Suite


class NoSuite(PasshatError):
    """No suite answers to what was asked for."""


def found_suites(path: str) -> list[FoundSuite]:
    """All suites of a path; none is an error."""
    from passhat.suite import discover

    found = discover(path)
    if not found:
        raise NoSuite(f"{path}: no suite in it; a suite is a passhat.Suite at the top of a file eval_*.py")
    return found


def suite_of(manifest: Manifest, path: str | None, root: Path) -> Suite:
    """The suite of a run, where the run found it, or at a path."""
    if manifest.source_file is None and manifest.suite.startswith("pytest "):
        raise NoSuite(f"{manifest.run_id} is a session of pytest: run pytest again, it has no other way to go on")
    place = path or manifest.source_file
    if place is None:
        raise NoSuite(
            f"{manifest.run_id} doesn't say where its suite is; name it after the run: {manifest.run_id} PATH"
        )
    for found in found_suites(_located(place, root)):
        if found.suite.name == manifest.suite:
            return found.suite
    raise NoSuite(f"{place} has no suite called {manifest.suite!r}; name the file that has it")


def graders_of(records: Iterable[TrialRecord]) -> list[str]:
    """The names of the graders that graded these trials, in the order in which they came."""
    return list(dict.fromkeys(grade.name for record in records for grade in record.grades))


def judge_of(manifest: Manifest, suite: Suite) -> str | None:
    """The judge that the run was told to ask; None where the suite says it, or a simulation did it."""
    if suite.judge_model or manifest.judge_source in (None, "simulated") or not manifest.judge_models:
        return None
    return manifest.judge_models[0]


def _located(place: str, root: Path) -> str:
    """The recorded place from here, or from where the runs are kept, or from a folder above either."""
    file, colons, name = place.partition("::")
    starts = [Path.cwd(), root.resolve().parent]
    for start in starts:
        for folder in (start, *start.parents):
            if (folder / file).exists():
                return f"{folder / file}{colons}{name}"
    return place
