"""passhat compare: did it get better?"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from passhat.cli import _options as options
from passhat.cli._report import is_table
from passhat.cli._reports import Judging, print_json, terminal
from passhat.facts import Manifest, PasshatError

if TYPE_CHECKING:
    from passhat.summary import Report


class NothingToCompare(PasshatError):
    """One side alone, or a side that can't be found."""


class Points(click.ParamType[Any]):
    """A difference of rates, or another share that ``name`` says: 0.05, 5% or "5 points"."""

    def __init__(self, name: str = "difference") -> None:
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value).strip().lower()
        number = text.removesuffix("%").removesuffix("points").removesuffix("pp").strip()
        try:
            share = float(number) / (1 if number == text else 100)
        except ValueError:
            self.fail(f"{value!r} is no {self.name}; write 0.05, 5% or '5 points'", param, ctx)
        if not 0 <= share < 1:
            self.fail(f"{value!r} must lie in 0..1; for 5 points write 0.05 or 5%", param, ctx)
        return share


@click.command("compare")
@click.argument("sides", nargs=-1, required=True, metavar="RUN | BASE CANDIDATE...")
@click.option("--margin", type=Points(), default=0.0, metavar="DIFF", help="The loss that is bearable: 0.05 or 5%.")
@click.option("--baseline", metavar="ARM", help="The arm that the others are compared with.")
@click.option(
    "--of",
    type=click.Choice(["these-tasks", "tasks-like-these"]),
    default="these-tasks",
    show_default=True,
    help="What the verdict is about.",
)
@click.option(
    "--allow-different",
    multiple=True,
    type=click.Choice(["graders", "tasks", "sources"]),
    help="Compare although these differ (repeatable).",
)
@click.option("-k", "ks", multiple=True, type=click.IntRange(min=2), help="Also pass@k and pass^k (repeatable).")
@click.option("--no-regressions", is_flag=True, help="Exit with 1 if any single task got worse.")
@click.option("--level", type=options.LEVEL, default=0.95, show_default=True)
@click.option("--missing", type=click.Choice(["bound", "fail", "exclude", "exclude-provider"]))
@click.option(
    "--undecided",
    type=click.Choice(["pass", "fail"]),
    default="pass",
    show_default=True,
    help="What a verdict of can't tell does to the exit code.",
)
@options.as_json
@options.root
def command(sides: tuple[str, ...], as_json: bool, **given: Any) -> int:
    """Compare candidates with a baseline, task by task.

    Each side is a run (its id, path, or "last"), a CSV or JSONL table, or an arm of either: RUN::ARM. One side alone is
    compared by its arms. Exits with 1 when a candidate is worse, and by the margin or more; with 4 when nothing can be
    told and --undecided fail.
    """
    from passhat.comparing import compare

    names: list[str] | None
    if len(sides) == 1:
        names, reports = _by_arm(sides[0], given)
    else:
        if given["baseline"] is not None:
            raise click.UsageError("--baseline names an arm of a single run; with several sides the first is it")
        reports = [_side(side, given) for side in sides]
        names = None if len(set(sides)) == len(sides) == len({r.run.run_id for r in reports}) else list(sides)
    found = compare(
        *reports,
        names=names,
        margin=given["margin"],
        level=given["level"],
        of="these tasks" if given["of"] == "these-tasks" else "tasks like these",
        ks=given["ks"] or None,
        allow_different=given["allow_different"],
        no_regressions=given["no_regressions"],
        undecided=given["undecided"],
    )
    if as_json:
        print_json(found)
    else:
        from passhat.reporting import render_comparison

        click.echo(render_comparison(found, **terminal()), nl=False)
    return found.exit_code


def show_arms(run: Path, judging: Judging) -> None:
    """Print the verdict on each arm of a run beside its baseline; nothing where it has one arm."""
    from passhat.comparing import compare
    from passhat.records import RunReader
    from passhat.reporting import render_verdicts

    manifest = RunReader(run).manifest
    if len(manifest.arms) < 2:
        return
    level = manifest.level if judging.level is None else judging.level
    asked = {"root": run.parent.parent, "missing": judging.missing, "level": level, "baseline": None}
    names, reports = _by_arm(str(run), asked)
    click.echo(render_verdicts(compare(*reports, names=names, level=level), **terminal()), nl=False)


def _by_arm(side: str, given: dict[str, Any]) -> tuple[list[str], list[Report]]:
    place, colons, arm = side.rpartition("::")
    if colons and not Path(side).exists():
        raise NothingToCompare(
            f"{side} is one arm, and a comparison has two sides: passhat compare {place} compares the arms of the run, "
            f"passhat compare {place}::BASE {place}::{arm} two of them"
        )
    opened = _Opened.of(side, given["root"], given["missing"], given["level"])
    names = opened.arms(given["baseline"])
    return names, [opened.report(name) for name in names]


def _side(side: str, given: dict[str, Any]) -> Report:
    place, colons, arm = side.rpartition("::")
    opened = _Opened.of(place if colons else side, given["root"], given["missing"], given["level"])
    return opened.report(arm if colons else None)


@dataclass(frozen=True)
class _Opened:
    """A run directory or a table, ready to be summarised by arm."""

    manifest: Manifest
    place: Path
    missing: Any
    level: float

    @classmethod
    def of(cls, side: str, root: Path, missing: Any, level: float) -> _Opened:
        if is_table(side):
            from passhat.importing import read_table

            return cls(read_table(side).manifest, Path(side), missing, level)
        from passhat.records import RunReader, find_run

        path = find_run(side, root)
        return cls(RunReader(path).manifest, path, missing, level)

    def arms(self, baseline: str | None) -> list[str]:
        """The arms, the baseline first."""
        arms = self.manifest.arms
        if len(arms) < 2:
            from passhat.records import called

            name = shlex.quote(str(self.place) if is_table(str(self.place)) else called(self.place))
            raise NothingToCompare(
                f"{self.manifest.run_id} has one arm; name a second run: passhat compare {name} CANDIDATE"
            )
        first = baseline if baseline is not None else self.manifest.baseline or arms[0]
        self._known(first, arms)
        return [first, *(arm for arm in arms if arm != first)]

    def report(self, arm: str | None) -> Report:
        """The report of an arm; without a name that of the baseline."""
        from passhat.summary import summarize

        if arm is not None:
            self._known(arm, self.manifest.arms)
        planned: int | None = None
        if is_table(str(self.place)):
            from passhat.importing import read_table

            records: Any = read_table(self.place).records
            planned = 0
        else:
            from passhat.records import RunReader

            records = RunReader(self.place).trials()
        return summarize(
            self.manifest,
            records,
            arm=arm,
            missing=self.missing,
            level=self.level,
            ks=(1,),
            gates=(),
            planned=planned,
        )

    def _known(self, arm: str, arms: Sequence[str]) -> None:
        if arm not in arms:
            raise NothingToCompare(f"{self.manifest.run_id} has no arm {arm!r}; it has {', '.join(map(repr, arms))}")
