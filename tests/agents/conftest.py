"""Trials for adapters: bare ones, and those of a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import passhat
from passhat import Suite, Task, Trial
from passhat.facts import Transcript, TrialRecord
from passhat.gateway import Gateway
from passhat.running import Entrance
from passhat.trial import Recorder, Workspace


@pytest.fixture(scope="session")
def gateway() -> Iterator[Gateway]:
    """One server for all runs."""
    with Gateway() as shared:
        yield shared


class Bare:
    """A live trial without a run, and what it recorded."""

    def __init__(self, folder: Path, input: Any, **more: Any) -> None:
        self.recorder = Recorder()
        more.setdefault("data", {})
        self.trial = Trial(
            task_id="t", input=input, recorder=self.recorder, workspace=Workspace(lambda: folder), **more
        )

    @property
    def transcript(self) -> Transcript:
        """What happened so far."""
        return self.recorder.transcript()


@pytest.fixture
def bare(tmp_path: Path) -> Callable[..., Bare]:
    """A live trial in a directory of its own."""

    def make(input: Any = "q", **more: Any) -> Bare:
        folder = tmp_path / "workspace"
        folder.mkdir(exist_ok=True)
        return Bare(folder, input, **more)

    return make


@pytest.fixture
def only_trial(tmp_path: Path, gateway: Gateway) -> Callable[..., tuple[TrialRecord, Transcript]]:
    """Run one trial of one task in this process; its record and its transcript."""

    def trial(agent: Any, task: Task | None = None, **parts: Any) -> tuple[TrialRecord, Transcript]:
        suite = Suite("one", tasks=[task or Task("t", input="q", expected="a")], agent=agent, **parts)
        through = Entrance(gateway, dict(os.environ))
        run = passhat.run(suite, root=tmp_path / ".passhat", retry_wait=0, retries=0, through=through)
        (record,) = run.trials()
        transcript = run.transcript(record)
        assert transcript is not None
        return record, transcript

    return trial
