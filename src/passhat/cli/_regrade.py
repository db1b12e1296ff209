"""passhat regrade: recorded trials, judged by the graders as they are now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from passhat.cli import _options as options
from passhat.cli._found import judge_of, suite_of
from passhat.cli._reports import aside, print_json, progress, terminal
from passhat.summary import ExitCode

if TYPE_CHECKING:
    from passhat.running import Regraded


@click.command("regrade")
@click.argument("run", default="last")
@click.argument("path", required=False, metavar="[PATH[::SUITE]]")
@click.option("--grader", "graders", multiple=True, metavar="NAME", help="Only ask this grader again (repeatable).")
@click.option("--concurrency", type=click.IntRange(min=1), metavar="N", help="Trials at the same time.")
@options.judge_model
@options.isolated(None)
@options.as_json
@click.option("--quiet", "-q", is_flag=True, help="No progress on standard error.")
@options.root
def command(run: str, path: str | None, root: Path, **given: Any) -> int:
    """Judge the trials of RUN by the graders as they are now, and say which verdicts that flips.

    No agent runs and RUN stays as it is: the new grades are kept beside it. The suite is found where the run found it,
    or at PATH. Leaves with 3 when there are trials that can't be judged again.
    """
    from passhat.records import RunReader, called, find_run
    from passhat.running import RegradeInterrupted, entrance, regrade

    where = find_run(run, root)
    manifest = RunReader(where).manifest
    name = called(where)
    with entrance() as through, aside():
        suite = suite_of(manifest, path, root, where)
        try:
            found = regrade(
                where,
                suite,
                graders=given["graders"],
                concurrency=given["concurrency"],
                isolation=given["isolation"],
                judge_model=given["judge_model"] or judge_of(manifest, suite),
                progress=progress(quiet=given["quiet"]),
                through=through,
            )
        except RegradeInterrupted as stop:
            found = stop.regraded
    _show(found, name, as_json=given["as_json"])
    if found.interrupted:
        return ExitCode.INTERRUPTED
    return ExitCode.FINE if found.whole else ExitCode.INCOMPLETE


def _show(found: Regraded, run: str, *, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    from passhat.reporting import render_regraded

    click.echo(render_regraded(found, run=run, **terminal()), nl=False)
