"""The headline: pass@k, pass^k and the score, each with both intervals and the bounds for what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from passhat.facts import count
from passhat.stats import Interval, Refused
from passhat.stats import Rate as RateWord
from passhat.summary._measure import MIN_UNITS, Measured
from passhat.summary._report import Rate, Score
from passhat.summary._tables import Range
from passhat.summary._worlds import BOTH, Headline

_FAR = (15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)


def default_ks(n: int, asked: Iterable[int | None] = ()) -> tuple[int, ...]:
    """Every k up to 10, then ever fewer, and n itself: a table that stays readable at 100 trials a task.

    Those up to n that gates ask for (``asked``) are in it.

    >>> default_ks(4), default_ks(40, [12, None, 50])
    ((1, 2, 3, 4), (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 40))
    """
    near = range(1, min(max(n, 1), 10) + 1)
    return tuple(sorted({*near, *(k for k in _FAR if k < n), *(k for k in asked if k and k <= n), max(n, 1)}))


@dataclass(frozen=True)
class Population:
    """Whether the tasks can stand for others like them: ``refusal`` is empty, or says why not."""

    units: int
    hand_picked: bool = False

    @property
    def refusal(self) -> str:
        """Why there is no interval about tasks like these; empty when there is one."""
        if self.hand_picked:
            return "the tasks were picked by hand"
        if self.units < MIN_UNITS:
            return f"{count(self.units, 'independent task')} can't stand for others; {MIN_UNITS} can"
        return ""


@dataclass
class Table:
    """Makes the rates, and keeps what it had to refuse or wants said beside them."""

    headline: Headline
    population: Population
    level: float
    refused: list[str]
    rules: list[tuple[int, str]]

    def rates(self, ks: Sequence[int], rate: RateWord) -> tuple[Rate, ...]:
        """One row a k; a k too far beyond the trials is refused and left out."""
        return tuple(row for k in ks if (row := self._row(k, rate)) is not None)

    def _row(self, k: int, rate: RateWord) -> Rate | None:
        bounds = None
        if self.headline.missing:
            bounds = self.headline.between([self.headline.pass_rate(k, rate, world) for world in BOTH])
        measured = self.headline.pass_rate(k, rate)
        if measured is None:
            return Rate(k, None, None, None, bounds, "no trial has a verdict")
        try:
            these = measured.interval("these tasks", self.level)
        except Refused as refusal:
            self.refused.append(str(refusal))
            return None
        self.rules.append((k, these.note))
        like = self._like(measured)
        return Rate(k, measured.estimate, ends(these), ends(like), bounds, method(these, like))

    def score(self) -> Score | None:
        """Partial credit, None when no grader gave a score."""
        measured = self.headline.score()
        if measured is None:
            return None
        bounds = None
        if self.headline.missing:
            bounds = self.headline.between([self.headline.score(world) for world in BOTH])
        these = measured.interval("these tasks", self.level)
        like = self._like(measured)
        partial = any(task.partial_credit for task in self.headline.tasks)
        return Score(
            estimate=measured.estimate,
            these_tasks=(these.low, these.high),
            tasks_like_these=ends(like),
            if_missing=bounds,
            n=sum(measured.ns),
            partial_credit=partial,
            method=method(these, like),
        )

    def _like(self, measured: Measured) -> Interval | None:
        if self.population.refusal or measured.units < MIN_UNITS:
            return None
        return measured.interval("tasks like these", self.level)


def ends(interval: Interval | None) -> Range | None:
    """An interval as it is stored."""
    return None if interval is None else interval.ends


def method(these: Interval, like: Interval | None) -> str:
    """How both intervals were made, in a line."""
    other = "none" if like is None else like.method
    return f"these tasks: {these.method}; tasks like these: {other}"
