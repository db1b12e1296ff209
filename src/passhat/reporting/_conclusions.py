"""The last lines: findings, gates, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from passhat.facts import named
from passhat.reporting._blocks import BAD, DIM, GOOD, STRONG, WARN, Page
from passhat.reporting._findings import SIGNS, folded
from passhat.reporting._headline import more_words
from passhat.reporting._tables import worst_first
from passhat.reporting._text import clean
from passhat.summary import GateRow, Report

_VERDICT = {"met": ("✓", GOOD), "not met": ("✗", BAD), "undecided": ("?", WARN), "incomplete": ("!", BAD)}


_LISTED = 12  # of gates of single tasks that are met, so many are listed


def _listed(gates: Sequence[GateRow]) -> list[GateRow]:
    """The gates to show: all that are of the whole run or aren't met, and the first of the others."""
    quiet = [gate for gate in gates if gate.task and gate.verdict == "met"][_LISTED:]
    return [gate for gate in gates if gate not in quiet]


def conclusions(page: Page, report: Report, run: str | None) -> None:
    """Findings, gates, next commands."""
    if report.findings:
        page.heading("Before you rely on this")
        for finding in folded(report):
            sign, style = SIGNS[finding.severity]
            page.bullet(sign, style, (clean(finding.message, 800), DIM if finding.severity == "note" else ""))
    if report.gates:
        page.heading("Gates")
        for gate in _listed(report.gates):
            sign, style = _VERDICT[gate.verdict]
            page.bullet(sign, style, (clean(gate.label, 200), STRONG), "  ", (gate.verdict, style))
            page.line((clean(gate.message, 400), DIM), indent=4)
            for words in more_words(gate):
                page.line((words, DIM), indent=4)
        if (more := len(report.gates) - len(_listed(report.gates))) > 0:
            page.line((f"… and {more} more, all met", DIM), indent=2)
    if outcome := outcome_of(report):
        page.gap()
        page.line(outcome)
    if run:
        page.heading("Next")
        for command, why in next_commands(report, run):
            if page.fits(f"{command}   {why}", 2):
                page.line(command, (f"   {why}", DIM), indent=2)
            else:
                page.whole(command, indent=2)
                page.line((why, DIM), indent=6)


def outcome_of(report: Report) -> tuple[str, str] | None:
    """What the exit code means here; None when all is fine."""
    return (f"Exit code {report.exit_code}: {report.exit_reason}.", BAD) if report.exit_reason else None


def _resuming(report: Report, name: str) -> list[tuple[str, str]]:
    commands = []
    if report.run.state == "damaged":
        words = "cut off what others wrote, and run what is missing"
        if report.isolation == "inline":
            return [(f"passhat resume {name}", words)]
        return [(f"passhat resume {name} --confine", f"{words}, so that no trial can write there")]
    if {"not_started", "interrupted"} & set(report.missing):
        commands.append((f"passhat resume {name}", "run what is missing"))
    elif report.refused_files and report.regrade is None:
        files = named([clean(file, 200) for file in report.refused_files])
        words = f"look at {files} first, which changed during the run, and restore or remove it"
        commands.append((f"passhat regrade {name}", f"{words}; resume refuses it too"))
    elif "grader_error" in report.missing and report.regrade is None:
        commands.append((f"passhat resume {name}", "grade again what graders failed on, without running agents"))
        commands.append((f"passhat regrade {name}", "the same by mended graders, when the fault is theirs"))
    if "unresolved" in report.missing and report.regrade is None:
        commands.append((f"passhat resume {name} --retry unresolved", "ask again where a judge couldn't decide"))
    return commands


def next_commands(report: Report, run: str) -> list[tuple[str, str]]:
    """Commands worth typing next, and why."""
    name = shlex.quote(clean(run))
    commands = _resuming(report, name) if report.run.source_file is not None else []  # a session of tests has no suite
    if len(report.run.arms) > 1:
        commands.append((f"passhat compare {name}", "the arms, side by side"))
    failing = next((row for row in worst_first(report.by_task) if "-" in row.outcomes), None)
    if failing is not None:
        task, trial = shlex.quote(clean(failing.task)), failing.outcomes.index("-")
        commands.append((f"passhat show {name} {task} {trial}", "read a failed trial"))
        commands.append((f"passhat review {name}", "read them one by one, and say whose fault they are"))
    needed = [gate.needed_trials for gate in report.gates if gate.needed_trials is not None and not gate.task]
    if needed and report.run.source_file is not None:
        run_again = f"passhat run {shlex.quote(clean(report.run.source_file))} --trials {max(needed)}"
        commands.append((run_again, "about so many decide the gate, if the rates stay as they are"))
    commands.append((f"passhat show {name}", "list all trials"))
    commands.append((f"passhat report {name} --json", "the numbers for a program"))
    return commands
