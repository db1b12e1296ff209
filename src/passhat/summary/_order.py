"""Does a trial's result depend on the trials before it? If so, intervals from trial noise don't hold."""

from __future__ import annotations

from collections.abc import Sequence

from passhat.stats import OrderCheck, order_check
from passhat.summary._report import OrderRow
from passhat.summary._tally import MISSING, PASSED, TaskTally

_ERROR = 0.01  # found in one clean run of a hundred: the price of a false alarm is a wide interval


def look_at_order(tasks: Sequence[TaskTally]) -> OrderRow | None:
    """What the order of each task's trials shows; None where no task has two trials.

    "dependence found" replaces the interval about these tasks by one that takes each task as one observation.
    "not found" comes with the power that there was to find it, "not testable" with the reason.
    """
    trials = [[sign == PASSED for sign in task.outcomes if sign != MISSING] for task in tasks]
    if not any(len(task) > 1 for task in trials):
        return None
    check = order_check(trials, error=_ERROR)
    return OrderRow(check.verdict, check.note, check.p, _tests(check))


def _tests(check: OrderCheck) -> dict[str, float]:
    tests = {"runs": check.runs, "trend": check.trend, "rounds": check.rounds}
    return {name: test.p for name, test in tests.items() if test is not None}
