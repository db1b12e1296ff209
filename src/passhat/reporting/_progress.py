"""How a run is going: one line that keeps changing on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from passhat.facts import RULES, Counts, Status, TrialRecord, count
from passhat.reporting._console import Look, look_of
from passhat.reporting._text import clean, dollars, rate, seconds, tokens

if TYPE_CHECKING:
    from passhat.running import PlannedTrial, Totals

_REDRAW = 0.1  # seconds between two drawings of the line
_LINES = 20  # plain lines for a whole run
_SILENCE = 60.0  # seconds after which a plain line comes in any case
_BAR = 16


class ProgressLine:
    """Watches a run (`passhat.running.Progress`) and writes how it goes to ``stream``, usually stderr.

    On a terminal one line is drawn again and again; elsewhere about twenty lines are written in all, and one a minute.
    Give a ``look`` and a ``clock`` to decide what is otherwise found out.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        look: Look | None = None,
        live: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._look = look or look_of(stream)
        self._live = stream.isatty() if live is None else live
        self._clock = clock
        self._drawn = float("-inf")
        self._written = 0
        self._arms = Arms()

    def waiting(self, what: str) -> None:
        """The run hasn't begun yet."""
        self._stream.write(f"not yet begun: {clean(what, 500)}\n")
        self._stream.flush()

    def started(self, planned: PlannedTrial, totals: Totals) -> None:
        """A trial begins."""
        self._arms.expect(planned.arm)
        if self._live:
            self._draw(totals)

    def finished(self, record: TrialRecord, totals: Totals) -> None:
        """A trial is recorded."""
        self._arms.see(record)
        if self._live:
            self._draw(totals)
            return
        step = max(1, totals.planned // _LINES)
        if totals.done - self._written >= step or self._clock() - self._drawn >= _SILENCE:
            self._write(totals)

    def ended(self, state: str, totals: Totals) -> None:
        """The run is over: the last line stays."""
        if self._live:
            self._draw(totals, force=True)
            self._stream.write("\n")
            self._stream.flush()
        elif self._written != totals.done:
            self._write(totals)

    def _draw(self, totals: Totals, *, force: bool = False) -> None:
        now = self._clock()
        if not force and now - self._drawn < _REDRAW:
            return
        self._drawn = now
        room = self._look.width - 1
        parts = [
            f"{_bar(totals, unicode=self._look.unicode)} {totals.done}/{totals.planned}",
            *said(totals, self._arms),
        ]
        line = parts[0]
        for part in parts[1:]:
            if len(line) + 2 + len(part) <= room:
                line += f"  {part}"
        self._stream.write(f"\r{line[:room]:<{room}}")
        self._stream.flush()

    def _write(self, totals: Totals) -> None:
        self._drawn = self._clock()
        self._written = totals.done
        self._stream.write(
            f"{totals.done}/{totals.planned} trials: {', '.join(said(totals, self._arms)) or 'no verdict yet'}\n"
        )
        self._stream.flush()


class Arms:
    """How often each arm of a comparison passed: one rate over all of them would be nobody's."""

    def __init__(self) -> None:
        self._seen = 0
        self._tasks: dict[str, dict[str, list[int]]] = {}

    def expect(self, arm: str) -> None:
        """There is an arm of this name."""
        self._tasks.setdefault(arm, {})

    def see(self, record: TrialRecord) -> None:
        """Count a trial."""
        self._seen += 1
        tasks = self._tasks.setdefault(record.arm, {})
        if record.passed is not None:
            row = tasks.setdefault(record.task, [0, 0])
            row[0] += record.passed
            row[1] += 1

    def rates(self, totals: Totals) -> str:
        """pass@1 as far as it is known: of each arm where there are several.

        Of arms whose earlier trials weren't seen here, as their run was resumed, nothing is said.
        """
        if not any(self._tasks):  # one arm, which has no name
            return "" if totals.pass_at_1 is None else f"pass@1 {rate(totals.pass_at_1)}"
        if self._seen < totals.done:
            return ""
        known = [
            f"{clean(arm, 20)} {rate(sum(c / n for c, n in tasks.values()) / len(tasks))}"
            for arm, tasks in self._tasks.items()
            if tasks
        ]
        return f"pass@1 {', '.join(known)}" if known else ""


def said(totals: Totals, arms: Arms) -> list[str]:
    """What there is to say, the most important first."""
    parts = []
    if rates := arms.rates(totals):
        parts.append(rates)
    if totals.failed:
        parts.append(f"{totals.failed} failed{_kinds(totals, failures=True)}")
    if totals.missing:
        parts.append(f"{totals.missing} missing{_kinds(totals, failures=False)}")
    if totals.seconds_left is not None and totals.done < totals.planned:
        parts.append(f"{seconds(max(1.0, float(round(totals.seconds_left))))} left".replace(".0 s", " s"))
    if totals.running:
        parts.append(f"{totals.running} running")
    usage = totals.usage
    more = "+" if usage.partial else ""
    if usage.dollars is not None:
        parts.append(dollars(usage.dollars) + more)
    if usage.model_calls:
        parts.append(count(usage.model_calls, "call"))
    if usage.tokens is not None:
        parts.append(f"{tokens(usage.tokens)}{more} tokens")
    return parts


def _kinds(totals: Totals, *, failures: bool) -> str:
    """How trials failed, or why they are missing, by status; those that graders failed need no word."""
    kinds = [
        f"{number} {Status(status).words}"
        for status, number in totals.failures.items()
        if status != Status.COMPLETED and (RULES[Status(status)].counts is Counts.FAILURE) is failures
    ]
    return f" ({', '.join(kinds)})" if kinds else ""


def _bar(totals: Totals, *, unicode: bool) -> str:
    full, empty = ("━", "─") if unicode else ("#", "-")
    done = _BAR * totals.done // max(1, totals.planned)
    return full * done + empty * (_BAR - done)
