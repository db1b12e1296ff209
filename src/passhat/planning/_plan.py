"""How many tasks and trials a comparison needs, what it can find, and what that costs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from passhat.facts import count
from passhat.planning._errors import PlanError
from passhat.planning._finding import Direction, Search, Target, no_room, room
from passhat.planning._pilot import Pilot
from passhat.stats import MIN_DIFFERENCES

SCHEMA = 1


class Smallest(msgspec.Struct, frozen=True):
    """The smallest change of pass@1 that each target finds with the plan's power, in 0..1; None: not the largest."""

    these_tasks: float | None
    tasks_like_these: float | None


class Size(msgspec.Struct, frozen=True):
    """One size of a comparison, both sides together: the smallest change of the plan's direction, and the price.

    ``dollars`` and ``minutes`` are None where the pilot didn't know a trial's.
    """

    tasks: int
    trials: int
    finds: Smallest
    all_trials: int
    dollars: float | None
    minutes: float | None


class Ways(msgspec.Struct, frozen=True):
    """What finds the wanted difference: so many tasks with the pilot's trials, or so many trials of the pilot's tasks.

    None: no number does, up to 100,000 tasks or 200 trials.
    """

    tasks: int | None
    trials: int | None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A plan. Differences are of pass@1, in 0..1, losses or gains as ``direction`` says.

    ``now`` is the pilot's own size; ``reverse`` is what that finds in the other direction.
    """

    schema: int = SCHEMA
    pilot: Pilot
    direction: Direction
    level: float
    power: float
    now: Size
    reverse: Smallest
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
    direction: Direction | None = None,
    tasks: int | None = None,
    trials: int | None = None,
    level: float = 0.95,
    power: float = 0.8,
) -> Plan:
    """Say what a paired comparison of two agents finds, and what would find ``difference`` (of pass@1, in 0..1).

    ``direction`` is that of the change to be found; without it the one that is harder to find: a loss from a rate of .5
    or more, else a gain. ``tasks`` and ``trials`` replace the pilot's. Power is that of the tests a comparison does:
    CMH for these tasks, sign-flip for tasks like these. Raises `PlanError` for numbers out of range, and for a
    difference that the pilot's rate leaves no room for.

    >>> from passhat.planning import assumed
    >>> plan = make_plan(assumed(rate=0.8, tasks=50, trials=5), difference=0.1)
    >>> plan.direction, round(plan.now.finds.these_tasks, 3), plan.these_tasks
    ('loss', 0.113, Ways(tasks=63, trials=7))
    """
    _check(difference, direction, tasks, trials, level, power)
    many, each = tasks or pilot.tasks, trials or pilot.trials
    asked: Direction = direction or ("loss" if pilot.rate >= 0.5 else "gain")
    other: Direction = "gain" if asked == "loss" else "loss"
    if difference is not None and difference > room(pilot, asked):
        raise PlanError(no_room(pilot, difference if asked == "gain" else -difference))
    useful = _useful(pilot)

    def search(of: Target, towards: Direction = asked) -> Search:
        return Search(pilot, towards, of, level, power)

    def smallest(size: tuple[int, int], towards: Direction = asked) -> Smallest:
        return Smallest(
            search("these tasks", towards).smallest(*size), search("tasks like these", towards).smallest(*size)
        )

    def sized(size: tuple[int, int]) -> Size:
        return _size(pilot, size, smallest(size))

    ways: dict[Target, Ways] = {}
    if difference is not None:
        targets: tuple[Target, ...] = ("these tasks", "tasks like these")
        for of in targets:
            by = search(of)
            ways[of] = Ways(by.tasks(difference, each), by.trials(difference, many, each))
    return Plan(
        pilot=pilot,
        direction=asked,
        level=level,
        power=power,
        now=sized((many, each)),
        reverse=smallest((many, each), other),
        sizes=tuple(sized(size) for size in _sizes(many, each)),
        difference=difference,
        these_tasks=ways.get("these tasks"),
        tasks_like_these=ways.get("tasks like these"),
        useful_trials=useful,
        advice=tuple(_advice(pilot, many, each, useful)),
    )


def _check(
    difference: float | None,
    direction: str | None,
    tasks: int | None,
    trials: int | None,
    level: float,
    power: float,
) -> None:
    for name, value in (("tasks", tasks), ("trials", trials)):
        if value is not None and (isinstance(value, bool) or value < 1):
            raise PlanError(f"{name}={value!r}: must be a whole number, 1 or more")
    if direction not in (None, "loss", "gain"):
        raise PlanError(f"direction={direction!r}: must be 'loss' or 'gain'")
    if difference is not None and not 0 < difference < 1:
        raise PlanError(f"difference={difference!r}: must be above 0 and below 1, such as 0.05 for 5 points")
    for name, number in (("level", level), ("power", power)):
        if not 0.5 <= number < 1:
            raise PlanError(f"{name}={number!r}: must be at least 0.5 and below 1")


def _size(pilot: Pilot, size: tuple[int, int], finds: Smallest) -> Size:
    tasks, trials = size
    total = 2 * tasks * trials
    return Size(
        tasks=tasks,
        trials=trials,
        finds=finds,
        all_trials=total,
        dollars=None if pilot.dollars is None else total * pilot.dollars,
        minutes=None if pilot.seconds is None else total * pilot.seconds / max(1, pilot.concurrency) / 60,
    )


def _sizes(tasks: int, trials: int) -> Sequence[tuple[int, int]]:
    """More trials of the same tasks, then more tasks with as many trials."""
    more_trials = [(tasks, n) for n in (1, 3, 5, 10, 20, 30)]
    more_tasks = [(round(tasks * factor), trials) for factor in (2, 4, 8)]
    return [size for size in dict.fromkeys((*more_trials, *more_tasks)) if size != (tasks, trials)]


def _useful(pilot: Pilot) -> int | None:
    """The number of trials at which trial noise has fallen to what tasks add; None where tasks add nothing."""
    return None if pilot.response == 0 else max(1, math.ceil(2 * pilot.within / pilot.response**2))


def _advice(pilot: Pilot, tasks: int, trials: int, useful: int | None) -> list[str]:
    """More tasks, or more trials? In words."""
    said = []
    if pilot.trials == 1 and pilot.based_on is not None:
        said.append("with one trial a task all variance counts as noise of trials; a pilot with two or more splits it")
    if pilot.quiet:
        said.append(
            "no task both passed and failed, so the pilot shows no noise: half a trial of all is taken to have gone "
            "otherwise, and the noise of the changed side is counted"
        )
    elif useful is None:
        said.append("tasks are taken to respond alike: a trial is worth as much on an old task as on a new one")
    elif trials < useful:
        said.append(f"about tasks like these, up to {useful} trials a task are worth their money; beyond, add tasks")
    else:
        worth = f"up to {useful} trials a task are" if useful > 1 else "no more than 1 trial a task is"
        said.append(f"about tasks like these, {worth} worth the money: add tasks")
    if not pilot.response_measured:
        said.append(
            f"how differently tasks respond to a change is assumed (standard deviation {pilot.response:g}); "
            "a second run of the same tasks, by a changed agent, would measure it"
        )
    if tasks < 15:
        said.append(
            f"{count(tasks, 'task is', 'tasks are')} few: with fewer than {MIN_DIFFERENCES} that move, no test about "
            "tasks like these can reach .05"
        )
    return said
