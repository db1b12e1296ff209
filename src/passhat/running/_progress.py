"""What a run tells while it goes on. Showing it is somebody else's work."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Protocol

import msgspec

from passhat.facts import TrialRecord, Usage
from passhat.running._plan import PlannedTrial


class Totals(msgspec.Struct, frozen=True):
    """Where a run stands. Rates in 0..1, times in seconds; None is unknown.

    ``planned`` trials in all, ``done`` recorded, ``running`` at this moment; ``passed``, ``failed`` and ``missing``
    (without a verdict) are of the done ones. ``pass_at_1`` is the mean over tasks of passed / judged. ``failures``
    counts, by status, the done ones that didn't pass ("completed": the graders said no). ``usage`` includes earlier
    attempts. ``seconds`` since this process began on the run, ``seconds_left`` an estimate.
    """

    planned: int
    done: int = 0
    running: int = 0
    passed: int = 0
    failed: int = 0
    missing: int = 0
    pass_at_1: float | None = None
    failures: dict[str, int] = {}
    usage: Usage = Usage()
    seconds: float = 0.0
    seconds_left: float | None = None


class Progress(Protocol):
    """Told of every step of a run, on the run's own thread: be quick. What it raises silences it.

    One that has a method ``waiting(what)`` too is told, every few seconds, what the start of a run waits for.
    """

    def started(self, planned: PlannedTrial, totals: Totals) -> None:
        """A trial begins."""

    def finished(self, record: TrialRecord, totals: Totals) -> None:
        """A trial is recorded."""

    def ended(self, state: str, totals: Totals) -> None:
        """The run is over: "finished", "interrupted" or "stopped"."""


class Board:
    """Keeps the totals of a run and tells whoever watches."""

    def __init__(self, planned: int, watcher: Progress | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._planned = planned
        self._watcher = watcher
        self._clock = clock
        self._began = clock()
        self._earlier = 0  # recorded before this process began on the run
        self._done = 0
        self._running = 0
        self._verdicts: Counter[bool | None] = Counter()
        self._tasks: dict[tuple[str, str], list[int]] = {}
        self._failures: Counter[str] = Counter()
        self._usage = Usage()
        self._judges = Usage()

    @property
    def usage(self) -> Usage:
        """What was spent, by trials that were recorded and by attempts that weren't."""
        return self._usage

    @property
    def bill(self) -> Usage:
        """`usage`, and what judges spent on recorded trials."""
        return Usage.total([self._usage, self._judges])

    def add_earlier(self, record: TrialRecord) -> None:
        """Count a trial that was recorded before a resume."""
        self._earlier += 1
        self._count(record)
        self.spent(record.usage)
        for attempt in record.attempts:
            self.spent(attempt.usage)

    def add_waiting(self, record: TrialRecord) -> None:
        """Count what a trial has spent that is recorded and will be graded again; `finished` then counts the trial."""
        self._judges = Usage.total([self._judges, record.judge_usage])
        self.spent(record.usage)
        for attempt in record.attempts:
            self.spent(attempt.usage)

    def started(self, planned: PlannedTrial) -> None:
        """A trial begins."""
        self._running += 1
        with self._telling() as watcher:
            watcher.started(planned, self.totals())

    @property
    def planned(self) -> int:
        """How many trials there are in all."""
        return self._planned

    def begun(self) -> None:
        """A trial is looked at again."""
        self._running += 1

    def left(self) -> None:
        """A trial that began ended without a record, or is about to get one."""
        self._running -= 1

    def spent(self, usage: Usage) -> None:
        """An attempt spent something."""
        self._usage = Usage.total([self._usage, usage])

    def finished(self, record: TrialRecord) -> None:
        """A trial is recorded; what it spent was counted by `spent`."""
        self._count(record)
        with self._telling() as watcher:
            watcher.finished(record, self.totals())

    def ended(self, state: str) -> None:
        """The run is over."""
        with self._telling() as watcher:
            watcher.ended(state, self.totals())

    def totals(self) -> Totals:
        """Where the run stands."""
        seconds = self._clock() - self._began
        here = self._done - self._earlier
        rates = [Fraction(c, n) for n, c in self._tasks.values() if n]
        return Totals(
            planned=self._planned,
            done=self._done,
            running=self._running,
            passed=self._verdicts[True],
            failed=self._verdicts[False],
            missing=self._verdicts[None],
            pass_at_1=float(sum(rates, Fraction(0)) / len(rates)) if rates else None,
            failures=dict(self._failures.most_common()),
            usage=self._usage,
            seconds=seconds,
            seconds_left=seconds / here * (self._planned - self._done) if here else None,
        )

    def _count(self, record: TrialRecord) -> None:
        self._done += 1
        self._judges = Usage.total([self._judges, record.judge_usage])
        self._verdicts[record.passed] += 1
        if record.passed is not None:
            row = self._tasks.setdefault((record.arm, record.task), [0, 0])
            row[0] += 1
            row[1] += record.passed
        if record.passed is not True:
            self._failures[record.status.value] += 1

    @contextlib.contextmanager
    def _telling(self) -> Iterator[Progress]:
        """The watcher, or one that does nothing; a watcher that raises is let go, and the run goes on."""
        try:
            yield self._watcher or _NOBODY
        except Exception as error:
            self._watcher = None
            warnings.warn(f"progress is no longer shown: {type(error).__name__}: {error}", RuntimeWarning, stacklevel=2)


class _Nobody:
    def started(self, planned: PlannedTrial, totals: Totals) -> None: ...

    def finished(self, record: TrialRecord, totals: Totals) -> None: ...

    def ended(self, state: str, totals: Totals) -> None: ...


_NOBODY = _Nobody()
