"""Which grader pays for the end of a process in which several grade."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import msgspec

from passhat.facts import Grade
from passhat.isolation import Ended
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

    async def run(self, work: str, job: Any, on_event: Any) -> Ended:
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
