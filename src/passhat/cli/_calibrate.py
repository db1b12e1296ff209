"""passhat calibrate: a judge held against people."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from passhat.cli import _options as options
from passhat.cli._found import graders_of, judge_of, suite_of
from passhat.cli._reports import aside, print_json, terminal

if TYPE_CHECKING:
    from passhat.calibrating import Labelled, Robustness
    from passhat.facts import Label
    from passhat.records import RunReader


@click.command("calibrate")
@click.argument("run", default="last")
@click.argument("place", required=False, metavar="[PATH[::SUITE]]")
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
@click.option(
    "--robustness",
    type=click.IntRange(min=1),
    metavar="N",
    help="Also ask the judge again about N trials, and about answers that must fail.",
)
@click.option(
    "--repeats",
    type=click.IntRange(min=2),
    metavar="N",
    help="How often each of them is judged, as it stands (default: 3).",
)
@click.option(
    "--control",
    "controls",
    multiple=True,
    metavar="KIND",
    help="Only these answers that must fail (repeatable): empty, echo, unsure, verdict, opener, injection, other.",
)
@click.option("--concurrency", type=click.IntRange(min=1), metavar="N", help="Trials judged at the same time.")
@options.judge_model
@click.option("--quiet", "-q", is_flag=True, help="No progress on standard error.")
@click.option("--level", type=options.LEVEL, default=0.95, show_default=True)
@options.as_json
@options.root
def command(run: str, root: Path, source: str | None, as_json: bool, **given: Any) -> int:
    """Say how far a judge agrees with people, and what its pass rate would be by their verdicts.

    With --robustness the judge is taken from the suite, where the run found it or at PATH, and asked again.

    Exits with 3 when nobody has read a trial, with 4 when the labels don't allow a corrected rate, and with 1 when a
    control of --robustness passed.
    """
    from passhat.calibrating import ALL, calibrate
    from passhat.records import RunReader, find_run

    _check(given)
    reader = RunReader(find_run(run, root))
    name = given["grader"] or _only_grader(reader, given["grades"])
    labels: list[Label] | None = None
    elsewhere: Labelled | None = None
    if source is not None:
        if Path(source).is_file():
            from passhat.records import read_labels
            from passhat.summary import starts

            trials = starts(reader.trials())
            labels = read_labels(source, trials, graders=graders_of(reader.trials(grades=given["grades"])), rater="")
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
    if given["robustness"] is not None:
        import msgspec

        found = msgspec.structs.replace(found, robustness=_robustness(reader, name, root, given))
    if as_json:
        import msgspec

        print_json(msgspec.Raw(found.to_json()))
    else:
        from passhat.reporting import render_calibration

        click.echo(render_calibration(found, **terminal()), nl=False)
    return found.exit_code


def _check(given: dict[str, Any]) -> None:
    """What only --robustness uses is not ignored without it."""
    if given["robustness"] is not None:
        return
    asking = {"place": "PATH", "repeats": "--repeats", "controls": "--control", "concurrency": "--concurrency"}
    for name, option in (asking | {"judge_model": "--judge-model"}).items():
        if given[name] not in (None, ()):
            raise click.UsageError(f"{option} goes with --robustness N: without it no judge is asked")


def _robustness(reader: RunReader, grader: str, root: Path, given: dict[str, Any]) -> Robustness:
    """Have the judge asked again."""
    from passhat.calibrating import REPEATS, probes, robustness
    from passhat.running import Probed, entrance, probe

    with entrance() as through, aside():
        suite = suite_of(reader.manifest, given["place"], root, reader.path)
        asked = probes(
            list(reader.trials(grades=given["grades"])),
            {task.id: task for task in suite.load_tasks()},
            grader,
            n=given["robustness"],
            repeats=given["repeats"] or REPEATS,
            controls=given["controls"],
            seed=reader.manifest.seed,
        )
        said = probe(
            reader,
            suite,
            grader,
            [Probed(each.record, each.answer, each.transcript) for each in asked],
            judge_model=given["judge_model"] or judge_of(reader.manifest, suite),
            concurrency=given["concurrency"],
            told=None if given["quiet"] else _counter(len(asked)),
            through=through,
        )
    return robustness(asked, said.grades, grader, level=given["level"])


def _counter(total: int) -> Callable[[int], None]:
    """How far the asking is, on standard error: in place on a terminal, else a line each tenth."""
    live = sys.stderr.isatty()
    steps = {round(total * tenth / 10) for tenth in range(1, 11)}

    def told(done: int) -> None:
        if live:
            click.echo(f"\rjudged {done} of {total}" + "\n" * (done == total), nl=False, err=True)
        elif done in steps:
            click.echo(f"judged {done} of {total}", err=True)

    return told


def _labelled(reader: RunReader, grades: str | None, labels: list[Label] | None) -> Labelled:
    from passhat.calibrating import Labelled

    said = list(reader.labels()) if labels is None else labels
    return Labelled(reader.run_id, reader.trials(grades=grades), said)


def _only_grader(reader: RunReader, grades: str | None) -> str:
    names = graders_of(reader.trials(grades=grades))
    judges = dict.fromkeys(
        grade.name for record in reader.trials(grades=grades) for grade in record.grades if grade.judged is not None
    )
    choice = judges if len(judges) == 1 else names
    if len(choice) == 1:
        return next(iter(choice))
    known = ", ".join(names) or "none"
    raise click.UsageError(f"say which grader is to be calibrated: --grader NAME; {reader.run_id} has: {known}")
