"""Runs made of counts and outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from passhat.facts import Manifest, Status, TrialRecord
from passhat.summary import Report, summarize

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
_MANIFEST = {"run_id": "r1", "suite": "shop", "started": "2026-11-30T10:00:00Z", "passhat": "0.1.0"}


def make_trial(task: str = "a", trial: int = 0, passed: bool | None = True, **fields: Any) -> TrialRecord:
    """One record; without a verdict it is a grader's error unless a status is given."""
    status = fields.pop("status", Status.GRADER_ERROR if passed is None else Status.COMPLETED)
    return TrialRecord(task=task, trial=trial, status=status, passed=passed, **fields)


def make_records(outcomes: Mapping[str, str], **fields: Any) -> list[TrialRecord]:
    """Records from signs, one a trial: ``+`` passed, ``-`` failed, ``?`` missing."""
    verdicts = {"+": True, "-": False, "?": None}
    return [
        make_trial(task, number, verdicts[sign], **fields)
        for task, signs in outcomes.items()
        for number, sign in enumerate(signs)
    ]


@pytest.fixture
def trial() -> Callable[..., TrialRecord]:
    return make_trial


@pytest.fixture
def records_of() -> Callable[..., list[TrialRecord]]:
    return make_records


@pytest.fixture
def manifest_of() -> Callable[..., Manifest]:
    def make(**fields: Any) -> Manifest:
        return Manifest(**{**_MANIFEST, **fields})

    return make


@pytest.fixture
def report_of() -> Callable[..., Report]:
    """A report from signs a task; named fields go to the manifest, ``options`` to summarize."""

    def make(
        outcomes: Mapping[str, str],
        *,
        options: Mapping[str, Any] | None = None,
        records: list[TrialRecord] | None = None,
        **fields: Any,
    ) -> Report:
        fields.setdefault("trials", max(map(len, outcomes.values()), default=1))
        fields.setdefault("task_ids", tuple(outcomes))
        made = make_records(outcomes) if records is None else records
        return summarize(Manifest(**{**_MANIFEST, **fields}), iter(made), **{"now": NOW, **(options or {})})

    return make
