"""What the numbers of a suite cannot carry, each as a sentence for a reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import SupportsIndex

from passhat.stats import _checks
from passhat.stats._beyond import MAX_STRETCH
from passhat.stats._changed import MIN_TRIALS_CHANGED
from passhat.stats._types import Counts

MIN_TASKS_POPULATION = 5
"""Below so many tasks an interval for tasks like these is wider than .6: not shown by default."""

MIN_TRIALS_INTERVAL = 3
"""Below so many trials one task's counts are shown without an interval."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A rule, by a name that stays the same, and its sentence."""

    rule: str
    message: str


def refusals(
    n: Counts, *, k: SupportsIndex = 1, hand_picked: bool = False, missing: SupportsIndex = 0
) -> tuple[Refusal, ...]:
    """Which claims a suite with ``n`` trials a task cannot carry, for pass^k and pass@k up to ``k``.

    ``hand_picked``: the tasks are no sample of anything. ``missing``: trials without a result that
    are not counted as failures. The rules, in this order: few-tasks, hand-picked, no-task-interval,
    no-changed-tasks, bound-rule, unequal-trials, bounds-only, k-too-large, missing-trials. An empty
    tuple means that nothing is refused or downgraded.

    Raises ValueError for no tasks, and for what is not a count.

    >>> [refusal.rule for refusal in refusals([4, 4, 4, 4], k=2)]
    ['few-tasks', 'no-changed-tasks', 'bound-rule']
    """
    ns, _ = _checks.counts(n, [0] * len(n))
    size, lost = _checks.whole(k, "k", at_least=1), _checks.whole(missing, "missing")
    least, most, tasks = min(ns), max(ns), len(ns)
    found: list[Refusal] = []

    def say(rule: str, applies: bool, message: str) -> None:
        if applies:
            found.append(Refusal(rule, message))

    say(
        "few-tasks",
        tasks < MIN_TASKS_POPULATION,
        f"{_many(tasks, 'task says', 'tasks say')} next to nothing about tasks like these: {MIN_TASKS_POPULATION} are "
        "the least",
    )
    say("hand-picked", hand_picked, "the tasks were picked by hand: nothing is said about tasks like these")
    say(
        "no-task-interval",
        least < MIN_TRIALS_INTERVAL,
        f"with fewer than {MIN_TRIALS_INTERVAL} trials a task's counts are shown without an interval",
    )
    say(
        "no-changed-tasks",
        least < MIN_TRIALS_CHANGED,
        f"with fewer than {MIN_TRIALS_CHANGED} trials whether a single task changed cannot be said",
    )
    say(
        "bound-rule",
        size <= least < max(5, 2 * size),
        f"with fewer than {max(5, 2 * size)} trials a task these tasks are judged by the conservative rule nT/k",
    )
    say(
        "unequal-trials",
        least < most,
        f"tasks have {least} to {most} trials: these tasks are judged as if every task had {least}",
    )
    say(
        "bounds-only",
        least < size <= MAX_STRETCH * least,
        f"k = {size} is more than the {least} trials a task: bounds are given, not an estimate",
    )
    say(
        "k-too-large",
        size > MAX_STRETCH * least,
        f"k = {size} is more than {MAX_STRETCH} times the {least} trials a task: nothing useful can be said",
    )
    say(
        "missing-trials",
        lost > 0,
        f"{_many(lost, 'trial has', 'trials have')} no result: the rate is shown with all of them failed and with all "
        "of them passed",
    )
    return tuple(found)


def _many(count: int, one: str, more: str) -> str:
    return f"{count} {one if count == 1 else more}"
