"""passhat runs: what has been recorded here."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from passhat.cli import _options as options
from passhat.cli._reports import print_json, terminal
from passhat.facts import PasshatError

if TYPE_CHECKING:
    from passhat.records import RunEntry
    from passhat.summary import GateVerdict, KnownLooks

MOST_TRIALS = 20_000
"""So many trials, of the newest runs, are read for the verdicts on gates: about a second's work."""


@click.command("runs")
@options.as_json
@options.root
def command(root: Path, as_json: bool) -> int:
    """List the recorded runs, newest first, with pass@1 and the verdict on their gates."""
    from passhat.records import counted, list_runs
    from passhat.reporting import render_runs

    entries = [counted(entry) for entry in list_runs(root)]
    gates, looked_at = _gates(entries)
    if as_json:
        rows = [
            {
                "run": e.run_id,
                "path": str(e.path),
                "manifest": e.manifest,
                "gates": gates.get(e.run_id),
                "problem": e.problem,
            }
            for e in entries
        ]
        print_json(rows)
    else:
        click.echo(render_runs(entries, gates=gates, **terminal()))
        if looked_at < len(entries):
            click.echo(f"Gates: of the newest {looked_at} runs; of others passhat report RUN says it")
    return 0


def _gates(entries: Sequence[RunEntry]) -> tuple[dict[str, GateVerdict], int]:
    """The verdict on the gates of each run that has some, and of how many runs it was asked, the newest first.

    It takes a run's records, and those of earlier runs of the same code: an old pile of them would take long.
    """
    if not any(_has_gates(entry) for entry in entries):
        return {}, len(entries)
    from passhat.records import RunReader
    from passhat.summary import EarlierLooks, summarize

    runs = [(entry.path, entry.manifest) for entry in entries if entry.manifest is not None]
    known: KnownLooks = {}
    found: dict[str, GateVerdict] = {}
    left = MOST_TRIALS
    for place, entry in enumerate(entries):
        manifest = entry.manifest
        if manifest is None or manifest.state == "running" or not _has_gates(entry):
            continue
        left -= sum(count.n + count.missing for count in manifest.counts)
        if left < 0 and found:
            return found, place
        with contextlib.suppress(PasshatError):  # a run that can't be read says so when it is asked for
            looks = EarlierLooks.among(manifest, runs, known).of(manifest.gates)
            verdict = summarize(manifest, RunReader(entry.path).trials(), ks=(1,), looks=looks).gates_verdict
            if verdict is not None:
                found[entry.run_id] = verdict
    return found, len(entries)


def _has_gates(entry: RunEntry) -> bool:
    return entry.manifest is not None and bool(entry.manifest.gates or entry.manifest.task_gates)
