"""Code that runs in this process may go to another directory: the run stays where it began, and so do we afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import passhat
from passhat import Suite, Task, Trial
from passhat.gateway import Gateway, Simulate
from passhat.running import Entrance, regrade, resume
from passhat.scripting import say

Ask = Callable[..., str]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another directory than the current one, which is the test's own."""
    (tmp_path / "here").mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "elsewhere"


def suite_of(agent: Callable[[Trial], Any], **parts: Any) -> Suite:
    return Suite("goes", tasks=[Task("a", input=1), Task("b", input=2)], agent=agent, **parts)


def test_a_run_resume_and_regrade_below_a_relative_root_stay_where_they_began(elsewhere: Path) -> None:
    here = os.getcwd()

    def agent(trial: Trial) -> Any:
        os.chdir(elsewhere)
        (trial.workspace / "made").touch()
        return trial.input

    def grader(finished: Any) -> bool:
        os.chdir(elsewhere)
        return bool(finished.output == 1)

    suite = suite_of(agent, graders=[grader])
    run = passhat.run(suite, root="runs-here")
    assert os.getcwd() == here
    assert [record.passed for record in run.trials()] == [True, False]
    assert resume(run.run_id, suite, root="runs-here", retry=[passhat.Status.COMPLETED]).manifest.state == "finished"
    again = regrade(run.run_id, suite, root="runs-here")
    assert (again.judged, again.not_judged) == (2, ())
    assert os.getcwd() == here
    assert list(elsewhere.iterdir()) == []


def test_a_cassette_is_recorded_where_it_was_asked_for(elsewhere: Path, ask: Ask, gateway: Gateway) -> None:
    def agent(trial: Trial) -> Any:
        os.chdir(elsewhere)
        return ask(trial)

    with Gateway() as provider:
        upstream = provider.open(Simulate(lambda request, rng: say("x")))
        host = {"OPENAI_BASE_URL": f"{provider.base_url}/v1", "OPENAI_API_KEY": upstream.key}
        passhat.run(suite_of(agent), root="r", cassette="tape.yaml", record="all", through=Entrance(gateway, host))
    assert "passhat_cassette" in Path("tape.yaml").read_text()
    assert list(elsewhere.iterdir()) == []


def test_a_run_ends_well_where_its_folder_was_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)

    def agent(trial: Trial) -> Any:
        gone.rmdir()
        return trial.input

    suite = Suite("gone", tasks=[Task("a")], agent=agent)
    assert passhat.run(suite, root=tmp_path / "r").manifest.state == "finished"
