"""passhat history: a suite over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from passhat.cli import _options as options
from passhat.cli._reports import print_json, terminal


@click.command("history")
@click.argument("suite", metavar="SUITE")
@click.option("--since", metavar="RUN", help="Also what changed since this run (its id, a part of it, or a commit).")
@click.option(
    "--root",
    "roots",
    multiple=True,
    type=options.Place(exists=True),
    help="A folder with runs below it, of this machine or of others (repeatable; default .passhat).",
)
@click.option("--level", type=options.LEVEL, default=0.95, show_default=True)
@click.option("--runs", type=click.IntRange(min=1), default=20, show_default=True, help="How many runs to list.")
@options.as_json
def command(suite: str, roots: tuple[Path, ...], as_json: bool, runs: int, **given: Any) -> int:
    """Show the rates of a suite by run, what changed since the last, what is stale, and re-runs taken together.

    SUITE is its name, or PATH[::SUITE]: then the suite is read, and tasks that have changed since
    are named.
    """
    from passhat.history import history

    roots = roots or (Path(".passhat").absolute(),)  # from here: the suite's file may go to another directory
    name, current = _named(suite)
    found = history(name, roots, current=current, **given)
    if as_json:
        print_json(found)
    else:
        from passhat.reporting import render_history

        click.echo(render_history(found, runs=runs, **terminal()), nl=False)
    return 0


def _named(suite: str) -> tuple[str, dict[str, str] | None]:
    """The suite's name, and the hashes of its tasks where it was given by its place."""
    if not Path(suite.partition("::")[0]).exists():
        return suite, None
    from passhat.cli._found import found_suites
    from passhat.running import entrance

    with entrance():
        suites = found_suites(suite)
        if len(suites) > 1:
            names = ", ".join(each.address for each in suites)
            raise click.UsageError(f"{suite} holds several suites; name one: {names}")
        one = suites[0].suite
        return one.name, {task.id: task.hash for task in one.load_tasks()}
