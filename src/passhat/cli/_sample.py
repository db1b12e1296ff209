"""passhat sample: which trials a release review reads, and who reads which."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from passhat.cli import _options as options
from passhat.cli._reports import print_json, terminal


def _words(ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, ...]:
    """Words separated by commas, in the order given."""
    return tuple(word.strip() for word in value.split(",")) if value else ()


@click.command("sample")
@click.argument("run", default="last")
@click.option("--n", "n", type=click.IntRange(min=1), default=30, show_default=True, help="How many trials to draw.")
@click.option(
    "--by",
    callback=_words,
    metavar="A,B,…",
    default="task,status",
    show_default=True,
    help="What to spread them over: task, status, verdict, tag, family, arm.",
)
@click.option(
    "--allocate",
    "allocation",
    type=click.Choice(["proportional", "even"]),
    default="proportional",
    show_default=True,
    help="As many of a stratum as it has, or the same number of each (estimates then need the weights).",
)
@click.option(
    "--readers", callback=_words, metavar="NAME,…", default="", help="Who reads: the trials are dealt out to them."
)
@click.option(
    "--overlap",
    type=click.FloatRange(0, 1),
    default=0.2,
    show_default=True,
    help="The share that two people read, to measure agreement.",
)
@click.option("--seed", type=int, help="Another draw (default: the run's seed).")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the plan here, for review --plan.")
@options.as_json
@options.root
def command(run: str, root: Path, out: Path | None, seed: int | None, as_json: bool, **given: Any) -> int:
    """Draw trials of RUN at random, spread over strata, and plan who reads which; each keeps its probability."""
    _check(click.get_current_context(), given["readers"])
    from passhat.records import RunReader, called, find_run
    from passhat.reviewing import sampling_plan, write_plan

    reader = RunReader(find_run(run, root))
    seed = reader.manifest.seed if seed is None else seed
    plan = sampling_plan(reader.trials(), reader.run_id, seed=seed, **given)
    if out is not None:
        write_plan(plan, out)
    if as_json:
        print_json(plan)
    else:
        from passhat.reporting import render_reading_plan

        file = "" if out is None else str(out)
        click.echo(
            render_reading_plan(plan, run=called(reader.path) if run == "last" else run, file=file, **terminal()),
            nl=False,
        )
    return 0


def _check(ctx: click.Context, readers: tuple[str, ...]) -> None:
    """An overlap that was asked for needs two who read."""
    if len(readers) < 2 and ctx.get_parameter_source("overlap") is not ParameterSource.DEFAULT:
        raise click.UsageError("--overlap is the share that two people read: name at least two, --readers ann,ben")
