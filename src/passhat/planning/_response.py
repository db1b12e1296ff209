"""How much trials and tasks vary, and how differently tasks respond to a change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from passhat.planning._errors import PlanError

RESPONSE = 0.15
"""How differently tasks respond to a change (a standard deviation of pass rates) where no second run shows it."""

Counts = tuple[int, int]
"""(trials, passed)."""


def checked(response: float) -> float:
    """An assumed response, refused where it can't be one."""
    if not 0 <= response <= 1:
        raise PlanError(f"response={response!r}: must be a standard deviation of pass rates in 0..1, such as 0.15")
    return response


def variances(rows: Sequence[Counts]) -> tuple[float, float]:
    """(within, between) of (n, c) a task, unbiased; with single trials all of the variance counts as within."""
    rates = [c / n for n, c in rows]
    mean = sum(rates) / len(rates)
    parts = [c * (n - c) / (n * (n - 1)) for n, c in rows if n > 1]
    if not parts:
        return mean * (1 - mean), 0.0
    within = sum(parts) / len(parts)
    if len(rows) < 2:
        return within, 0.0
    total = sum((rate - mean) ** 2 for rate in rates) / (len(rates) - 1)
    return within, max(0.0, total - within * sum(1 / n for n, _ in rows) / len(rows))


def response_of(names: tuple[str, str], before: Mapping[str, Counts], after: Mapping[str, Counts]) -> float:
    """The standard deviation of the change from task to task, the noise of the trials taken off.

    Raises `PlanError` for fewer than two tasks in common, and for the same counts in all of them.
    """
    shared = [(before[task], after[task]) for task in before if task in after]
    first, second = names
    if len(shared) < 2:
        common = "no task" if not shared else "only one task"
        raise PlanError(
            f"{first} and {second} have {common} with a verdict in common, and how tasks respond takes two or more: "
            "name a second run of the same tasks, or leave it out"
        )
    if all(one == two for one, two in shared):
        raise PlanError(
            f"{first} and {second} have the same counts in every task, so they show no response to a change: "
            "name a run of a changed agent, or leave the second run out"
        )
    differences = [c2 / n2 - c1 / n1 for (n1, c1), (n2, c2) in shared]
    mean = sum(differences) / len(differences)
    total = sum((each - mean) ** 2 for each in differences) / (len(differences) - 1)
    noise = 0.0
    for side in (0, 1):
        rows = [pair[side] for pair in shared]
        noise += variances(rows)[0] * sum(1 / n for n, _ in rows) / len(rows)
    return float(max(0.0, total - noise) ** 0.5)
