"""passhat report: what a run, or a table of outcomes, says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from passhat.cli import _options as options
from passhat.cli._reports import Judging, Printing


@click.command("report")
@click.argument("source", default="last", metavar="[RUN | FILE.csv | FILE.jsonl]")
@options.judged
@options.formatted
@click.option("--grades", metavar="ID", help="Use the grades of this regrading.")
@click.option("--arm", metavar="NAME", help="The arm to describe (default: the baseline).")
@options.root
def command(source: str, root: Path, grades: str | None, arm: str | None, **given: Any) -> int:
    """Show rates, intervals, findings and gates of a run, or of any table with columns for task and outcome.

    SOURCE is a run's id (or a unique part of it), its path, "last", or a CSV or JSONL file.
    """
    judging = Judging(*(given[name] for name in ("missing", "undecided", "gates", "level")))
    printing = Printing(*(given[name] for name in ("as_json", "as_markdown", "html", "junit")))
    if is_table(source):
        report = judging.of_table(Path(source))
        printing.show(report)
    else:
        from passhat.records import RunReader, find_run

        path = find_run(source, root)
        report = judging.of_run(RunReader(path), grades=grades, arm=arm)
        printing.show(report, run=path.name)
    return report.exit_code


def is_table(source: str) -> bool:
    """Whether the argument names a file of outcomes rather than a run."""
    return Path(source).suffix.lower() in (".csv", ".tsv", ".jsonl", ".ndjson")
