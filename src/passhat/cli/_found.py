"""Suites by path."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from passhat.facts import Manifest, PasshatError, Task, TrialRecord

if TYPE_CHECKING:
    from passhat.records import RunReader
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


def found_everywhere(paths: Iterable[str]) -> list[FoundSuite]:
    """All suites of several paths, which are meant from here: the import of one may go to another directory."""
    return [found for path in [os.path.abspath(path) for path in paths] for found in found_suites(path)]


def suite_of(manifest: Manifest, path: str | None, root: Path, run: Path, *, unchanged: bool = False) -> Suite:
    """The suite of a run that is in the folder ``run``: where the run found it, or at a path.

    ``unchanged``: raise `passhat.running.ResumeRefused`, before it runs, for code that isn't as the run had it.
    """
    if manifest.source_file is None and manifest.suite.startswith("pytest "):
        raise NoSuite(f"{manifest.run_id} is a session of pytest, which no suite goes on with: run pytest again")
    place = path or manifest.source_file
    if place is None:
        raise NoSuite(
            f"{manifest.run_id} doesn't say where its suite is; name it after the run: {manifest.run_id} PATH"
        )
    starts = [Path.cwd(), root.resolve().parent]
    if path is None:
        here = run.resolve().is_relative_to(root.resolve())
        starts = [*starts, run.resolve()] if here else [run.resolve(), *starts]
    located = _located(place, starts)
    if located is None and path is None:
        raise NoSuite(
            f"{place}: the suite of {manifest.run_id} isn't there any more, seen from {Path.cwd()} and from the run: "
            "name its file after the run (PATH)"
        )
    from passhat.running import as_it_was

    where = Path((located or place).partition("::")[0]).resolve()
    with as_it_was(manifest, where) if unchanged else contextlib.nullcontext():
        suites = found_suites(located or place)
    for found in suites:
        if found.suite.name == manifest.suite:
            return found.suite
    raise NoSuite(f"{located or place} has no suite called {manifest.suite!r}; name the file that has it (PATH)")


def tasks_as_run(path: str, reader: RunReader) -> dict[str, Task]:
    """The tasks at a path that are still as they were when the run was made: of its suite, where that is among them."""
    from passhat.cli._reports import aside
    from passhat.reporting import clean
    from passhat.running import entrance

    hashes = reader.manifest.task_hashes
    with entrance(), aside():
        found = found_suites(path)
        own = [each for each in found if each.suite.name == reader.manifest.suite]
        tasks = {task.id: task for each in own or found for task in each.suite.load_tasks()}
    changed = sorted(name for name, task in tasks.items() if name in hashes and hashes[name] != task.hash)
    if changed:
        click.echo(f"passhat: not shown, since changed after the run: {clean(', '.join(changed), 200)}", err=True)
    return {name: task for name, task in tasks.items() if name not in changed}


def graders_of(records: Iterable[TrialRecord]) -> list[str]:
    """The names of the graders that graded these trials, in the order in which they came."""
    return list(dict.fromkeys(grade.name for record in records for grade in record.grades))


def judge_of(manifest: Manifest, suite: Suite) -> str | None:
    """The judge that the run was told to ask; None where the suite says it, or a simulation did it."""
    if suite.judge_model or manifest.judge_source in (None, "simulated") or not manifest.judge_models:
        return None
    return manifest.judge_models[0]


def _located(place: str, starts: Sequence[Path]) -> str | None:
    """The recorded place, as seen from the first of these folders, or of those above them, that has it."""
    file, colons, name = place.partition("::")
    for start in starts:
        for folder in (start, *start.parents):
            if (folder / file).exists():
                return f"{folder / file}{colons}{name}"
    return None
