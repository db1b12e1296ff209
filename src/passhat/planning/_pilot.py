"""What is known, or assumed, before a comparison is run: how much trials and tasks vary, and what a trial costs."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from passhat.planning._errors import PlanError
from passhat.planning._response import RESPONSE, checked, response_of, variances
from passhat.summary import Report

Kind = tuple[float, float]
"""(true pass rate, share of the tasks that have it)."""


class Pilot(msgspec.Struct, frozen=True, kw_only=True):
    """Where the numbers of a plan come from.

    ``within`` is the variance of one trial given its task, ``between`` that of the tasks' true rates, ``response`` the
    standard deviation of the change from task to task. ``kinds`` are the tasks' true rates as the plan takes them, with
    the share of tasks that have each: those seen, drawn together until they vary by ``between``. ``quiet``: no task
    both passed and failed, so that half a trial of all is taken to have gone otherwise. ``stopped_early``: the run left
    trials out once its verdict was certain, so that its rates are no estimates.

    ``flip_rate`` is the share of tasks that both passed and failed. ``dollars`` (its judges' included) and ``seconds``
    are a trial's, None where unknown; ``partial`` names those known in part only. A trial's seconds are those of the
    whole run shared among its trials: preparing and grading belong to them.
    """

    based_on: str | None
    tasks: int
    trials: int
    rate: float
    within: float
    between: float
    kinds: tuple[Kind, ...]
    quiet: bool
    response: float
    response_measured: bool
    flip_rate: float | None
    dollars: float | None
    seconds: float | None
    concurrency: int
    partial: tuple[str, ...] = ()
    stopped_early: bool = False


def pilot_of(report: Report, after: Report | None = None, *, response: float | None = None) -> Pilot:
    """Measure a run; with a second run of the same tasks also how differently tasks respond.

    Tasks of split *tune* stand apart where there are others.

    Raises `PlanError` when no task has a verdict, and for a second run that can't show a response: with fewer than two
    tasks in common, or with the same counts in every task.

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
    measured = None
    if after is not None:
        names = (report.run.run_id, after.run.run_id)
        measured = response_of(names, rows, {row.task: (row.n, row.c) for row in after.by_task if row.n})
    seen = [c / n for n, c in rows.values()]
    noise, between = variances(list(rows.values()))
    floor = _unseen(sum(n for n, _ in rows.values()))
    within = max(noise, floor * (1 - floor))
    dollars, partial = _dollars(report)
    return Pilot(
        based_on=report.run.run_id,
        tasks=len(rows),
        trials=min(n for n, _ in rows.values()),
        rate=sum(seen) / len(seen),
        within=within,
        between=between,
        kinds=_kinds(seen, within, floor),
        quiet=not noise,
        response=checked(response) if response is not None else RESPONSE if measured is None else measured,
        response_measured=response is None and measured is not None,
        flip_rate=report.flip_rate,
        dollars=dollars,
        seconds=_seconds(report),
        concurrency=report.run.concurrency,
        partial=("dollars",) if partial else (),
        stopped_early=any(finding.rule == "stopped-early" for finding in report.findings),
    )


def _unseen(trials: int) -> float:
    """The least rate of odd trials that so many can't exclude: half a trial, as Jeffreys' prior adds."""
    return 0.5 / (trials + 1)


def _kinds(rates: Sequence[float], within: float, floor: float) -> tuple[Kind, ...]:
    """The tasks' rates drawn towards their mean, until what is left of the variance of a trial is ``within``."""
    mean = sum(rates) / len(rates)
    centre = min(max(mean, floor), 1 - floor)
    spread = sum((rate - mean) ** 2 for rate in rates) / len(rates)
    wanted = max(0.0, centre * (1 - centre) - within)
    draw = min(1.0, (wanted / spread) ** 0.5) if spread else 0.0
    bins: dict[int, list[float]] = {}
    for rate in rates:
        true = min(1.0, max(0.0, centre + draw * (rate - mean)))
        bins.setdefault(round(true * 20), []).append(true)
    return tuple((sum(part) / len(part), len(part) / len(rates)) for _, part in sorted(bins.items()))


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

    With less ``within``, tasks are of two kinds, the better ones ``rate`` of all.

    >>> assumed(rate=0.8, tasks=50, trials=5).within
    0.16
    """
    if not 0 < rate < 1:
        raise PlanError(f"rate={rate!r}: must be above 0 and below 1, such as 0.7")
    for name, value in (("tasks", tasks), ("trials", trials)):
        if isinstance(value, bool) or value < 1:
            raise PlanError(f"{name}={value!r}: must be a whole number, 1 or more")
    most = rate * (1 - rate)
    if within is not None and not 0 < within <= most + 1e-12:
        raise PlanError(f"within={within!r}: a rate of {rate:g} has a trial variance above 0 and up to {most:.4g}")
    variance = most if within is None else min(within, most)
    apart = (1 - variance / most) ** 0.5
    kinds = ((rate * (1 - apart), 1 - rate), (rate + apart * (1 - rate), rate)) if apart else ((rate, 1.0),)
    return Pilot(
        based_on=None,
        tasks=tasks,
        trials=trials,
        rate=rate,
        within=round(variance, 12),
        between=round(most - variance, 12),
        kinds=kinds,
        quiet=False,
        response=RESPONSE if response is None else checked(response),
        response_measured=False,
        flip_rate=None,
        dollars=None,
        seconds=None,
        concurrency=1,
    )
