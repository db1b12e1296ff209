"""passhat resume: the rest of a run that was interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from passhat.cli import _options as options
from passhat.cli._found import NoSuite, found_suites
from passhat.cli._reports import Judging, Printing, aside, called, progress
from passhat.facts import Manifest, Status

if TYPE_CHECKING:
    from passhat.suite import Suite


@click.command("resume")
@click.argument("run", default="last")
@click.argument("path", required=False, metavar="[PATH[::SUITE]]")
@click.option("--concurrency", type=click.IntRange(min=1), metavar="N", help="Trials at the same time.")
@options.modelled
@options.judge_model
@click.option(
    "--retry", multiple=True, type=click.Choice([s.value for s in Status]), help="Also run trials again that ended so."
)
@click.option("--force", is_flag=True, help="Go on although tasks, graders or agent have changed.")
@options.isolated(None)
@options.doubled
@options.judged
@options.formatted
@click.option("--quiet", "-q", is_flag=True, help="No progress on standard error.")
@options.root
def command(run: str, path: str | None, root: Path, **given: Any) -> int:
    """Run exactly the trials that RUN has no record of; the suite is found where the run found it, or at PATH."""
    from passhat.records import RunReader, find_run
    from passhat.running import entrance, resume

    where = find_run(run, root)
    manifest = RunReader(where).manifest
    with entrance() as through, aside():
        suite = _suite_of(manifest, path, root)
        result = resume(
            where,
            suite,
            concurrency=given["concurrency"],
            model=options.named_model(given) or (None if suite.model else manifest.model_requested),
            judge_model=given["judge_model"] or _judge_of(manifest, suite),
            isolation=given["isolation"],
            cassette=given["cassette"],
            record=given["record"],
            faults=given["faults"],
            force=given["force"],
            retry=[Status(word) for word in given["retry"]],
            progress=progress(quiet=given["quiet"]),
            through=through,
        )
    judging = Judging.asked(given)
    printing = Printing.asked(given)
    report = judging.of_run(result.reader)
    printing.show(report, run=called(result.path, root))
    return report.exit_code


def _judge_of(manifest: Manifest, suite: Suite) -> str | None:
    """The judge that the run was told to ask; None where the suite says it, or a simulation did it."""
    if suite.judge_model or manifest.judge_source in (None, "simulated") or not manifest.judge_models:
        return None
    return manifest.judge_models[0]


def _suite_of(manifest: Manifest, path: str | None, root: Path) -> Suite:
    place = path or manifest.source_file
    if place is None:
        raise NoSuite(
            f"{manifest.run_id} doesn't say where its suite is; name it: passhat resume {manifest.run_id} PATH"
        )
    for found in found_suites(_located(place, root)):
        if found.suite.name == manifest.suite:
            return found.suite
    raise NoSuite(f"{place} has no suite called {manifest.suite!r}; name the file that has it")


def _located(place: str, root: Path) -> str:
    """The recorded place from here, or from where the runs are kept, or from a folder above either."""
    file, colons, name = place.partition("::")
    starts = [Path.cwd(), root.resolve().parent]
    for start in starts:
        for folder in (start, *start.parents):
            if (folder / file).exists():
                return f"{folder / file}{colons}{name}"
    return place
