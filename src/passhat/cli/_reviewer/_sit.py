"""From a reading list to a terminal, and back to the shell with a word on what was done."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from passhat.cli._found import tasks_as_run
from passhat.cli._reviewer._desk import Desk, Sitting
from passhat.cli._reviewer._keys import Keys, NoTerminal
from passhat.cli._reviewer._screen import Screen
from passhat.facts import Task, Transcript, TrialKey, TrialRecord, standing
from passhat.records import RecordError, append_labels, sitting_of, workspace_content
from passhat.reporting import Look, TrialPage, clean, look_of, trial_page
from passhat.reviewing import Progress, ReadingItem, progress_of, rubrics_of
from passhat.summary import ExitCode, holding, starts

if TYPE_CHECKING:
    from passhat.records import RunReader, WorkspaceContent

_AT_ONCE = 1_000  # trials of a sitting: their records are kept in memory


def sit(
    reader: RunReader,
    items: Sequence[ReadingItem],
    rater: str,
    *,
    grader: str = "",
    blind: bool = False,
    suite: str | None = None,
    grades: str | None = None,
    run: str = "",
) -> int:
    """Let somebody read. ``suite`` is where the tasks' texts are, ``grades`` the regrading whose grades are shown.

    Returns the exit code. Raises `NoTerminal`, with the way to label without one.
    """
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    with sitting_of(reader.path, rater, grader=grader) if at_terminal else contextlib.nullcontext():
        return _read(reader, items, rater, grader, blind=blind, suite=suite, grades=grades, run=run)


def _read(
    reader: RunReader,
    items: Sequence[ReadingItem],
    rater: str,
    grader: str,
    *,
    blind: bool,
    suite: str | None,
    grades: str | None,
    run: str,
) -> int:
    labels = holding(reader.labels(every=True), starts(reader.trials()))
    rubrics = rubrics_of(reader.trials(grades=grades), grader)
    progress = progress_of(items, standing(labels), rater, grader=grader, rubrics=rubrics)
    if not progress.left:
        click.echo(_nothing_left(progress, rater))
        if progress.total:
            _next(reader, run, grader, grades)
        return ExitCode.FINE
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise _no_terminal("standard input or output is no terminal", run)
    look = look_of(sys.stdout)
    left = progress.left[:_AT_ONCE]
    records = _records(reader, {item.key for item in left}, grades)
    sitting = Sitting(
        rater=rater,
        title=f"{clean(reader.manifest.suite, 40)}, read by {clean(rater, 40)}"
        + (f", on {clean(grader, 40)}" if grader else "")
        + ", blind" * blind,
        left=[item for item in left if item.key in records],
        done=len(progress.done),
        records=records,
        render=_Pages(reader, look, {} if suite is None else tasks_as_run(suite, reader)),
        write=lambda label: append_labels(reader.path, [label]),
        grader=grader,
        blind=blind,
        seen={label.key for label in labels if label.rater == rater},
    )
    try:
        with Screen(look) as screen, Keys() as keys:
            given, left_with = Desk(sitting, screen, keys).run()
    except NoTerminal as error:
        raise _no_terminal(str(error), run) from None
    remaining = progress.total - len(progress.done) - given
    click.echo(f"{given} judged now, {progress.total - remaining} of {progress.total} in all", nl=False)
    click.echo(": the same command goes on with the rest" if remaining else ": done")
    if not remaining:
        _next(reader, run, grader, grades)
    return ExitCode.INTERRUPTED if left_with in ("ctrl-c", "stop") else ExitCode.FINE


def _next(reader: RunReader, run: str, grader: str, grades: str | None) -> None:
    """The command that makes something of the verdicts."""
    name = shlex.quote(clean(run)) or "RUN"
    raters = {label.rater for label in reader.labels() if label.grader == grader}
    of = f" --grader {shlex.quote(clean(grader))}" if grader else ""
    by = f" --grades {shlex.quote(clean(grades))}" if grades else ""
    if len(raters) > 1:
        click.echo(f"next: passhat review {name}{of} --agreement    how far {len(raters)} raters agree")
    if grader:
        click.echo(f"next: passhat calibrate {name}{of}{by}    the judge beside people")
    else:
        click.echo(f"next: passhat report {name}{by}    the rates, with what people found")


def _records(reader: RunReader, wanted: set[TrialKey], grades: str | None) -> dict[TrialKey, TrialRecord]:
    """The records of some trials."""
    keyed = ((record.key, record) for record in reader.trials(grades=grades))
    return {key: record for key, record in keyed if key in wanted}


def _nothing_left(progress: Progress, rater: str) -> str:
    if not progress.total:
        return "there is nothing to read: no trial is of the kinds asked for"
    every = "the one trial" if progress.total == 1 else f"all {progress.total} trials"
    return f"{clean(rater, 60)} has judged {every} of this list"


def _no_terminal(why: str, run: str) -> NoTerminal:
    name = clean(run) or "RUN"
    return NoTerminal(
        f"{why}, and review reads keys; without one: passhat review {name} --label TASK TRIAL VERDICT, "
        f"or passhat review {name} --from labels.jsonl"
    )


class _Pages:
    """Makes pages of trials, and keeps the last transcript."""

    def __init__(self, reader: RunReader, look: Look, tasks: Mapping[str, Task]) -> None:
        self._reader = reader
        self._look = look
        self._tasks = tasks
        self._last: tuple[TrialRecord, tuple[Transcript | None, WorkspaceContent | None, str]] | None = None

    def __call__(self, record: TrialRecord, *, columns: int, opened: Sequence[int], blind: bool) -> TrialPage:
        transcript, left, problem = self._read(record)
        if problem:
            record = msgspec.structs.replace(record, notes=(*record.notes, problem))
        look = Look(max(20, columns), self._look.color, self._look.unicode)
        task = self._tasks.get(record.task)
        return trial_page(record, transcript, look=look, task=task, left=left, opened=opened, blind=blind)

    def _read(self, record: TrialRecord) -> tuple[Transcript | None, WorkspaceContent | None, str]:
        """The transcript, what the trial left, and what can't be read: that stops nobody from reading the rest."""
        if self._last is None or self._last[0] is not record:
            transcript, left, problem = None, None, ""
            try:
                transcript = self._reader.transcript(record)
                archive = self._reader.workspace(record)
                left = None if archive is None else workspace_content(archive)
            except RecordError as error:
                problem = str(error)
            self._last = record, (transcript, left, problem)
        return self._last[1]
