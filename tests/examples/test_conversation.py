"""The conversation example: its customers keep their role, and only an announced return that isn't there fails."""

from __future__ import annotations

import os
from pathlib import Path

import passhat
from passhat import Status
from passhat.agents import dialogue
from passhat.auditing import audit
from passhat.gateway import Gateway
from passhat.running import Entrance
from passhat.suite import discover

FOLDER = Path(__file__).parents[2] / "examples" / "conversation"


def test_the_example_runs_and_only_unkept_promises_fail(tmp_path: Path) -> None:
    (found,) = discover(FOLDER)
    with Gateway() as gateway:
        through = Entrance(gateway, dict(os.environ))
        run = passhat.run(found.suite, root=tmp_path, trials=4, seed=1, through=through)
    records = list(run.trials())
    assert {record.status for record in records} == {Status.COMPLETED}
    failed = {(record.task, name.name) for record in records for name in record.grades if name.passed is False}
    assert {task for task, _ in failed} <= {"broken", "too-small"}
    assert len({name for _, name in failed}) == 1
    by_task = {record.task: run.transcript(record) for record in records}
    assert [message.role for message in dialogue(by_task["changed-mind"])] == ["user", "assistant"] * 3


def test_its_references_pass_and_wrong_ones_fail() -> None:
    (found,) = discover(FOLDER)
    result = audit(found.suite, times=1, elsewhere=False)
    assert [each.message for each in result.findings if each.severity != "note"] == []
    assert (result.references, result.mutants.survived, result.mutants.score) == (3, 0, 1.0)
    assert {each.grader.split(" ")[0]: each.killed > 0 for each in result.graders} == {
        "rows": True,
        "asked_before_acting": True,
        "at": True,
    }
