"""A grader that decides nothing and failed: the report says what becomes of the grades that are lacking."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from passhat.facts import Grade, Role

Reporter = Callable[..., Any]


@pytest.mark.parametrize(
    ("role", "words"),
    [
        (Role.REQUIRED, "such a trial has no verdict unless another required grader failed it: refused"),
        (Role.CRITICAL, "such a trial has no verdict unless another required grader failed it: refused"),
        (
            Role.ADVISORY,
            "it is advisory, so the trial's verdict stands without it, and passhat resume doesn't ask it again "
            "(passhat regrade run-1 --grader 'is polite' does): refused",
        ),
    ],
)
def test_only_the_failure_of_one_that_decides_costs_a_verdict(
    report_of: Reporter, trial: Callable[..., Any], role: Role, words: str
) -> None:
    grades = (Grade(True, name="g"), Grade(None, error="refused", name="is polite", role=role))
    records = [trial("a", i, grades=grades) for i in range(2)]
    report = report_of({"a": "++"}, records=records, run_id="run-1")
    (message,) = [finding.message for finding in report.findings if finding.rule == "grader-errors"]
    assert message == f"Grader 'is polite' itself failed in 2 trials; {words}"
