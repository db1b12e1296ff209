"""How often corrected intervals hold people's rate. All judges here are simulated: there is no judge's data to take.

300 trials (30 tasks × 10, easy and hard ones), 60 labels, a judge with sensitivity .9 and specificity .7.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest

from passhat.calibrating import Estimate, calibrate

from .worlds import JUDGE, World, labelled, simulate

RATES = np.tile([0.2, 0.4, 0.6, 0.8, 1.0], 6)  # of people: .6 on average
HIGH_RATES = np.tile([0.7, 0.8, 0.85, 0.9, 1.0], 6)  # .85 on average: few failures to show how the judge does there
OTHER_RATES = np.tile([0.5, 0.8, 0.9, 0.9, 0.9], 6)  # another suite, of another prevalence: .8 on average


def _holds(estimate: Estimate | None, truth: float) -> bool:
    return estimate is not None and estimate.these_tasks[0] <= truth <= estimate.these_tasks[1]


class Shares(NamedTuple):
    """Shares of all repeats: corrected intervals that hold the tasks' rate, and that of these very trials; intervals of
    the raw rate that hold the tasks'; refusals, which hold nothing."""

    tasks: float
    trials: float
    raw: float
    refused: float


def coverage(repeats: int, *, elsewhere: bool, rates: Any = RATES, seed: int = 7) -> Shares:
    """Calibrate so many simulated runs."""
    rng = np.random.default_rng(seed)
    counts = Counter[str]()
    for _ in range(repeats):
        world = simulate(rng, rates, 10)
        other: World | None = simulate(rng, OTHER_RATES, 10) if elsewhere else None
        source = world if other is None else other
        labels = source.labels(rng.choice(300, 60, replace=False))
        found = calibrate(
            labelled(world, [] if other else labels),
            JUDGE,
            elsewhere=labelled(other, labels, "other") if other else None,
            by=(),
        ).correction
        counts["tasks"] += _holds(found.corrected, rates.mean())
        counts["trials"] += _holds(found.corrected, world.rate)
        counts["raw"] += _holds(found.raw, rates.mean())
        counts["refused"] += found.corrected is None
    return Shares(*(counts[name] / repeats for name in Shares._fields))


WHERE = pytest.mark.parametrize("elsewhere", [False, True], ids=["labels of the run", "labels of another suite"])


@WHERE
def test_corrected_intervals_cover_and_raw_ones_do_not(elsewhere: bool) -> None:
    found = coverage(60, elsewhere=elsewhere)
    least = 0.93 - 3.1 * math.sqrt(0.93 * 0.07 / 60)
    assert min(found.tasks, found.trials) >= least
    assert found.raw < 0.7


def test_labels_of_the_run_are_not_refused_for_a_judge_that_few_failures_can_show() -> None:
    found = coverage(30, elsewhere=False, rates=HIGH_RATES)
    assert found.refused == 0
    assert found.tasks >= 0.93 - 3.1 * math.sqrt(0.93 * 0.07 / 30)


@pytest.mark.slow
def test_labels_of_the_run_cover_at_a_high_rate_in_two_thousand_repeats() -> None:
    found = coverage(2000, elsewhere=False, rates=HIGH_RATES)
    print(found)
    assert min(found.tasks, found.trials) >= 0.93
    assert found.refused < 0.005


@pytest.mark.slow
@WHERE
def test_corrected_intervals_cover_in_two_thousand_repeats(elsewhere: bool) -> None:
    found = coverage(2000, elsewhere=elsewhere)
    print(found)
    assert min(found.tasks, found.trials) >= 0.93
    assert found.raw < 0.5
    assert found.refused < 0.05
