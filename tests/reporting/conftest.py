"""A report with a bit of everything in it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from passhat.facts import Attempt, ErrorInfo, Grade, Manifest, Role, Status, TrialRecord, Usage
from passhat.summary import Report, summarize

HOSTILE = "x\x1b[2J\x07\u202e|`<script>alert(1)</script>&*_@team"
_VERDICTS = {"+": True, "-": False, "?": None}


def _record(task: str, number: int, passed: bool | None) -> TrialRecord:
    status = Status.GRADER_ERROR if passed is None else Status.COMPLETED
    error = None
    if passed is False and number == 1:
        status, error = Status.AGENT_ERROR, ErrorInfo("exception", f"no order {HOSTILE}", "KeyError")
    grades: tuple[Grade, ...] = (
        Grade(passed, f"refunds: {HOSTILE}", name="refunds"),
        Grade(True, name="tone", role=Role.ADVISORY),
    )
    if passed is None:
        grades = (Grade(None, error="boom", name="refunds"),)
    return TrialRecord(
        task=task,
        trial=number,
        status=status,
        passed=passed,
        score={True: 1.0, False: 0.25, None: None}[passed],
        grades=grades,
        error=error,
        usage=Usage(3, 1500, 0, 300, 0, 0.0123) if number else Usage(3, 1500, 0, 300),
        seconds=4.5,
        attempts=(Attempt(Status.PROVIDER_ERROR, seconds=1.0),) if number == 2 else (),
    )


def build(outcomes: dict[str, str], **fields: Any) -> Report:
    """A report from signs a task."""
    records = [_record(task, i, _VERDICTS[sign]) for task, signs in outcomes.items() for i, sign in enumerate(signs)]
    facts: dict[str, Any] = {
        "run_id": "20261130T102205Z-shop-7f3a",
        "suite": "shop",
        "source_file": "evals/eval_shop.py::shop",
        "passhat": "0.1.0",
        "started": "2026-11-30T10:22:05Z",
        "model_source": "live",
        "model_requested": "openai/gpt-5",
        "isolation": "process",
        "trials": max(map(len, outcomes.values()), default=1),
        "task_ids": tuple(outcomes),
        "kind": "regression",
    }
    manifest = Manifest(**{**facts, **fields})
    return summarize(manifest, records, now=datetime(2026, 11, 30, 12, tzinfo=UTC))


@pytest.fixture
def build_report() -> Callable[..., Report]:
    return build


@pytest.fixture
def report() -> Report:
    """Seven tasks of all kinds, one of them with a hostile id."""
    outcomes = {
        "refund": "+++++",
        "refund-over-the-limit": "+-+-+",
        "never": "-----",
        "policy": "++++?",
        HOSTILE: "+++--",
        "status-of-an-order-with-quite-a-long-name-indeed": "++++-",
        "tuned": "-----",
    }
    tags = {"refund": ("refund",), "refund-over-the-limit": ("refund", "limits"), HOSTILE: (HOSTILE,)}
    gates = ("pass@1 >= 0.3", "pass@1 >= 0.97", "pass@1 >= 0.62", "grader:refunds >= 0.6", "dollars <= 0.05")
    return build(outcomes, task_tags=tags, task_splits={"tuned": "tune"}, gates=gates)
