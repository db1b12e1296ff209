"""What a report says of how trials were kept apart, and says only when it is worth knowing."""

from __future__ import annotations

from typing import Any

import pytest

from passhat.facts import FELL_BACK, Manifest, Status, TrialRecord
from passhat.summary import summarize

RULES = {"data-changed", "containment", "no-guard", "isolation-fallback", "isolation-notes"}


def found(**fields: Any) -> dict[str, tuple[str, str]]:
    """Severity and message of the findings about isolation."""
    manifest = Manifest(run_id="r", suite="s", trials=1, **fields)
    report = summarize(manifest, [TrialRecord(task="t", trial=0, status=Status.COMPLETED, passed=True)])
    return {each.rule: (each.severity, each.message) for each in report.findings if each.rule in RULES}


@pytest.mark.parametrize(
    "fields",
    [
        {"isolation": "process", "containment": "proved", "guard": "guard"},
        {"isolation": "spawn", "containment": "proved", "guard": "confine"},
        {"isolation": "inline", "containment": "none", "guard": "none"},
        {"isolation": "process", "containment": "proved"},  # from before the guard was recorded
    ],
)
def test_nothing_is_said_where_all_is_as_it_should_be(fields: dict[str, str]) -> None:
    assert found(**fields) == {}


def test_best_effort_is_a_warning_and_a_missing_guard_a_note() -> None:
    best = found(isolation="spawn", containment="best effort", guard="none")
    assert {rule: severity for rule, (severity, _) in best.items()} == {"containment": "warning"}
    bare = found(isolation="process", containment="proved", guard="none")
    assert {rule: severity for rule, (severity, _) in bare.items()} == {"no-guard": "note"}


def test_the_reason_of_a_fall_back_stands_by_itself_and_many_packages_are_cut_short() -> None:
    why = f"{FELL_BACK}the server holds an open socket"
    packages = [f"p{number} is imported anew in each trial: a thread" for number in range(5)]
    notes = found(isolation="spawn", containment="proved", guard="guard", isolation_notes=(why, *packages))
    assert "because the server holds an open socket. That" in notes["isolation-fallback"][1]
    assert notes["isolation-notes"][1].endswith(
        "p2 is imported anew in each trial: a thread; and 2 more, listed in run.json"
    )


def test_data_that_changed_is_an_error() -> None:
    severity, message = found(data_changed=("tasks.jsonl", "fixtures"))["data-changed"]
    assert severity == "error"
    assert "(tasks.jsonl, fixtures)" in message
