"""passhat report: what a run, or a table of outcomes, says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from passhat.cli import _options as options
from passhat.cli._reports import Judging, Printing

if TYPE_CHECKING:
    from passhat.summary import Report


@click.command("report")
@click.argument("source", default="last", metavar="[RUN | FILE.csv | FILE.jsonl]")
@options.judged
@options.formatted
@click.option("--grades", metavar="ID", help="Use the grades of this regrading.")
@click.option("--arm", metavar="NAME", help="The arm to describe (default: the baseline).")
@click.option(
    "--published", metavar="RATES", help="Check a published curve pass^1 to pass^n, as in '79.61 67.4 58.77 51.75'."
)
@options.root
def command(source: str, root: Path, grades: str | None, arm: str | None, published: str | None, **given: Any) -> int:
    """Show rates, intervals, findings and gates of a run, or of any table with columns for task and outcome.

    SOURCE is a run's id (or how one begins or ends), its path, "last", or a CSV or JSONL file.
    """
    judging = Judging.asked(given)
    printing = Printing.asked(given)
    if is_table(source):
        report = _checked(judging.of_table(Path(source)), published)
        printing.show(report)
    else:
        from passhat.records import RunReader, called, find_run

        path = find_run(source, root)
        report = _checked(judging.of_run(RunReader(path), grades=grades, arm=arm), published)
        printing.show(report, run=called(path))
    return report.exit_code


def _checked(report: Report, published: str | None) -> Report:
    if published is None:
        return report
    from passhat.summary import with_published

    try:
        return with_published(report, published.replace(",", " ").split())
    except ValueError as error:
        raise click.UsageError(f"--published {published!r}: {error}") from None


def is_table(source: str) -> bool:
    """Whether the argument names a file of outcomes rather than a run."""
    return Path(source).suffix.lower() in (".csv", ".tsv", ".jsonl", ".ndjson")
