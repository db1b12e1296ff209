"""passhat run: suites, trial by trial, to a recorded run and its report."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from passhat.cli import _options as options
from passhat.cli._compare import show_arms
from passhat.cli._found import found_everywhere
from passhat.cli._meanwhile import loading_for_the_report
from passhat.cli._reports import Judging, Printing, aside, print_json, progress
from passhat.summary import ExitCode

if TYPE_CHECKING:
    from passhat.running import Entrance
    from passhat.suite import FoundSuite, Suite

# an exit code that says more about the whole comes first
_WORST = (
    ExitCode.OUR_FAULT,
    ExitCode.INTERRUPTED,
    ExitCode.WRONG_USE,
    ExitCode.GATE_NOT_MET,
    ExitCode.INCOMPLETE,
    ExitCode.UNDECIDED,
    ExitCode.FINE,
)

_ASKED = (
    *("trials", "concurrency", "seed", "order", "stop", "model", "judge_model", "cassette", "record", "faults"),
    *("isolation", "confine"),
)


@click.command("run")
@click.argument("paths", nargs=-1, required=True, metavar="PATH[::SUITE]...")
@click.option("--trials", type=click.IntRange(min=1), metavar="N", help="Trials of each task (default: the suite's).")
@click.option("--concurrency", type=click.IntRange(min=1), metavar="N", help="Trials at the same time.")
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="The run's seed (default: drawn, and recorded).")
@click.option("--order", type=click.Choice(["task", "round", "shuffled"]), help="The order of trials.")
@click.option(
    "--stop",
    type=click.Choice(["full", "when-decided"]),
    default="full",
    help="Leave out trials once the gates, or the comparison of the arms, are decided (never for estimating).",
)
@options.modelled
@options.judge_model
@options.doubled
@click.option(
    "--retries",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    help="Re-runs after such failures as a provider's.",
)
@options.isolated("process")
@options.confined
@options.limited
@options.chosen
@options.judged
@options.formatted
@click.option("--dry-run", is_flag=True, help="Say what it would take, and run nothing.")
@click.option("--quiet", "-q", is_flag=True, help="No progress on standard error.")
@options.root
def command(paths: tuple[str, ...], **given: Any) -> int:
    """Run suites: every task several times, graded and recorded; then report.

    PATH is a file, or a folder in which every eval_*.py is taken.
    """
    from passhat.running import entrance

    printing = Printing.asked(given)
    with entrance() as through:
        with aside():
            suites = found_everywhere(paths)
        if given["dry_run"]:
            return _foretell(suites, given)
        _check_all(suites, through, given)
        codes = [_one(found, through, given, printing) for found in suites]
    return next(code for code in _WORST if code in codes)


def _check_all(suites: list[FoundSuite], through: Entrance, given: dict[str, Any]) -> None:
    """Refuse what one of several suites can't run before the first of them spends anything."""
    from passhat.running import check_run

    asked = _asked(given)
    for found in suites:
        with aside():
            model = check_run(found.suite, through=through, **asked)
        if asked["model"] not in (None, model) and not given["quiet"]:
            click.echo(f"suite {found.suite.name} names its own model, {model}: --model isn't used for it", err=True)


def _one(found: FoundSuite, through: Entrance, given: dict[str, Any], printing: Printing) -> int:
    import passhat
    from passhat.records import called

    suite = _as_asked(found, given)
    loading = nullcontext() if given["isolation"] == "inline" else loading_for_the_report()
    with aside(), loading:
        result = passhat.run(
            suite,
            root=given["root"],
            progress=progress(quiet=given["quiet"]),
            through=through,
            retries=given["retries"],
            **_asked(given),
        )
    if not given["quiet"]:
        here = Path.cwd()
        where = result.path.relative_to(here) if result.path.is_relative_to(here) else result.path
        click.echo(f"recorded in {where}", err=True)
    judging = Judging.asked({**given, "gates": ()})  # the suite has them already
    report = judging.of_run(result.reader)
    printing.show(report, run=called(result.path))
    if printing.for_people:
        show_arms(result.path, judging)
    return report.exit_code


def _as_asked(found: FoundSuite, given: dict[str, Any]) -> Suite:
    """The suite with the command line's limits, and its gates: they are checked, recorded and judged like its own."""
    suite = options.within_limits(found.suite, given)
    return suite.replace(gates=(*suite.gates, *given["gates"])) if given["gates"] else suite


def _asked(given: dict[str, Any]) -> dict[str, Any]:
    """The options that decide what is run."""
    from passhat.suite import select

    asked = {name: given[name] for name in _ASKED}
    asked["model"] = options.named_model(given)
    ids, words, tags = given["ids"], given["expression"], given["tags"]
    if ids or words or tags:
        asked["select"] = lambda tasks: select(tasks, ids=ids, k=words, tags=tags)
    return asked


def _foretell(suites: list[FoundSuite], given: dict[str, Any]) -> int:
    from passhat.reporting import render_expected
    from passhat.running import dry_run

    expected = {
        found.suite.name: dry_run(_as_asked(found, given), root=given["root"], **_asked(given)) for found in suites
    }
    if given["as_json"]:
        print_json(expected)
    else:
        for name, one in expected.items():
            click.echo(render_expected(name, one))
    return ExitCode.FINE
