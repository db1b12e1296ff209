"""passhat plan: how many tasks and trials?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from passhat.cli import _options as options
from passhat.cli._compare import Points
from passhat.cli._report import is_table
from passhat.cli._reports import Judging, print_json, terminal

if TYPE_CHECKING:
    from passhat.summary import Report


@click.command("plan")
@click.argument("runs", nargs=-1, metavar="[RUN [SECOND_RUN]]")
@click.option("--difference", type=Points(), metavar="DIFF", help="The difference to find: 0.05 or 5%.")
@click.option("--direction", type=click.Choice(["loss", "gain"]), help="Of the change to find; else the harder one.")
@click.option("--tasks", type=click.IntRange(min=1), metavar="N", help="Tasks, in place of the pilot's.")
@click.option("--trials", type=click.IntRange(min=1), metavar="N", help="Trials of each task, in place of the pilot's.")
@click.option("--rate", type=Points("pass rate"), metavar="RATE", help="Without a run: the pass rate to assume: 90%.")
@click.option("--response", type=Points("deviation"), metavar="SD", help="How differently tasks respond: 0.15 or 15%.")
@click.option("--power", type=float, default=0.8, show_default=True, help="How surely it shall be found.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Level of the intervals and tests.")
@options.as_json
@options.root
def command(runs: tuple[str, ...], root: Path, as_json: bool, **given: Any) -> int:
    """Say what a comparison can find and what it costs, from a pilot run or from an assumed rate.

    RUN is a run or a table; SECOND_RUN, of the same tasks by a changed agent, shows how differently tasks respond.
    """
    from passhat.planning import assumed, make_plan, pilot_of

    if len(runs) > 2:
        raise click.UsageError(f"one pilot, or two runs of the same tasks; got {len(runs)}")
    if runs and given["rate"] is not None:
        raise click.UsageError("--rate is for plans without a run; a run shows its own")
    if runs:
        reports = [_report(run, root) for run in runs]
        pilot = pilot_of(*reports, response=given["response"])
    elif given["rate"] is None:
        raise click.UsageError("name a pilot run, or assume a pass rate: passhat plan --rate 0.7 --tasks 50 --trials 5")
    else:
        pilot = assumed(
            rate=given["rate"], tasks=given["tasks"] or 20, trials=given["trials"] or 5, response=given["response"]
        )
    names = ("difference", "direction", "tasks", "trials", "power", "level")
    plan = make_plan(pilot, **{name: given[name] for name in names})
    if as_json:
        print_json(plan)
    else:
        from passhat.reporting import render_plan

        click.echo(render_plan(plan, **terminal()), nl=False)
    return 0


def _report(source: str, root: Path) -> Report:
    if is_table(source):
        return Judging().of_table(Path(source))
    from passhat.records import RunReader, find_run

    return Judging(gates=()).of_run(RunReader(find_run(source, root)))
