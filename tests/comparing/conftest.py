"""Reports made of counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from passhat.facts import Manifest, Status, TrialRecord, Usage
from passhat.summary import Report, summarize

MakeReport = Callable[..., Report]


def make_report(
    passes: Mapping[str, str],
    name: str = "before",
    *,
    seconds: Mapping[str, float] | None = None,
    tokens: Mapping[str, int] | None = None,
    dollars: Mapping[str, float] | None = None,
    tags: Mapping[str, tuple[str, ...]] | None = None,
    families: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Report:
    """A report from signs a task: ``+`` passed, ``-`` failed, ``?`` without a verdict; amounts are a trial's."""
    verdicts = {"+": True, "-": False, "?": None}
    records = [
        TrialRecord(
            task=task,
            trial=trial,
            status=Status.GRADER_ERROR if verdicts[sign] is None else Status.COMPLETED,
            passed=verdicts[sign],
            seconds=(seconds or {}).get(task, 0.0),
            usage=Usage(
                model_calls=1,
                input_tokens=(tokens or {}).get(task),
                output_tokens=None if task not in (tokens or {}) else 0,
                dollars=(dollars or {}).get(task),
            ),
            tags=(tags or {}).get(task, ()),
            family=(families or {}).get(task),
        )
        for task, signs in passes.items()
        for trial, sign in enumerate(signs)
    ]
    facts: dict[str, Any] = {"run_id": name, "suite": "shop", "model_source": "live", "task_ids": tuple(passes)}
    facts["trials"] = max(map(len, passes.values()), default=1)
    return summarize(Manifest(**{**facts, **fields}), records, ks=(1,), gates=(), **(options or {}))


@pytest.fixture
def report() -> MakeReport:
    return make_report
