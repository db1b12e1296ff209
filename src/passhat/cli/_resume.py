"""passhat resume: the rest of a run that was interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from passhat.cli import _options as options
from passhat.cli._compare import show_arms
from passhat.cli._found import judge_of, suite_of
from passhat.cli._reports import Judging, Printing, aside, progress
from passhat.facts import Status


@click.command("resume")
@click.argument("run", default="last")
@click.argument("path", required=False, metavar="[PATH[::SUITE]]")
@click.option("--concurrency", type=click.IntRange(min=1), metavar="N", help="Trials at the same time.")
@options.modelled
@options.judge_model
@click.option(
    "--retry",
    multiple=True,
    type=click.Choice([s.value for s in Status]),
    help="Also run trials again that ended so; unresolved ones are only graded again.",
)
@click.option("--force", is_flag=True, help="Go on although tasks, graders or agent have changed.")
@options.isolated(None)
@options.confined
@options.limited
@options.doubled
@options.judged
@options.formatted
@click.option("--quiet", "-q", is_flag=True, help="No progress on standard error.")
@options.root
def command(run: str, path: str | None, root: Path, **given: Any) -> int:
    """Run exactly the trials that RUN has no record of; the suite is found where the run found it, or at PATH.

    Trials whose grading failed are graded again, and their agent isn't run.
    """
    from passhat.records import RunReader, called, find_run
    from passhat.running import entrance, resume

    printing = Printing.asked(given)
    where = find_run(run, root)
    manifest = RunReader(where).manifest
    with entrance() as through, aside():
        suite = options.within_limits(suite_of(manifest, path, root, where, unchanged=not given["force"]), given)
        result = resume(
            where,
            suite,
            concurrency=given["concurrency"],
            model=options.named_model(given) or (None if suite.model else manifest.model_requested),
            judge_model=given["judge_model"] or judge_of(manifest, suite),
            isolation=given["isolation"],
            confine=given["confine"],
            cassette=given["cassette"],
            record=given["record"],
            faults=given["faults"],
            force=given["force"],
            retry=[Status(word) for word in given["retry"]],
            progress=progress(quiet=given["quiet"]),
            through=through,
        )
    judging = Judging.asked(given)
    report = judging.of_run(result.reader)
    printing.show(report, run=called(result.path))
    if printing.for_people:
        show_arms(result.path, judging)
    return report.exit_code
