"""passhat show: a run's trials, or one trial with its transcript."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from passhat.cli import _options as options
from passhat.cli._report import is_table
from passhat.cli._reports import print_json, terminal
from passhat.facts import PasshatError

if TYPE_CHECKING:
    from passhat.facts import TrialRecord
    from passhat.records import RunReader


class NoSuchTrial(PasshatError):
    """The run holds no such task or trial."""


@click.command("show")
@click.argument("run", default="last")
@click.argument("task", required=False)
@click.argument("trial", required=False, type=click.IntRange(min=0))
@click.option("--arm", metavar="NAME", help="Trials of this arm only.")
@click.option("--failed", is_flag=True, help="Only trials that didn't pass.")
@click.option("--suite", metavar="PATH", help="Show the task's input and what was expected, from this suite.")
@click.option("--full", is_flag=True, help="Don't shorten long texts.")
@options.as_json
@options.root
def command(
    run: str,
    task: str | None,
    trial: int | None,
    arm: str | None,
    failed: bool,
    suite: str | None,
    full: bool,
    as_json: bool,
    root: Path,
) -> int:
    """List a run's trials; with TASK those of one task; with TRIAL everything that happened in one.

    TASK may name the trial too: TASK#1, as reports write it, or a trial's id in pytest, "test_x[trial2of3]".
    """
    from passhat.records import RunReader, find_run

    if is_table(run):
        raise NoSuchTrial(f"{run} is a table of outcomes: it has no transcripts to show. passhat report {run} reads it")
    reader = RunReader(find_run(run, root))
    if task is not None:
        task, trial, arm = _named(reader, task, trial, arm)
    if suite is not None and (trial is None or as_json):
        raise NoSuchTrial("--suite adds to one trial on a screen: name its TASK and TRIAL, without --json")
    found = list(_matching(reader, task, trial, arm))
    if not found:
        raise NoSuchTrial(_missing(reader, task, trial, arm))
    records = [record for record in found if not (failed and record.passed is True)]
    if as_json:
        _print_json(reader, records, whole=trial is not None)
    elif not records:
        click.echo(f"None failed: {f'all {len(found)} trials' if len(found) > 1 else 'the trial'} passed")
    elif trial is not None:
        _print_trial(reader, records, full=full, suite=suite)
    else:
        from passhat.reporting import render_trials

        click.echo(render_trials(reader.manifest, records, task=task, **terminal()))
    return 0


def _named(reader: RunReader, task: str, trial: int | None, arm: str | None) -> tuple[str, int | None, str | None]:
    """What the name of a task says of trial and arm, where the command line doesn't say it."""
    from passhat.cli._named import named_trial

    if trial is not None:
        return task, trial, arm
    found, number, of_arm = named_trial(task, {(record.task, record.arm) for record in reader.trials()})
    return found, number, arm or of_arm


def _matching(reader: RunReader, task: str | None, trial: int | None, arm: str | None) -> Iterator[TrialRecord]:
    for record in reader.trials():
        if task in (None, record.task) and trial in (None, record.trial) and arm in (None, record.arm):
            yield record


def _missing(reader: RunReader, task: str | None, trial: int | None, arm: str | None) -> str:
    from difflib import get_close_matches

    known = sorted({record.task for record in reader.trials()})
    if not known:
        return f"{reader.run_id} has no trials yet"
    if arm is not None and arm not in (arms := reader.manifest.arms):
        return f"{reader.run_id} has no arm {arm!r}; it has {', '.join(map(repr, arms))}"
    if task in known and trial is not None:
        return f"{reader.run_id}: task {task!r} has no trial {trial}"
    if task is None or task in known:
        return f"{reader.run_id}: arm {arm!r} has no trial{'' if task is None else f' of task {task!r}'} yet"
    near = get_close_matches(task or "", known, n=3)
    hint = f"near it: {', '.join(near)}" if near else f"it has {', '.join(known[:8])}"
    return f"{reader.run_id} has no task {task!r}; {hint}"


def _print_trial(reader: RunReader, records: list[TrialRecord], *, full: bool, suite: str | None) -> None:
    from passhat.cli._found import tasks_as_run
    from passhat.reporting import render_trial

    tasks = {} if suite is None else tasks_as_run(suite, reader)
    for record in records:
        task = tasks.get(record.task)
        click.echo(render_trial(record, reader.transcript(record), task=task, full=full, **terminal()))


def _print_json(reader: RunReader, records: list[TrialRecord], *, whole: bool) -> None:
    rows = [{"record": r, "transcript": reader.transcript(r)} if whole else r for r in records]
    print_json(rows)
