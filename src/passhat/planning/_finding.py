"""What a comparison finds: the power for a change, and the change, the tasks and the trials that reach a power."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from passhat.planning._errors import PlanError
from passhat.planning._pilot import Pilot
from passhat.stats import Move, comparison_power, detectable_difference, tasks_needed

Target = Literal["these tasks", "tasks like these"]
Direction = Literal["loss", "gain"]

MOST_TASKS = 100_000
MOST_TRIALS = 200


def power_of(pilot: Pilot, difference: float, *, of: Target = "these tasks", level: float = 0.95) -> float:
    """The chance that a comparison of the pilot's size finds a true ``difference`` of pass@1: a loss is below 0.

    Every task is taken to move alike, as far as its rate leaves room; about tasks like these it moves around that by
    the pilot's response. Raises `PlanError` for a difference of 0, and one that the pilot's rate leaves no room for.

    >>> from passhat.planning import assumed
    >>> pilot = assumed(rate=0.9, tasks=30, trials=5)
    >>> round(power_of(pilot, -0.08), 2), round(power_of(pilot, 0.08), 2)
    (0.45, 0.8)
    """
    direction: Direction = "gain" if difference > 0 else "loss"
    if not difference or abs(difference) > room(pilot, direction):
        raise PlanError(no_room(pilot, difference))
    return Search(pilot, direction, of, level, 0.8).power(abs(difference), pilot.tasks, pilot.trials)


def room(pilot: Pilot, direction: Direction) -> float:
    """By how much the pilot's rate can change."""
    rate = sum(rate * share for rate, share in pilot.kinds)
    return round(rate if direction == "loss" else 1 - rate, 9)


def no_room(pilot: Pilot, difference: float) -> str:
    """Why a difference can't be planned for."""
    if not difference:
        return "difference=0: must not be 0, such as 0.05 for 5 points"
    low, high = room(pilot, "loss") * 100, room(pilot, "gain") * 100
    word = "gain" if difference > 0 else "loss"
    return (
        f"difference={difference:g}: a pass rate of {pilot.rate:.3g} leaves no room for a {word} of "
        f"{abs(difference) * 100:g} points; it can lose up to {low:.1f} and gain up to {high:.1f}"
    )


@dataclass(frozen=True)
class Search:
    """Looks for what finds a change of one direction with the wanted power, by the law of the test itself."""

    pilot: Pilot
    direction: Direction
    of: Target
    level: float
    wanted: float

    def power(self, size: float, tasks: int, trials: int) -> float:
        """The chance that so many tasks and trials find a change of ``size``, in 0..1."""
        moves = _moved(self.pilot, size if self.direction == "gain" else -size)
        return comparison_power(moves, tasks, trials, response=self.pilot.response, of=self.of, level=self.level)

    def smallest(self, tasks: int, trials: int) -> float | None:
        """The smallest change that is found; None where the largest possible isn't."""
        from scipy.optimize import brentq

        def short(size: float) -> float:
            return self.power(size, tasks, trials) - self.wanted

        most = room(self.pilot, self.direction)
        guess = detectable_difference(
            tasks, trials, within=2 * self.pilot.within, between=self.pilot.response**2, of=self.of, level=self.level,
            power=self.wanted,
        )  # fmt: skip
        low, high = 0.0, min(most, 1.3 * guess)
        while short(high) < 0:  # large changes take their time
            if high == most:
                return None
            low, high = high, min(most, 1.5 * high)
        return float(brentq(short, low, high, xtol=most * 1e-9, rtol=5e-4))

    def tasks(self, size: float, trials: int) -> int | None:
        """The least number of tasks that finds a change of ``size``."""
        guess = tasks_needed(
            size, trials, within=2 * self.pilot.within, between=self.pilot.response**2, of=self.of, level=self.level,
            power=self.wanted,
        )  # fmt: skip
        return _least(lambda tasks: self.power(size, tasks, trials) >= self.wanted, math.ceil(guess), MOST_TASKS)

    def trials(self, size: float, tasks: int, guess: int) -> int | None:
        """The least number of trials of so many tasks that finds a change of ``size``."""
        return _least(lambda trials: self.power(size, tasks, trials) >= self.wanted, guess, MOST_TRIALS)


def _moved(pilot: Pilot, change: float) -> list[Move]:
    """Every kind of task moved alike, as far as there is room, so that the mean changes by ``change``."""
    low, high = (0.0, 1.0) if change > 0 else (-1.0, 0.0)
    for _ in range(50):
        middle = (low + high) / 2
        mean = sum(share * (_within(rate + middle) - rate) for rate, share in pilot.kinds)
        low, high = (middle, high) if mean < change else (low, middle)
    return [Move(rate, _within(rate + (low + high) / 2), share) for rate, share in pilot.kinds]


def _within(rate: float) -> float:
    return min(1.0, max(0.0, rate))


def _least(enough: Callable[[int], bool], guess: int, most: int) -> int | None:
    """The least number that is enough, taking more to be no worse; from a guess. None: not even ``most`` is."""
    low, high = 0, min(most, max(1, guess))
    while not enough(high):
        if high == most:
            return None
        low, high = high, min(most, 2 * high)
    while high - low > 1:
        middle = (low + high) // 2 if low else max(high // 2, high - max(1, high // 8))
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
