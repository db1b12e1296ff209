"""Options that several commands share."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from passhat.suite import Suite

F = TypeVar("F", bound=Callable[..., Any])


class Share(click.FloatRange):
    """A number between two others, both excluded; NaN lies nowhere."""

    def __init__(self, low: float, high: float = math.inf) -> None:
        super().__init__(low, high, min_open=True, max_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is no number", param, ctx)
        return number


class Place(click.Path):
    """A path as it is meant here and now: the import of a suite's file may go to another directory."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return Path(os.path.abspath(os.fsdecode(super().convert(value, param, ctx))))


LEVEL = Share(0.5, 1 - 1e-8)

root = click.option(
    "--root",
    type=Place(file_okay=False),
    default=".passhat",
    show_default=True,
    help="Where runs are kept.",
)
_MODEL_HELP = "The model that answers where a suite names none of its own (or NAME, with --provider)."
judge_model = click.option("--judge-model", metavar="PROVIDER/NAME", help="The model that judges.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")


def isolated(default: str | None) -> Callable[[F], F]:
    """Where trials run."""
    text = "Where trials run: a process of their own, a fresh interpreter each, or passhat's own process"
    return click.option(
        "--isolation",
        type=click.Choice(["process", "spawn", "inline"]),
        default=default,
        show_default=default is not None,
        help=f"{text}." if default else f"{text} (default: as the run had it).",
    )


confined = click.option(
    "--confine/--no-confine",
    default=None,
    help="Let a trial write only below directories of its own (default: as the suite says).",
)


def _value(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """The next option is no value."""
    if value is not None and value.startswith("-"):
        raise click.BadOptionUsage(param.name or "", f"Missing value for {param.opts[0]}")
    return value


def modelled(command: F) -> F:
    """Which model answers; `named_model` reads both options."""
    for option in (
        click.option(
            "--provider", metavar="PROVIDER", callback=_value, help="The provider of --model NAME: both or neither."
        ),
        click.option("--model", metavar="PROVIDER/NAME", callback=_value, help=_MODEL_HELP),
    ):
        command = option(command)
    return command


def named_model(given: Mapping[str, Any]) -> str | None:
    """PROVIDER/NAME, None where neither option is given; half of a pair is an error."""
    from passhat.running import selected_model

    return selected_model(given["model"], given["provider"])


def chosen(command: F) -> F:
    """Which tasks to take."""
    for option in (
        click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only tasks with this tag (repeatable)."),
        click.option("--task", "ids", multiple=True, metavar="ID", help="Only this task (repeatable)."),
        click.option("-k", "expression", metavar="WORDS", help="Only tasks that match, as in 'refund and not late'."),
    ):
        command = option(command)
    return command


def limited(command: F) -> F:
    """What the whole run may spend; `within_limits` reads the options."""
    for option in (
        click.option("--run-tokens", type=click.IntRange(min=1), metavar="N", help="Stop after so many tokens."),
        click.option("--run-seconds", type=Share(0), metavar="S", help="Stop after so many seconds."),
        click.option(
            "--run-dollars",
            type=Share(0),
            metavar="USD",
            help="Stop after so many dollars; passhat resume goes on (default: as the suite says).",
        ),
    ):
        command = option(command)
    return command


def within_limits(suite: Suite, given: Mapping[str, Any]) -> Suite:
    """The suite with the command line's limits of the whole run, where there are any."""
    import msgspec

    from passhat.facts import RUN_LIMITS

    asked = {name: given[name] for name in RUN_LIMITS if given[name] is not None}
    return suite.replace(limits=msgspec.structs.replace(suite.limits, **asked)) if asked else suite


def judged(command: F) -> F:
    """How a report treats what isn't certain."""
    for option in (
        click.option(
            "--undecided", type=click.Choice(["pass", "fail"]), help="What an undecided gate does to the exit code."
        ),
        click.option(
            "--missing",
            type=click.Choice(["bound", "fail", "exclude", "exclude-provider"]),
            help="What trials without a verdict count as (default: the suite's policy).",
        ),
        click.option(
            "--gate", "gates", multiple=True, metavar="GATE", help="A gate beside the suite's own (repeatable)."
        ),
        click.option("--level", type=LEVEL, help="Level of the intervals."),
        click.option(
            "--mix-sources",
            is_flag=True,
            help="Judge gates though several kinds of source answered (say, live and replayed).",
        ),
    ):
        command = option(command)
    return command


def formatted(command: F) -> F:
    """How a report is printed and saved."""
    for option in (
        click.option("--junit", type=Place(dir_okay=False), help="Also write JUnit XML here."),
        click.option("--html", type=Place(dir_okay=False), help="Also write one HTML page here."),
        click.option("--markdown", "as_markdown", is_flag=True, help="Print the report as Markdown."),
        as_json,
    ):
        command = option(command)
    return command


def doubled(command: F) -> F:
    """What stands between the agent and its model."""
    for option in (
        click.option(
            "--fault",
            "faults",
            multiple=True,
            metavar="TEXT",
            help="A fault: 'rate_limit rate=0.2' (repeatable).",
        ),
        click.option(
            "--record",
            type=click.Choice(["missing", "all", "none"]),
            default="none",
            help="What to record into the cassette (default: none, only replay).",
        ),
        click.option("--cassette", type=Place(dir_okay=False), help="Replay the answers in this file."),
    ):
        command = option(command)
    return command
