"""passhat runs: what has been recorded here."""

from __future__ import annotations

from pathlib import Path

import click

from passhat.cli import _options as options
from passhat.cli._reports import print_json, terminal


@click.command("runs")
@options.as_json
@options.root
def command(root: Path, as_json: bool) -> int:
    """List the recorded runs, newest first."""
    from passhat.records import counted, list_runs
    from passhat.reporting import render_runs

    entries = [counted(entry) for entry in list_runs(root)]
    if as_json:
        rows = [{"run": e.run_id, "path": str(e.path), "manifest": e.manifest, "problem": e.problem} for e in entries]
        print_json(rows)
    else:
        click.echo(render_runs(entries, **terminal()))
    return 0
