"""passhat calibrate: a judge held against people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from passhat.cli import _options as options
from passhat.cli._reports import terminal

if TYPE_CHECKING:
    from passhat.calibrating import Labelled
    from passhat.facts import Label
    from passhat.records import RunReader


@click.command("calibrate")
@click.argument("run", metavar="RUN")
@click.option("--grader", metavar="NAME", help="The judge, by the name of its grades (default: the only grader).")
@click.option(
    "--labels", "source", metavar="RUN|FILE", help="Labels of another run, or of this one in a CSV or JSONL file."
)
@click.option(
    "--by",
    multiple=True,
    type=click.Choice(["arm", "tag", "family", "task"]),
    help="Parts to show apart (repeatable; default: arm, tag and family).",
)
@click.option("--grades", metavar="ID", help="Use the verdicts of this regrade.")
@click.option("--level", type=options.LEVEL, default=0.95, show_default=True)
@options.as_json
@options.root
def command(run: str, root: Path, source: str | None, as_json: bool, **given: Any) -> int:
    """Say how far a judge agrees with people, and what its pass rate would be by their verdicts.

    Exits with 3 when nobody has read a trial, and with 4 when the labels don't allow a corrected rate.
    """
    from passhat.calibrating import ALL, calibrate
    from passhat.records import RunReader, find_run

    reader = RunReader(find_run(run, root))
    name = given["grader"] or _only_grader(reader, given["grades"])
    labels: list[Label] | None = None
    elsewhere: Labelled | None = None
    if source is not None:
        if Path(source).is_file():
            from passhat.calibrating import read_labels

            labels = read_labels(source)
        else:
            elsewhere = _labelled(RunReader(find_run(source, root)), None, None)
    found = calibrate(
        _labelled(reader, given["grades"], labels),
        name,
        elsewhere=elsewhere,
        by=given["by"] or ALL,
        level=given["level"],
        hand_picked=reader.manifest.hand_picked,
    )
    if as_json:
        import msgspec

        click.echo(msgspec.json.format(found.to_json()).decode())
    else:
        from passhat.reporting import render_calibration

        click.echo(render_calibration(found, **terminal()), nl=False)
    return found.exit_code


def _labelled(reader: RunReader, grades: str | None, labels: list[Label] | None) -> Labelled:
    from passhat.calibrating import Labelled

    said = list(reader.labels()) if labels is None else labels
    return Labelled(reader.run_id, reader.trials(grades=grades), said)


def _only_grader(reader: RunReader, grades: str | None) -> str:
    names = dict.fromkeys(grade.name for record in reader.trials(grades=grades) for grade in record.grades)
    judges = dict.fromkeys(
        grade.name for record in reader.trials(grades=grades) for grade in record.grades if grade.judged is not None
    )
    choice = judges if len(judges) == 1 else names
    if len(choice) == 1:
        return next(iter(choice))
    known = ", ".join(names) or "none"
    raise click.UsageError(f"say which grader is to be calibrated: --grader NAME; {reader.run_id} has: {known}")
