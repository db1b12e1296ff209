"""Which grader pays for the end of a process in which several grade."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from passhat.facts import Grade, TrialRecord
from passhat.isolation import Ended
from passhat.running import Run
from passhat.running._process_grading import ProcessGrading
from passhat.running._process_orders import Graded


def first(trial: Any) -> bool:
    return True


def second(trial: Any) -> bool:
    return True


class Script:
    """A server that plays back what each process says and how it ends."""

    def __init__(self, *processes: tuple[list[Graded], Ended]) -> None:
        self.processes = list(processes)

    async def run_until_known(self, work: str, job: Any, on_event: Any, enough: Any) -> Ended:
        said, ended = self.processes.pop(0)
        for graded in said:
            on_event(msgspec.json.encode(graded))
        return ended


class Grading(ProcessGrading):
    """Without the orders."""

    def _job(self) -> Any:
        return None


def graded(*processes: tuple[list[Graded], Ended]) -> list[tuple[bool | None, str]]:
    limits = SimpleNamespace(grade_seconds=5.0)
    world = SimpleNamespace(graders=(first, second), grader_names=("first", "second"), limits=limits)
    grading = Grading(cast(Any, Script(*processes)), cast(Any, None), cast(Any, SimpleNamespace(world=world)))
    return [(grade.passed, grade.error or "") for grade in asyncio.run(grading.run())]


def says(index: int) -> Graded:
    return Graded(index, Grade(True, name=("first", "second")[index]))


def test_a_process_that_ends_after_a_grade_and_before_the_next_grader_costs_no_grade() -> None:
    for kind in ("timeout", "signalled", "exited"):
        end = Ended(kind=cast(Any, kind), phase="0")
        told = graded(([says(0)], end), ([says(1)], Ended(kind="returned", phase="1")))
        assert told == [(True, ""), (True, "")], kind


def test_a_process_that_ends_while_a_grader_works_costs_its_grade_alone() -> None:
    end = Ended(kind="timeout", phase="0")
    one, two = graded(([], end), ([says(1)], Ended(kind="returned", phase="1")))
    assert one[0] is None
    assert "TimeoutError" in one[1]
    assert two == (True, "")


LEAVES_SLOWLY = """
    import atexit, time
    from pathlib import Path
    from passhat import Suite, Task

    HERE = Path("{place}")

    def leave():
        give_up = time.monotonic() + 0.5
        while time.monotonic() < give_up and not (HERE / "recorded").exists():
            time.sleep(0.002)
        (HERE / "left").write_text("after" if (HERE / "recorded").exists() else "before")

    def agent(trial):
        if {workspace}:
            (trial.workspace / "answer.txt").write_text("1")
        return 1

    def right(trial):
        atexit.register(leave)
        return trial.output == 1

    suite = Suite("leaving", tasks=[Task("t")], agent=agent, graders=[right])
"""


class Recorded:
    """Says in a file that a trial is recorded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def started(self, planned: Any, totals: Any) -> None:
        pass

    def finished(self, record: TrialRecord, totals: Any) -> None:
        (self.folder / "recorded").touch()

    def ended(self, state: str, totals: Any) -> None:
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux")
@pytest.mark.parametrize(("workspace", "left"), [(False, "after"), (True, "before")])
def test_a_trial_waits_for_the_end_of_its_graders_process_only_where_that_could_change_something(
    run_file: Callable[..., Run], tmp_path: Path, workspace: bool, left: str
) -> None:
    text = LEAVES_SLOWLY.replace("{workspace}", str(workspace)).replace("{place}", str(tmp_path))
    run = run_file(text, progress=Recorded(tmp_path))
    assert [record.passed for record in run.trials()] == [True]
    assert (tmp_path / "left").read_text() == left  # the run's end waits for it
