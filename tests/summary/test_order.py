"""Whether trials depend on those before them, and what that does to the intervals."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from passhat.summary import Report

Make = Callable[..., Report]
CARRIED = {f"t{i}": "+++---" if i % 2 else "---+++" for i in range(12)}


def shuffled(outcomes: dict[str, str], seed: int = 1) -> dict[str, str]:
    """The same counts in an order that chance made."""
    rng = random.Random(seed)
    return {task: "".join(rng.sample(signs, len(signs))) for task, signs in outcomes.items()}


def found(report: Report, rule: str) -> str:
    """The message of a rule; empty without it."""
    return next((finding.message for finding in report.findings if finding.rule == rule), "")


def test_dependent_trials_make_each_task_one_observation(report_of: Make) -> None:
    """A result that repeats the one before says little: trial noise alone would understate what isn't known."""
    dependent, independent = report_of(CARRIED), report_of(shuffled(CARRIED))
    assert dependent.order is not None
    assert independent.order is not None
    assert (dependent.order.verdict, independent.order.verdict) == ("dependence found", "not found")
    for k in (1, 3):
        row, free = dependent.rate(k, hat=True), independent.rate(k, hat=True)
        assert row is not None
        assert free is not None
        assert row.estimate == free.estimate
        assert row.these_tasks == row.tasks_like_these == free.tasks_like_these
        assert free.these_tasks != free.tasks_like_these
    assert not found(dependent, "order")
    assert "each task counts as one observation" in found(dependent, "order-dependence")


@pytest.mark.parametrize("manifest", [{}, {"hand_picked": True}])
def test_a_gate_on_dependent_trials_uses_the_wider_bound(report_of: Make, manifest: dict[str, Any]) -> None:
    """Also where the tasks stand for no others: then the interval that takes tasks as units is given for themselves."""
    gates = {"gates": ["pass@1 >= 0.4"]}
    signs = {f"t{i}": "+++++--" if i % 2 else "--+++++" for i in range(14)}
    dependent = report_of(signs, options=gates, **manifest)
    independent = report_of(shuffled(signs), options=gates, **manifest)
    assert dependent.gates[0].estimate == independent.gates[0].estimate
    assert dependent.gates[0].bound is not None
    assert independent.gates[0].bound is not None
    assert dependent.gates[0].bound < independent.gates[0].bound


def test_nothing_found_comes_with_its_power_and_too_thin_a_run_with_the_reason(report_of: Make) -> None:
    """Silence is not evidence."""
    quiet = report_of(shuffled(CARRIED))
    assert found(quiet, "order").startswith("Dependence of trials on their order: not found (power about 0.")
    thin = report_of({"a": "++-", "b": "+++"})
    assert "not testable (only 0 of 2 tasks have at least 5 trials)" in found(thin, "order")
    assert thin.order is not None
    assert thin.order.p is None


def test_tasks_with_missing_trials_take_no_part_and_that_is_said(report_of: Make) -> None:
    """A judge that is down for a while loses passes and keeps failures: that is no dependence of the trials."""
    whole = shuffled({f"w{i}": "++++----" for i in range(6)})
    outage = {f"t{i}": "+++---??" for i in range(12)}
    alone, both = report_of(whole), report_of({**whole, **outage})
    assert alone.order is not None
    assert both.order is not None
    assert (both.order.verdict, both.order.p) == ("not found", alone.order.p)
    assert "12 tasks with missing trials left out" in found(both, "order")
    assert "left out" not in found(alone, "order")
    dependent = report_of(outage)
    assert dependent.order is not None
    assert dependent.order.verdict == "not testable"


def test_single_trials_and_scripted_tests_are_not_asked(report_of: Make) -> None:
    """There is no order within one trial, and no rate in a scripted test."""
    assert report_of({f"t{i}": "+" for i in range(9)}).order is None
    assert report_of(CARRIED, asked="scripted").order is None


def test_the_report_as_json_has_the_three_tests(report_of: Make) -> None:
    """Each with its p value."""
    order = msgspec.json.decode(report_of(CARRIED).to_json())["order"]
    assert set(order["tests"]) == {"runs", "trend", "rounds"}
    assert order["p"] == pytest.approx(3 * min(order["tests"].values()))
