"""passhat runs: what has been recorded here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from passhat.cli import _options as options
from passhat.cli._reports import print_json, terminal

if TYPE_CHECKING:
    from passhat.records import RunEntry


@click.command("runs")
@options.as_json
@options.root
def command(root: Path, as_json: bool) -> int:
    """List the recorded runs, newest first."""
    from passhat.records import list_runs
    from passhat.reporting import render_runs

    entries = [_as_it_is(entry) for entry in list_runs(root)]
    if as_json:
        rows = [{"run": e.run_id, "path": str(e.path), "manifest": e.manifest, "problem": e.problem} for e in entries]
        print_json(rows)
    else:
        click.echo(render_runs(entries, **terminal()))
    return 0


def _as_it_is(entry: RunEntry) -> RunEntry:
    """A run that says it is running, and that nobody writes any more, was interrupted by a kill."""
    import msgspec

    from passhat.records import RunReader

    manifest = entry.manifest
    if manifest is None or manifest.state != "running" or RunReader(entry.path).writer is not None:
        return entry
    return msgspec.structs.replace(entry, manifest=msgspec.structs.replace(manifest, state="interrupted"))
