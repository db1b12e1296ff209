"""From trials to figures: one number a task, and its intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple

from passhat.facts import RULES, Counts, MetricValue


class Observed(NamedTuple):
    """Something measured in one trial of a task; ``unit`` is the family that the task belongs to, or the task."""

    task: str
    unit: Hashable
    value: Any


class Gathered(NamedTuple):
    """What was measured, and how many trials gave nothing."""

    observed: list[Observed]
    missing: int


def gather(trials: Iterable[Any], measure: Callable[[Any], Any], failed: Callable[[Any], Any]) -> Gathered:
    """Measure each trial that counts: by ``failed`` when it ended in an error or a time-out, whatever it left.

    Both return None where nothing is known. Trials that were never meant to run are left out altogether.
    """
    observed: list[Observed] = []
    missing = 0
    for trial in trials:
        counts = RULES[trial.status].counts
        if counts is Counts.NOT_PLANNED:
            continue
        value = None if counts is Counts.MISSING else (failed if counts is Counts.FAILURE else measure)(trial)
        if value is None:
            missing += 1
        else:
            task = trial.task
            unit = task.id if task.family is None else ("family", task.family)
            observed.append(Observed(task.id, unit, value))
    return Gathered(observed, missing)


def mean_value(name: str, gathered: Gathered, level: float, **more: Any) -> MetricValue:
    """The mean over tasks of each task's mean, with both intervals."""
    from passhat.stats import MIN_TASKS_POPULATION, family_means, mean_interval

    by_task: dict[str, list[float]] = {}
    units: dict[str, Hashable] = {}
    for task, unit, value in gathered.observed:
        by_task.setdefault(task, []).append(float(value))
        units[task] = unit
    counts: dict[str, Any] = {"tasks": len(by_task), "trials": len(gathered.observed), "missing": gathered.missing}
    if not by_task:
        return MetricValue(name, None, level=level, **counts, **{"note": "nothing is known of it", **more})
    means = [math.fsum(values) / len(values) for values in by_task.values()]
    here = mean_interval(means, level, of="these tasks", n=[len(values) for values in by_task.values()])
    grouped = family_means(means, [units[task] for task in by_task])
    there = mean_interval(grouped, level) if len(grouped) >= MIN_TASKS_POPULATION else None
    note = "" if there is not None else few_units(len(grouped), MIN_TASKS_POPULATION)
    return MetricValue(
        name,
        math.fsum(means) / len(means),
        (here.low, here.high),
        None if there is None else (there.low, there.high),
        level,
        **counts,
        **{"note": note, **more},
    )


def few_units(count: int, least: int) -> str:
    """Why there is no interval about tasks like these."""
    return f"{count} independent tasks say next to nothing about tasks like these: {least} are the least"


def checked_level(level: Any) -> float:
    """A share above one half and below 1."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0.5 < level < 1:
        raise ValueError(f"level={level!r}: must be above 0.5 and below 1, for example 0.95")
    return float(level)


def checked_cutoff(k: Any, name: str) -> int:
    """A whole number, 1 or more."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ValueError(f"{name}(k={k!r}): must be a whole number, 1 or more")
    return k
