"""Runs to write to and read from."""

import datetime
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from passhat.facts import AgentEvent, Manifest, Status, Transcript, TrialRecord
from passhat.records import RunWriter

MOMENT = datetime.datetime(2026, 11, 30, 10, 22, 5, tzinfo=datetime.UTC)


def _options(root: Path) -> dict[str, Any]:
    return {"root": root, "now": lambda: MOMENT}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / ".passhat"


@pytest.fixture
def make_record() -> Callable[..., TrialRecord]:
    def make(task: str = "a", trial: int = 0, *, passed: bool | None = True, **fields: Any) -> TrialRecord:
        status = fields.pop("status", Status.COMPLETED)
        return TrialRecord(task=task, trial=trial, status=status, passed=passed, **fields)

    return make


@pytest.fixture
def said() -> Callable[..., Transcript]:
    """A transcript in which the agent said something."""

    def make(value: Any = "hello") -> Transcript:
        return Transcript((AgentEvent(at=0.5, kind="record", name="said", value=value),))

    return make


@pytest.fixture
def create(root: Path) -> Iterator[Callable[..., RunWriter]]:
    """Makes writers of runs at one known moment, and closes them."""
    writers: list[RunWriter] = []

    def make(
        *, tasks: tuple[str, ...] = ("a", "b"), trials: int = 3, suite: str = "Support desk", **options: Any
    ) -> RunWriter:
        manifest = Manifest(run_id="", suite=suite, task_ids=tasks, trials=trials)
        writer = RunWriter.create(manifest, **_options(root) | options)
        writers.append(writer)
        return writer

    yield make
    for writer in writers:
        writer.close()
