"""How many tasks and trials a comparison needs, what it can find, and what that costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec

from passhat.planning._errors import PlanError
from passhat.planning._pilot import Pilot
from passhat.stats import detectable_difference, tasks_needed

SCHEMA = 1
Target = Literal["these tasks", "tasks like these"]
_MOST_TRIALS = 1000


class Size(msgspec.Struct, frozen=True):
    """One size of a comparison, both sides together: the least difference that each target finds, and its price.

    ``these_tasks`` and ``tasks_like_these`` are differences of pass@1 in 0..1, found with the plan's power; 1 stands
    for none. ``dollars`` and ``minutes`` are None where the pilot didn't know a trial's.
    """

    tasks: int
    trials: int
    these_tasks: float
    tasks_like_these: float
    all_trials: int
    dollars: float | None
    minutes: float | None


class Ways(msgspec.Struct, frozen=True):
    """What finds the wanted difference: so many tasks with the pilot's trials, or so many trials of the pilot's tasks.

    None: no number does (or more than a thousand trials).
    """

    tasks: int | None
    trials: int | None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A plan. Differences are of pass@1, in 0..1; ``now`` is the pilot's own size."""

    schema: int = SCHEMA
    pilot: Pilot
    level: float
    power: float
    now: Size
    sizes: tuple[Size, ...]
    difference: float | None
    these_tasks: Ways | None
    tasks_like_these: Ways | None
    useful_trials: int | None
    advice: tuple[str, ...]

    def to_json(self) -> bytes:
        """The plan as JSON, UTF-8, on one line."""
        return msgspec.json.encode(self)


def make_plan(
    pilot: Pilot,
    *,
    difference: float | None = None,
    tasks: int | None = None,
    trials: int | None = None,
    level: float = 0.95,
    power: float = 0.8,
) -> Plan:
    """Say what a paired comparison of two agents finds, and what would find ``difference`` (of pass@1, in 0..1).

    ``tasks`` and ``trials`` replace the pilot's. Both sides are taken to vary as the pilot does. Raises `PlanError`
    for numbers out of range.

    >>> from passhat.planning import assumed
    >>> plan = make_plan(assumed(rate=0.8, tasks=50, trials=5), difference=0.1)
    >>> round(plan.now.these_tasks, 3), plan.these_tasks
    (0.1, Ways(tasks=51, trials=6))
    """
    for name, value in (("tasks", tasks), ("trials", trials)):
        if value is not None and (isinstance(value, bool) or value < 1):
            raise PlanError(f"{name}={value!r}: must be a whole number, 1 or more")
    if difference is not None and not 0 < difference < 1:
        raise PlanError(f"difference={difference!r}: must be above 0 and below 1, such as 0.05 for 5 points")
    for name, number in (("level", level), ("power", power)):
        if not 0.5 <= number < 1:
            raise PlanError(f"{name}={number!r}: must be at least 0.5 and below 1")
    many, each = tasks or pilot.tasks, trials or pilot.trials
    now = _size(pilot, many, each, level, power)
    useful = _useful(pilot)
    these = like = None
    if difference is not None:
        these = _ways(pilot, "these tasks", difference, many, each, level, power)
        like = _ways(pilot, "tasks like these", difference, many, each, level, power)
    return Plan(
        pilot=pilot,
        level=level,
        power=power,
        now=now,
        sizes=tuple(_size(pilot, *size, level, power) for size in _sizes(many, each)),
        difference=difference,
        these_tasks=these,
        tasks_like_these=like,
        useful_trials=useful,
        advice=tuple(_advice(pilot, many, each, useful)),
    )


def power_of(pilot: Pilot, difference: float, *, of: Target = "these tasks", level: float = 0.95) -> float:
    """The chance that a comparison of the pilot's size finds a true ``difference``.

    >>> from passhat.planning import assumed
    >>> round(power_of(assumed(rate=0.8, tasks=51, trials=5), 0.1), 2)
    0.81
    """
    low, high = 0.501, 0.9999
    for _ in range(60):
        middle = (low + high) / 2
        needed = _detectable(pilot, pilot.tasks, pilot.trials, of, level, middle)
        low, high = (middle, high) if needed < difference else (low, middle)
    return low


def _detectable(pilot: Pilot, tasks: int, trials: int, of: Target, level: float, power: float) -> float:
    return detectable_difference(
        tasks, trials, within=2 * pilot.within, between=pilot.response**2, of=of, level=level, power=power
    )


def _size(pilot: Pilot, tasks: int, trials: int, level: float, power: float) -> Size:
    total = 2 * tasks * trials
    minutes = None if pilot.seconds is None else total * pilot.seconds / max(1, pilot.concurrency) / 60
    return Size(
        tasks=tasks,
        trials=trials,
        these_tasks=_detectable(pilot, tasks, trials, "these tasks", level, power),
        tasks_like_these=_detectable(pilot, tasks, trials, "tasks like these", level, power),
        all_trials=total,
        dollars=None if pilot.dollars is None else total * pilot.dollars,
        minutes=minutes,
    )


def _sizes(tasks: int, trials: int) -> Sequence[tuple[int, int]]:
    """More trials of the same tasks, then more tasks with as many trials."""
    more_trials = [(tasks, n) for n in (1, 3, 5, 10, 20, 30)]
    more_tasks = [(round(tasks * factor), trials) for factor in (2, 4, 8)]
    return [size for size in dict.fromkeys((*more_trials, *more_tasks)) if size != (tasks, trials)]


def _ways(pilot: Pilot, of: Target, difference: float, tasks: int, trials: int, level: float, power: float) -> Ways:
    within, between = 2 * pilot.within, pilot.response**2
    whole = math.ceil(tasks_needed(difference, trials, within=within, between=between, of=of, level=level, power=power))
    found = next(
        (n for n in range(1, _MOST_TRIALS + 1) if _detectable(pilot, tasks, n, of, level, power) <= difference), None
    )
    return Ways(max(1, whole), found)


def _useful(pilot: Pilot) -> int | None:
    """The number of trials at which trial noise has fallen to what tasks add; None where tasks add nothing."""
    return None if pilot.response == 0 else max(1, math.ceil(2 * pilot.within / pilot.response**2))


def _advice(pilot: Pilot, tasks: int, trials: int, useful: int | None) -> list[str]:
    """More tasks, or more trials? In words."""
    said = []
    if pilot.trials == 1 and pilot.based_on is not None:
        said.append("with one trial a task all variance counts as noise of trials; a pilot with two or more splits it")
    if not pilot.within:
        said.append("no task both passed and failed: more trials would repeat what is known, more tasks would not")
    elif useful is None:
        said.append("tasks are taken to respond alike: a trial is worth as much on an old task as on a new one")
    elif trials < useful:
        said.append(f"about tasks like these, up to {useful} trials a task are worth their money; beyond, add tasks")
    else:
        said.append(
            f"about tasks like these, {trials} trials a task are past the {useful} that are worth it: add tasks"
        )
    if not pilot.response_measured:
        said.append(
            f"how differently tasks respond to a change is assumed (standard deviation {pilot.response:g}); "
            "a second run of the same tasks would measure it"
        )
    if tasks < 15:
        said.append(f"{tasks} tasks are few: with fewer than 6 that move, no test about tasks like these can reach .05")
    return said
