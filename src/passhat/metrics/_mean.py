"""A metric of one's own: a number a trial, with the intervals that all metrics have."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from passhat.facts import MetricValue
from passhat.metrics._gather import checked_level, gather, mean_value


class Mean:
    """See `mean`."""

    def __init__(self, name: str, measure: Callable[[Any], float | None], level: float) -> None:
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise ValueError(f"metrics.mean(name={name!r}): must be a line of text")
        if not callable(measure):
            raise ValueError(f"metrics.mean({name!r}): measure={measure!r} must be a function of a finished trial")
        self.name = name
        self.measure = measure
        self.level = checked_level(level)

    def __call__(self, trials: Sequence[Any]) -> MetricValue:
        """The mean over these trials."""
        return mean_value(self.name, gather(trials, self._measured, lambda trial: 0.0), self.level)

    def _measured(self, trial: Any) -> float | None:
        value = self.measure(trial)
        if value is None:
            return None
        if not isinstance(value, bool | int | float) or not (math.isfinite(value) and 0 <= value <= 1):
            raise ValueError(f"task {trial.task.id!r}: {self.name} is {value!r}; it must be a number in 0..1, or None")
        return float(value)


def mean(name: str, measure: Callable[[Any], float | None], *, level: float = 0.95) -> Mean:
    """The mean over tasks of what ``measure`` says of each trial: a number in 0..1, or None where it can't be told.

    A trial that failed counts 0.

    >>> from passhat.facts import Task
    >>> from passhat.trial import FinishedTrial
    >>> short = mean("short", lambda trial: len(trial.output) <= 3)
    >>> short([FinishedTrial(Task("a"), "yes"), FinishedTrial(Task("b"), "never")]).value
    0.5
    """
    return Mean(name, measure, level)
