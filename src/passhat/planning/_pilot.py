"""What is known, or assumed, before a comparison is run: how much trials and tasks vary, and what a trial costs."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from passhat.planning._errors import PlanError
from passhat.summary import Report

RESPONSE = 0.15
"""How differently tasks respond to a change (a standard deviation of pass rates) where no second run shows it."""


class Pilot(msgspec.Struct, frozen=True, kw_only=True):
    """Where the numbers of a plan come from.

    ``within`` is the variance of one trial given its task, ``between`` that of the tasks' true rates, ``response`` the
    standard deviation of the change from task to task. ``flip_rate`` is the share of tasks that both passed and failed.
    ``dollars`` (its judges' included) and ``seconds`` are a trial's, None where unknown; ``partial`` names those known
    in part only. A trial's seconds are those of the whole run shared among its trials: preparing and grading belong to
    them.
    """

    based_on: str | None
    tasks: int
    trials: int
    rate: float
    within: float
    between: float
    response: float
    response_measured: bool
    flip_rate: float | None
    dollars: float | None
    seconds: float | None
    concurrency: int
    partial: tuple[str, ...] = ()


def pilot_of(report: Report, after: Report | None = None, *, response: float | None = None) -> Pilot:
    """Measure a run; with a second run of the same tasks also how differently tasks respond.

    Tasks of split *tune* stand apart where there are others.

    Raises `PlanError` when no task has a verdict.

    >>> from passhat.facts import Manifest, Status, TrialRecord
    >>> from passhat.summary import summarize
    >>> trials = [TrialRecord(task=f"t{i}", trial=j, status=Status.COMPLETED, passed=j < i) for i in range(5)
    ...           for j in range(4)]
    >>> pilot = pilot_of(summarize(Manifest(run_id="r", suite="s", trials=4), trials))
    >>> pilot.rate, round(pilot.within, 3), round(pilot.between, 3)
    (0.5, 0.167, 0.115)
    """
    judged = [row for row in report.by_task if row.n]
    held_out = [row for row in judged if row.split != "tune"] or judged
    rows = {row.task: (row.n, row.c) for row in held_out}
    if not rows:
        raise PlanError(f"{report.run.run_id}: no task has a verdict, so it shows nothing to plan with")
    within, between = variances(list(rows.values()))
    measured = None
    if after is not None:
        measured = _response(rows, {row.task: (row.n, row.c) for row in after.by_task if row.n})
    dollars, partial = _dollars(report)
    return Pilot(
        based_on=report.run.run_id,
        tasks=len(rows),
        trials=min(n for n, _ in rows.values()),
        rate=sum(c / n for n, c in rows.values()) / len(rows),
        within=within,
        between=between,
        response=_checked(response) if response is not None else RESPONSE if measured is None else measured,
        response_measured=response is None and measured is not None,
        flip_rate=report.flip_rate,
        dollars=dollars,
        seconds=_seconds(report),
        concurrency=report.run.concurrency,
        partial=("dollars",) if partial else (),
    )


def _dollars(report: Report) -> tuple[float | None, bool]:
    """What a trial costs, its judges included, and whether that is only what is known of it."""
    usage, judging = report.usage, report.judging
    if usage.dollars is None or not usage.trials:
        return None, False
    spent, partial = usage.dollars, "dollars" in usage.partial
    if judging is not None and judging.model_calls:
        spent += judging.dollars or 0.0
        partial = partial or judging.dollars is None or "dollars" in judging.partial
    return spent / usage.trials, partial


def _seconds(report: Report) -> float | None:
    """How long a trial keeps its place among the concurrent ones: by the run's own duration, where that is known."""
    run, usage = report.run, report.usage
    trials = sum(count.n + count.missing for count in run.counts)
    if run.seconds and trials:
        return run.seconds * max(1, run.concurrency) / trials
    return usage.seconds / usage.trials if usage.seconds and usage.trials else None


def assumed(
    *, rate: float, tasks: int, trials: int, within: float | None = None, response: float | None = None
) -> Pilot:
    """A plan without a run: an assumed pass rate. Unless given, ``within`` is that of tasks that share the rate.

    >>> assumed(rate=0.8, tasks=50, trials=5).within
    0.16
    """
    if not 0 < rate < 1:
        raise PlanError(f"rate={rate!r}: must be above 0 and below 1, such as 0.7")
    most = rate * (1 - rate)
    if within is not None and not 0 <= within <= most + 1e-12:
        raise PlanError(f"within={within!r}: a rate of {rate:g} has a trial variance of 0 to {most:.4g}")
    variance = most if within is None else within
    return Pilot(
        based_on=None,
        tasks=tasks,
        trials=trials,
        rate=rate,
        within=round(variance, 12),
        between=round(max(0.0, most - variance), 12),
        response=RESPONSE if response is None else _checked(response),
        response_measured=False,
        flip_rate=None,
        dollars=None,
        seconds=None,
        concurrency=1,
    )


def _checked(response: float) -> float:
    if not 0 <= response <= 1:
        raise PlanError(f"response={response!r}: must be a standard deviation of pass rates in 0..1, such as 0.15")
    return response


def variances(rows: Sequence[tuple[int, int]]) -> tuple[float, float]:
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


def _response(before: dict[str, tuple[int, int]], after: dict[str, tuple[int, int]]) -> float | None:
    shared = [(before[task], after[task]) for task in before if task in after]
    if len(shared) < 2:
        return None
    differences = [c2 / n2 - c1 / n1 for (n1, c1), (n2, c2) in shared]
    mean = sum(differences) / len(differences)
    total = sum((each - mean) ** 2 for each in differences) / (len(differences) - 1)
    noise = 0.0
    for side in (0, 1):
        rows = [pair[side] for pair in shared]
        noise += variances(rows)[0] * sum(1 / n for n, _ in rows) / len(rows)
    return float(max(0.0, total - noise) ** 0.5)
