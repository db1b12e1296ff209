"""How often the decision on a gate is right, over many seeded runs."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from passhat.facts import Grade, Judged, Usage
from passhat.pytest_plugin._parts import Part
from passhat.pytest_plugin._trial_parts import TrialParts
from passhat.pytest_plugin._verdict import decide_case

N, RUNS, BAR = 60, 2000, "pass@1 >= 0.85"


@functools.cache
def verdict(passed: int) -> str:
    """The verdict on a case of which so many trials passed; it depends on nothing else."""
    trials = []
    for number in range(1, N + 1):
        good = number <= passed
        part = Part("t.py::test_x", number, "call", "passed" if good else "failed", own=good, rule=BAR, gate=BAR)
        trials.append(TrialParts("t.py::test_x", number, [part]))
    return dict(decide_case(trials, None, "live").properties)["verdict"]


def shares(rate: float) -> dict[str, float]:
    counts = np.random.default_rng(20261130).binomial(N, rate, RUNS)
    verdicts = [verdict(int(count)) for count in counts]
    return {word: verdicts.count(word) / RUNS for word in ("met", "undecided", "not met")}


def test_a_gate_at_its_own_bar_is_met_as_rarely_as_its_level_says() -> None:
    assert shares(0.85)["met"] <= 0.06


def test_a_gate_is_mostly_met_by_an_agent_that_is_well_above_it() -> None:
    assert shares(0.95)["met"] >= 0.78


def test_a_gate_is_hardly_ever_disproved_for_an_agent_at_its_bar_and_is_for_one_far_below() -> None:
    assert shares(0.85)["not met"] <= 0.06
    assert shares(0.65)["not met"] >= 0.95


@pytest.mark.parametrize(("undecided", "outcome"), [("pass", "passed"), ("fail", "failed"), (None, "failed")])
def test_one_policy_decides_on_what_is_undecided(undecided: str | None, outcome: str) -> None:
    assert verdict(54) == "undecided"
    part = Part("c", 1, "call", "passed", rule="pass@1 >= 0.4", gate="pass@1 >= 0.4")
    trials = [TrialParts("c", 1, [part]), TrialParts("c", 2, [part])]
    assert decide_case(trials, undecided, "live").outcome == outcome


def test_what_judges_spent_is_on_the_record_and_apart_from_the_agent() -> None:
    spent = Usage(2, 30, 0, 4, 0)
    judged = Judged(kind="rubric", over="answer", models=("a/b",), rubric="r", prompt="p", usage=spent)
    grade = Grade(True, name="kind", judged=judged)
    trial = TrialParts("c", 1, [Part("c", 1, "call", "passed", grades=(grade, grade))])
    assert trial.record().judge_usage == Usage(4, 60, 0, 8, 0)
    assert trial.record().usage == Usage()
