"""A template that changes while a run goes on is no fair start, and whose failure that is."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from passhat.facts import Status
from passhat.running import Run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no process isolation")

TEMPLATE = """
    from pathlib import Path
    from passhat import Suite, Task

    HERE = Path(__file__).parent

    def agent(trial):
        (HERE / "start/r.txt").write_text("good" if trial.number < 2 else "bad")
        {then}
        return "done"

    def good(trial):
        return (trial.workspace / "r.txt").read_text() == "good"

    suite = Suite("start", tasks=[Task("a")], agent=agent, graders=[good], trials=3, template="start")
"""


@pytest.mark.parametrize("isolation", ["process", "inline"])
def test_a_trial_whose_template_was_changed_has_no_fair_start(run_file: Callable[..., Run], isolation: str) -> None:
    run = run_file(
        TEMPLATE.format(then=""), isolation=isolation, beside={"start/r.txt": "bad"}, concurrency=1, retries=0
    )
    first, *later = run.trials()
    assert (first.passed, first.status) != (True, Status.COMPLETED)
    for record in later:
        assert record.status is Status.ENVIRONMENT_ERROR
        assert record.error is not None
        assert (record.error.kind, "start/r.txt" in record.error.message) == ("template", True)
        assert "Restore it" in record.error.message


@pytest.mark.parametrize("isolation", ["process", "inline"])
def test_an_agent_that_changes_its_own_template_and_catches_the_refusal_has_failed(
    run_file: Callable[..., Run], isolation: str
) -> None:
    then = "\n        ".join(["try:", "    trial.workspace", "except Exception:", "    pass"])
    run = run_file(TEMPLATE.format(then=then), isolation=isolation, beside={"start/r.txt": "bad"}, concurrency=1)
    first = next(iter(run.trials()))
    assert (first.passed, first.status) == (False, Status.AGENT_ERROR)
    assert first.error is not None
    assert "the template was changed while the run went on" in first.error.message


TWO = """
    import time
    from pathlib import Path
    from passhat import Suite, Task

    HERE = Path(__file__).parent

    def wait_for(name):
        while not (HERE / name).exists():
            time.sleep(0.005)

    def prepare(trial):
        if trial.task_id == "prepares":
            (HERE / "start/r.txt").write_text("made")

    def agent(trial):
        if trial.task_id == "changes":
            wait_for("ready")
            (HERE / "start/r.txt").write_text("changed")
            (HERE / "changed").touch()
        if trial.task_id == "beside":
            (HERE / "ready").touch()
            wait_for("changed")
            trial.workspace
        if trial.task_id == "prepares":
            trial.workspace
        return "done"

    suite = Suite("two", tasks=[Task(name) for name in {tasks}], agent=agent, graders=[lambda trial: True],
                  template="start", prepare={prepare})
"""


@pytest.mark.parametrize("isolation", ["process", "spawn"])
def test_an_agent_that_finds_its_template_changed_by_a_neighbour_has_not_failed(
    run_file: Callable[..., Run], isolation: str
) -> None:
    text = TWO.format(tasks=["changes", "beside"], prepare=None)
    run = run_file(text, isolation=isolation, beside={"start/r.txt": "good"}, concurrency=2)
    found = {record.task: record for record in run.trials()}
    assert (found["beside"].status, found["beside"].passed) == (Status.ENVIRONMENT_ERROR, None)
    error = found["beside"].error
    assert error is not None
    assert (error.kind, "the template was changed while the run went on" in error.message) == ("template", True)
    assert not found["beside"].attempts


def test_nor_has_one_whose_template_was_changed_while_its_world_was_made(run_file: Callable[..., Run]) -> None:
    text = TWO.format(tasks=["prepares"], prepare="prepare")
    run = run_file(text, beside={"start/r.txt": "good"}, retries=0)
    (record,) = run.trials()
    assert (record.status, record.passed) == (Status.ENVIRONMENT_ERROR, None)
    assert record.error is not None
    assert record.error.kind == "template"


def test_an_agent_that_only_says_so_has_failed(run_file: Callable[..., Run]) -> None:
    text = """
        from passhat import Suite, Task
        from passhat.trial import WorkspaceError

        def agent(trial):
            trial._workspace.refused = WorkspaceError("the template was changed while the run went on")
            return "done"

        suite = Suite("says", tasks=[Task("a")], agent=agent, graders=[lambda trial: True], template="start")
    """
    (record,) = run_file(text, beside={"start/r.txt": "good"}).trials()
    assert (record.status, record.passed) == (Status.AGENT_ERROR, False)
    assert record.error is not None
    assert record.error.kind == "raised"


def test_an_agent_that_puts_a_folder_in_the_template_s_place_that_was_made_before_it_has_failed(
    run_file: Callable[..., Run],
) -> None:
    text = """
        import os
        from pathlib import Path
        from passhat import Suite, Task

        HERE = Path(__file__).parent

        def agent(trial):
            if trial.number == 0:
                (HERE / "other/start").mkdir(parents=True)
                (HERE / "other/start/r.txt").write_text("other")
            else:
                os.rename(HERE / "up", HERE / "kept")
                os.rename(HERE / "other", HERE / "up")
                trial.workspace
            return "done"

        suite = Suite("puts", tasks=[Task("a")], agent=agent, graders=[lambda trial: False], trials=2,
                      template="up/start")
    """
    run = run_file(text, beside={"up/start/r.txt": "good"}, concurrency=1)
    assert [(record.status, record.passed) for record in run.trials()] == [
        (Status.COMPLETED, False),
        (Status.AGENT_ERROR, False),
    ]
