"""How often a comparison is wrong, and how often it finds what is there: seeded simulations."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from passhat.comparing import compare
from passhat.stats import changed_tasks
from passhat.summary import Report

MakeReport = Callable[..., Report]

TASKS, TRIALS = 24, 5


def drawn(rng: random.Random, rates: list[float], n: int) -> list[int]:
    return [sum(rng.random() < p for _ in range(n)) for p in rates]


def signs(passes: list[int], n: int) -> dict[str, str]:
    return {f"t{place}": "+" * c + "-" * (n - c) for place, c in enumerate(passes)}


def share_of_verdicts(report: MakeReport, rounds: int, lift: float, seed: int) -> dict[str, float]:
    """How often each verdict comes out over suites of 24 tasks × 5 trials with rates spread over .2 to .8."""
    rng = random.Random(seed)
    counted: dict[str, int] = {}
    for _ in range(rounds):
        rates = [rng.uniform(0.2, 0.8) for _ in range(TASKS)]
        better = [min(1.0, rate + lift) for rate in rates]
        before = report(signs(drawn(rng, rates, TRIALS), TRIALS))
        after = report(signs(drawn(rng, better, TRIALS), TRIALS), "after")
        verdict = compare(before, after, ks=()).candidates[0].verdict
        counted[verdict] = counted.get(verdict, 0) + 1
    return {verdict: count / rounds for verdict, count in counted.items()}


def false_names(rounds: int, seed: int) -> float:
    """The mean share of falsely named tasks where a tenth of 50 tasks fall to a fifth of their rate."""
    rng = random.Random(seed)
    shares = []
    for _ in range(rounds):
        rates = [rng.betavariate(4, 1) for _ in range(50)]
        after = [rate * 0.2 if place < 5 else rate for place, rate in enumerate(rates)]
        found = changed_tasks(8, drawn(rng, rates, 8), 8, drawn(rng, after, 8)).changed
        shares.append(sum(each.task >= 5 for each in found) / len(found) if found else 0.0)
    return sum(shares) / len(shares)


def test_verdicts_in_short(report: MakeReport) -> None:
    nothing = share_of_verdicts(report, 150, 0.0, seed=1)
    assert nothing.get("better", 0) + nothing.get("worse", 0) <= 0.065
    assert share_of_verdicts(report, 60, 0.15, seed=2)["better"] >= 0.6


def test_false_names_in_short() -> None:
    assert false_names(150, seed=3) <= 0.05


@pytest.mark.slow
def test_false_alarms_are_rare_and_15_points_are_found(report: MakeReport) -> None:
    nothing = share_of_verdicts(report, 3000, 0.0, seed=11)
    assert nothing.get("better", 0) + nothing.get("worse", 0) <= 0.065
    found = share_of_verdicts(report, 1500, 0.15, seed=12)
    assert found["better"] >= 0.6
    assert found.get("worse", 0) < 0.005


@pytest.mark.slow
def test_false_names_are_at_most_one_in_twenty() -> None:
    assert false_names(3000, seed=13) <= 0.05
