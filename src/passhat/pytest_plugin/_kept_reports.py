"""Lets go of the trials' reports that pytest's terminal keeps for its summary, where that shows none of them."""

from __future__ import annotations

from typing import Any

import pytest


class KeptReports:
    """What the terminal keeps under no word. Each report of a trial is some seven objects, of which a session of many
    trials would hold three a trial until it ends; the verdict speaks for them, but in the list of ``--durations``."""

    def __init__(self, config: pytest.Config) -> None:
        terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
        needed = terminal is None or config.option.durations is not None
        self._kept: list[Any] = [] if needed else terminal.stats.setdefault("", [])
        self._last: object = None  # the latest report of a trial; the terminal may not have it yet

    def next(self, report: object, *, of_trial: bool) -> None:
        """A report has come and nobody else has seen it: the one before it is kept by now, if at all."""
        if self._kept and self._kept[-1] is self._last:
            self._kept.pop()
        self._last = report if of_trial else None
