"""Does a trial's result depend on the trials before it? If so, intervals from trial noise don't hold."""

from __future__ import annotations

from collections.abc import Sequence

from passhat.facts import count
from passhat.stats import OrderCheck, order_check
from passhat.summary._report import OrderRow
from passhat.summary._tally import MISSING, PASSED, TaskTally

_ERROR = 0.01  # found in one clean run of a hundred: the price of a false alarm is a wide interval


def look_at_order(tasks: Sequence[TaskTally]) -> OrderRow | None:
    """What the order of each task's trials shows; None where no task has two trials.

    "dependence found" replaces the interval about these tasks by one that takes each task as one observation.
    "not found" comes with the power that there was to find it, "not testable" with the reason. Tasks with missing
    trials take no part: where a grader failed, passes go missing and failures stay, in the order of the outage.
    """
    if not any(len(task.outcomes.replace(MISSING, "")) > 1 for task in tasks):
        return None
    whole = [task for task in tasks if not task.missing]
    check = order_check([[sign == PASSED for sign in task.outcomes] for task in whole], error=_ERROR)
    return OrderRow(check.verdict, check.note + _left_out(len(tasks) - len(whole)), check.p, _tests(check))


def _left_out(tasks: int) -> str:
    """What is said of tasks that take no part."""
    return f"; {count(tasks, 'task')} with missing trials left out" if tasks else ""


def _tests(check: OrderCheck) -> dict[str, float]:
    tests = {"runs": check.runs, "trend": check.trend, "rounds": check.rounds}
    return {name: test.p for name, test in tests.items() if test is not None}
