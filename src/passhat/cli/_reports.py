"""From a run directory or a table to a printed report and an exit code."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from passhat.cli._outputs import Output

if TYPE_CHECKING:
    from passhat.records import RunReader
    from passhat.reporting import ProgressLine
    from passhat.summary import Report


@dataclass(frozen=True)
class Judging:
    """The options of `passhat.cli._options.judged`."""

    missing: Any = None
    undecided: str | None = None
    gates: tuple[str, ...] = ()
    level: float | None = None
    mix_sources: bool = False

    @classmethod
    def asked(cls, given: Mapping[str, Any]) -> Judging:
        """What the command line asked for."""
        return cls(given["missing"], given["undecided"], given["gates"], given["level"], given["mix_sources"])

    def of_run(self, reader: RunReader, *, grades: str | None = None, arm: str | None = None) -> Report:
        """The report of a run directory."""
        import msgspec

        from passhat.summary import EarlierLooks, summarize

        manifest = reader.manifest
        if grades is not None and (again := reader.metrics(grades=grades)):
            manifest = msgspec.structs.replace(manifest, metrics=again)
        records, labels = reader.trials(grades=grades), reader.labels()
        looks = EarlierLooks(manifest, reader.path.parent.parent).of((*manifest.gates, *self.gates), arm=arm)
        options = self._options(manifest.gates)
        return summarize(manifest, records, labels=labels, arm=arm, looks=looks, regrade=grades, **options)

    def of_table(self, path: Path) -> Report:
        """The report of a table of outcomes."""
        from passhat.importing import read_table
        from passhat.summary import summarize

        table = read_table(path)
        return summarize(table.manifest, table.records, planned=0, **self._options(()))

    def _options(self, own: tuple[str, ...]) -> dict[str, Any]:
        return {
            "missing": self.missing,
            "undecided": self.undecided,
            "level": self.level,
            "gates": (*own, *self.gates) if self.gates else None,
            "mix_sources": self.mix_sources,
        }


@dataclass(frozen=True)
class Printing:
    """The options of `passhat.cli._options.formatted`."""

    as_json: bool = False
    as_markdown: bool = False
    html: Output | None = None
    junit: Output | None = None

    @classmethod
    def asked(cls, given: Mapping[str, Any]) -> Printing:
        """What the command line asked for: to be called before anything is run."""
        html, junit = (None if path is None else Output.at(path) for path in (given["html"], given["junit"]))
        return cls(given["as_json"], given["as_markdown"], html, junit)

    @property
    def for_people(self) -> bool:
        """Whether the report is read on a terminal, by nobody's program."""
        return not self.as_json and not self.as_markdown

    def show(self, report: Report, run: str | None = None) -> None:
        """Print a report on standard output, and write the files that were asked for."""
        from passhat import reporting

        if self.as_json:
            click.echo(reporting.render_json(report))
        elif self.as_markdown:
            click.echo(reporting.render_markdown(report, run=run))
        else:
            click.echo(reporting.render_terminal(report, run=run, **terminal()))
        if self.html is not None:
            self.html.write(reporting.render_html(report, run=run))
        if self.junit is not None:
            self.junit.write(reporting.render_junit(report))


def print_json(value: Any) -> None:
    """Print what a command says as JSON, in lines for people."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value)).decode())


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """What user code prints in this process goes to standard error: standard output is for the report."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


def terminal() -> dict[str, Any]:
    """What standard output can show: its width, colour, and characters beyond ASCII."""
    from passhat.reporting import look_of

    look = look_of(sys.stdout)
    return {"width": look.width, "color": look.color, "unicode": look.unicode}


def progress(*, quiet: bool) -> ProgressLine | None:
    """How a run goes, on standard error."""
    from passhat.reporting import ProgressLine

    return None if quiet else ProgressLine(sys.stderr)
