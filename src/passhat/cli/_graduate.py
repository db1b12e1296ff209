"""passhat graduate: which tasks are proved, and which fell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from passhat.cli import _options as options
from passhat.cli._found import NoSuite, found_suites
from passhat.cli._reports import print_json, terminal
from passhat.facts import PasshatError

if TYPE_CHECKING:
    from passhat.history import Found, LeftOut, TaskRecord
    from passhat.suite import Suite


class WrongOrder(PasshatError):
    """A regression suite where a capability suite belongs, or one suite twice."""


class CannotMove(PasshatError):
    """Tasks that aren't lines of a file."""


@click.command("graduate")
@click.argument("capability", metavar="PATH::CAPABILITY")
@click.argument("regression", required=False, metavar="[PATH::REGRESSION]")
@click.option("--bar", type=options.Share(0, 1), default=0.8, show_default=True)
@click.option(
    "--last", type=click.IntRange(min=1), default=3, show_default=True, help="How many of the newest whole runs count."
)
@click.option("--level", type=options.LEVEL, default=0.95, show_default=True)
@click.option("--write", is_flag=True, help="Move the tasks' lines between the suites' JSONL files.")
@options.as_json
@options.root
def command(capability: str, regression: str | None, write: bool, as_json: bool, root: Path, **numbers: Any) -> int:
    """Propose tasks of a capability suite that are proved, and send back those of a regression suite that fell.

    A task is proved when its trials over the newest runs, of the task and graders as they are now, prove the bar. Runs
    that were broken off or stopped early don't count, and are named.
    """
    from passhat.history import graduation, move_lines
    from passhat.running import entrance

    with entrance():
        first = _suite(capability)
        second = None if regression is None else _suite(regression)
        _check_order(first, second, capability, regression)
        bounds = {"bar": numbers["bar"], "level": numbers["level"]}
        runs, left_out = _runs(first, root, numbers["last"])
        records = _records(first, runs, bounds)
        fallen: tuple[TaskRecord, ...] = ()
        if second is not None:
            more, out = _runs(second, root, numbers["last"], may_be_new=True)
            fallen = _records(second, more, bounds)
            runs, left_out = [*runs, *more], (*left_out, *out)
        names = [each.manifest.run_id for each in runs]
        found = graduation(records, fallen, **bounds, runs=names, left_out=left_out)
        if write:
            if second is None:
                raise CannotMove(
                    "--write needs the regression suite to move to: passhat graduate CAPABILITY REGRESSION"
                )
            low, high = _file(first), _file(second)
            move_lines([each.task for each in found.proved], low, high)
            move_lines([each.task for each in found.fell], high, low)
    if as_json:
        print_json(found)
    else:
        from passhat.reporting import render_graduation

        click.echo(render_graduation(found, moved=write, **terminal()), nl=False)
    return 0


def _suite(path: str) -> Suite:
    suites = found_suites(path)
    if len(suites) > 1:
        raise NoSuite(f"{path} holds several suites; name one: {', '.join(each.address for each in suites)}")
    return suites[0].suite


def _check_order(first: Suite, second: Suite | None, capability: str, regression: str | None) -> None:
    if second is not None and (second.folder, second.tasks) == (first.folder, first.tasks):
        raise WrongOrder(
            f"{capability} and {regression} have the same tasks, and nothing moves from a suite to itself; name the "
            f"regression suite second, or leave it out: passhat graduate {capability}"
        )
    if first.kind != "regression":
        return
    way = f"name the capability suite first: passhat graduate PATH::CAPABILITY {capability}"
    if second is not None and second.kind == "capability":
        way = f"the other way round: passhat graduate {regression} {capability}"
    raise WrongOrder(f"suite {first.name!r} is a regression suite, and tasks graduate from a capability suite; {way}")


def _runs(suite: Suite, root: Path, last: int, *, may_be_new: bool = False) -> tuple[list[Found], tuple[LeftOut, ...]]:
    from passhat.history import HistoryError, collect, evidence

    try:
        found, _ = collect(suite.name, [root])
    except HistoryError:
        if may_be_new:
            return [], ()
        raise
    return evidence(found, last)


def _records(suite: Suite, runs: Sequence[Found], bounds: dict[str, float]) -> tuple[TaskRecord, ...]:
    from passhat.history import task_records

    return task_records(runs, {task.id: task.hash for task in suite.load_tasks()}, **bounds)


def _file(suite: Suite) -> Path:
    if not isinstance(suite.tasks, str | Path):
        raise CannotMove(f"suite {suite.name!r} has its tasks in Python; only lines of a JSONL file can be moved")
    return suite.folder / suite.tasks
