"""passhat review: people read trials and say what they make of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from passhat.cli import _options as options
from passhat.cli._found import graders_of
from passhat.cli._reports import print_json, terminal
from passhat.facts import LONGEST_RATER, Fault, can_be_a_rater, count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from passhat.facts import Label, TrialKey, TrialRecord
    from passhat.records import RunReader
    from passhat.reviewing import Kind, ReadingItem

_VERDICT = click.Choice(["pass", "fail", "unclear"])


def _kinds(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[Kind, ...] | None:
    """The kinds of trials, in the order given."""
    from passhat.reviewing import KINDS

    if value is None:
        return None
    words = [word.strip() for word in value.split(",")]
    if unknown := [word for word in words if word not in KINDS]:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(KINDS)}", ctx, param)
    return tuple(kind for kind in KINDS if kind in words)


class _Number(click.IntRange):
    """A trial by its number; said so where it is none."""

    name = "trial number, counted from 0"


@click.command("review")
@click.argument("run", default="last")
@click.option("--rater", metavar="NAME", help="Who reads (default: your login name).")
@click.option("--blind", is_flag=True, help="Hide what graders said until you gave your verdict.")
@click.option("--grader", metavar="NAME", default="", help="Judge this criterion only, to calibrate its grader.")
@click.option(
    "--only", "kinds", callback=_kinds, metavar="KIND,…", help="Kinds of trials: failed, disputed, passed, random."
)
@click.option("--passed", type=click.IntRange(min=0), metavar="N", help="How many passed trials to draw (default: 10).")
@click.option(
    "--random", "drawn", type=click.IntRange(min=1), metavar="N", help="How many to draw for 'random' (default: 60)."
)
@click.option("--seed", type=int, help="Another draw (default: the run's seed, the same for all raters).")
@click.option("--task", "tasks", multiple=True, metavar="ID", help="Only this task (repeatable).")
@click.option("--arm", metavar="NAME", help="Only trials of this arm.")
@click.option("--plan", type=click.Path(dir_okay=False, path_type=Path), help="Read what `passhat sample` planned.")
@click.option("--grades", metavar="ID", help="Show and sort by the grades of this regrading.")
@click.option("--suite", metavar="PATH", help="Show each task's input and what was expected, from this suite.")
@click.option("--agreement", is_flag=True, help="Show how far raters agree, and where not.")
@click.option(
    "--label", type=(str, _Number(min=0), _VERDICT), metavar="TASK TRIAL VERDICT", help="Give one label and end."
)
@click.option("--fault", type=click.Choice(get_args(Fault)), help="With --label: whose fault it was.")
@click.option("--note", default="", help="With --label: why.")
@click.option(
    "--from", "source", type=click.Path(dir_okay=False, path_type=Path), help="Add the labels of a JSONL or CSV file."
)
@options.as_json
@options.root
def command(run: str, root: Path, as_json: bool, **given: Any) -> int:
    """Read a run's trials one by one: failed ones first, then disputed, then some that passed; and judge each.

    Verdicts are written at once, into the run's labels.jsonl; the same command goes on where you stopped.
    """
    from passhat.records import RunReader, called, find_run

    reader = RunReader(find_run(run, root))
    name = called(reader.path) if run == "last" else run
    _check(given)
    if given["agreement"]:
        return _show_agreement(reader, given["grader"], as_json=as_json, run=name)
    if given["label"] is not None or given["source"] is not None:
        return _add(reader, given)
    items = _reading_list(reader, given)
    rater = _rater(given["rater"])
    if as_json:
        return _show_list(reader, items, rater, given["grader"], given["grades"])
    return _sit(reader, items, rater, given, name)


_DONE_APART: dict[str, tuple[str, set[str]]] = {
    "agreement": ("compares what raters said", {"grader"}),
    "label": ("gives one label", {"rater", "grader", "arm", "blind", "fault", "note", "grades"}),
    "source": ("adds the labels of a file", {"rater", "grader", "grades"}),
    "plan": ("says which trials to read", {"rater", "grader", "blind", "suite", "grades"}),
}
"""What each of these options does, and the options that mean something beside it."""
_OPTIONS = {"source": "from", "kinds": "only", "drawn": "random", "tasks": "task"}


def _check(given: dict[str, Any]) -> None:
    """Options that don't go together are said, and not ignored."""
    told = [name for name, value in given.items() if not (value is None or value is False or value in ((), ""))]
    for option in ("fault", "note"):
        if option in told and "label" not in told:
            raise click.UsageError(f"--{option} goes with --label")
    for option, (does, beside) in _DONE_APART.items():
        if option in told and (ignored := [name for name in told if name != option and name not in beside]):
            one, other = (_OPTIONS.get(name, name) for name in (option, ignored[0]))
            raise click.UsageError(f"--{one} {does}; leave --{other} away")


def _rater(name: str | None) -> str:
    from passhat.reviewing import ReviewError

    if name is None:
        import getpass

        try:
            name = getpass.getuser()
        except (OSError, KeyError):
            raise ReviewError("who reads? say --rater NAME") from None
    if not can_be_a_rater(name):
        shown = name if len(name) <= LONGEST_RATER else f"{name[:30]}…"
        raise ReviewError(f"--rater {shown!r}: a name is up to {LONGEST_RATER} printable characters, without a comma")
    return name.strip()


def _reading_list(reader: RunReader, given: dict[str, Any]) -> list[ReadingItem]:
    from passhat.reviewing import DEFAULT_PASSED, DEFAULT_RANDOM, read_plan, reading_list

    if given["plan"] is not None:
        return read_plan(given["plan"], reader.run_id).for_reader(_rater(given["rater"]))
    return reading_list(
        reader.trials(grades=given["grades"]),
        kinds=given["kinds"],
        passed=DEFAULT_PASSED if given["passed"] is None else given["passed"],
        drawn=given["drawn"] or DEFAULT_RANDOM,
        seed=reader.manifest.seed if given["seed"] is None else given["seed"],
        grader=given["grader"],
        tasks=given["tasks"],
        arm=given["arm"],
        blind=given["blind"],
    )


def _add(reader: RunReader, given: dict[str, Any]) -> int:
    """Labels that come without a terminal."""
    from passhat.records import append_labels
    from passhat.summary import starts

    trials = starts(reader.trials())
    records = list(reader.trials(grades=given["grades"]))
    if given["source"] is not None:
        labels = _from_file(given, trials, records)
    else:
        labels = [_one_label(reader, given, trials, records)]
    append_labels(reader.path, labels)
    click.echo(f"{count(len(labels), 'label')} added to {reader.path / 'labels.jsonl'}", err=True)
    return 0


def _from_file(given: dict[str, Any], trials: Mapping[TrialKey, str], records: Sequence[TrialRecord]) -> list[Label]:
    """The labels of a file, each with the rubric that judged its trial, unless it says another."""
    import msgspec

    from passhat.records import read_labels
    from passhat.reviewing import now_utc, rubrics_of

    labels = read_labels(
        given["source"],
        trials,
        graders=graders_of(records),
        rater=None if given["rater"] is None else _rater(given["rater"]),
        grader=given["grader"],
        at=now_utc(),
    )
    rubrics = {name: rubrics_of(records, name) for name in {label.grader for label in labels}}
    return [
        msgspec.structs.replace(label, rubric=label.rubric or rubrics[label.grader].get(label.key, ""))
        for label in labels
    ]


def _one_label(
    reader: RunReader, given: dict[str, Any], trials: Mapping[TrialKey, str], records: Sequence[TrialRecord]
) -> Label:
    from passhat.reviewing import ReadingItem, ReviewError, new_label, rubrics_of

    task, trial, verdict = given["label"]
    arm = given["arm"] if given["arm"] is not None else reader.manifest.arms[0]
    if (arm, task, trial) not in trials:
        where = f" of arm {arm!r}" if arm else ""
        raise ReviewError(f"{reader.run_id} has no trial {trial} of task {task!r}{where}; passhat show lists them")
    graders = graders_of(records)
    if given["grader"] and given["grader"] not in graders:
        known = ", ".join(map(repr, graders)) or "none"
        raise ReviewError(f"no trial has a grade of {given['grader']!r}; the graders are: {known}")
    more = {name: given[name] for name in ("fault", "note", "grader", "blind")}
    rubric = rubrics_of(records, given["grader"]).get((arm, task, trial), "")
    return new_label(ReadingItem(arm, task, trial, "picked"), verdict, _rater(given["rater"]), rubric=rubric, **more)


def _show_agreement(reader: RunReader, grader: str, *, as_json: bool, run: str) -> int:
    from passhat.reviewing import rater_agreement
    from passhat.summary import holding, starts

    tags = dict(reader.manifest.task_tags)
    for record in reader.trials():
        tags.setdefault(record.task, record.tags)
    labels = holding(reader.labels(), starts(reader.trials()))
    pairs = rater_agreement(labels, tags=tags, grader=grader)
    if as_json:
        print_json({"schema": 1, "run": reader.run_id, "grader": grader, "pairs": pairs})
    else:
        from passhat.reporting import render_raters

        click.echo(render_raters(pairs, run=run, grader=grader, **terminal()), nl=False)
    return 0


def _show_list(reader: RunReader, items: list[ReadingItem], rater: str, grader: str, grades: str | None) -> int:
    from passhat.reviewing import progress_of, rubrics_of
    from passhat.summary import holding, starts

    labels = holding(reader.labels(), starts(reader.trials()))
    progress = progress_of(
        items, labels, rater, grader=grader, rubrics=rubrics_of(reader.trials(grades=grades), grader)
    )
    print_json(
        {
            "schema": 1,
            "run": reader.run_id,
            "rater": rater,
            "grader": grader,
            "total": progress.total,
            "done": len(progress.done),
            "left": progress.left,
        }
    )
    return 0


def _sit(reader: RunReader, items: list[ReadingItem], rater: str, given: dict[str, Any], run: str) -> int:
    from passhat.cli._reviewer import sit

    more = {name: given[name] for name in ("grader", "blind", "suite", "grades")}
    return sit(reader, items, rater, run=run, **more)
