"""The last lines of a session: what the trials say, which weren't run, and where the record is."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from passhat.facts import ONLY_RECORDED
from passhat.pytest_plugin._parts import first_line
from passhat.pytest_plugin._refusing import COSTS
from passhat.pytest_plugin._verdict import CaseVerdict

_LISTED = 50  # from here on only cases that did not pass are listed


def write_closing(terminal: Any, verdicts: Mapping[str, CaseVerdict], recorded: Sequence[str]) -> None:
    """Write them to pytest's terminal reporter."""
    width = max(40, terminal._tw.fullwidth)
    judged = {name: verdict for name, verdict in verdicts.items() if verdict.report is not None}
    if judged:
        terminal.section("trials, with two-sided 95 % intervals", sep="-", blue=True)
    if len(judged) > _LISTED:
        quiet = [verdict for verdict in judged.values() if verdict.outcome == "passed"]
        terminal.line(f"{len(quiet)} cases passed; they are in the report{_recorded_only(quiet)}")
        judged = {name: verdict for name, verdict in judged.items() if verdict.outcome != "passed"}
    for name, verdict in judged.items():
        terminal.line(f"{name}  {verdict.headline}")
        for line in textwrap.wrap(
            verdict.aside, width, initial_indent="    ", subsequent_indent="    ", **_WHOLE_WORDS
        ):
            terminal.line(line)
    unasked = sum(verdict.headline == first_line(COSTS) for verdict in verdicts.values())
    if unasked:
        tests = "test with trials was" if unasked == 1 else "tests with trials were"
        for line in textwrap.wrap(f"{unasked:,} {tests} skipped, since {COSTS}", width, **_WHOLE_WORDS):
            terminal.line(line)
    for line in recorded:
        terminal.line(line)


_WHOLE_WORDS: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}


def _recorded_only(verdicts: Iterable[CaseVerdict]) -> str:
    """How those went that nothing decides, since they pass whatever their trials do."""
    rows = [
        verdict.report.by_task[0]
        for verdict in verdicts
        if verdict.report is not None and ("gate", ONLY_RECORDED) in verdict.properties
    ]
    if not rows:
        return ""
    passed, trials = sum(row.c for row in rows), sum(row.n for row in rows)
    return f"; of {len(rows):,} that are recorded only, {passed:,} of {trials:,} trials passed"
