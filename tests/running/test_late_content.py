"""Modules that graders import late, and what happens to their files while a run goes on: what counts is the content."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from passhat.facts import Status
from passhat.running import Run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no process isolation")

SUITE = """
    import os
    from pathlib import Path
    from passhat import Suite, Task

    RULES = Path(__file__).parent / "lazy_rules.py"
    RIGHT = RULES.read_text()

    def put_back():
        RULES.write_text("right = bool")
        RULES.write_text(RIGHT)

    def by_utime():
        stat = RULES.stat()
        RULES.write_text("right = bool".ljust(len(RIGHT)))
        os.utime(RULES, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    DO = {"mode": lambda: RULES.chmod(RULES.stat().st_mode), "link": lambda: os.link(RULES, RULES.parent / "copy"),
          "back": put_back, "utime": by_utime}

    def agent(trial):
        DO[trial.task_id]()
        return "right"

    def judged(trial):
        import lazy_rules
        return lazy_rules.right(trial)

    suite = Suite("late", tasks=[Task(name) for name in DO], agent=agent, graders=[judged])
"""
RULES = {"lazy_rules.py": "def right(trial): return trial.output == 'right'\n"}


@pytest.mark.parametrize("isolation", ["process", "spawn"])
def test_a_file_that_is_what_it_was_judges_and_one_that_is_not_is_refused(
    run_file: Callable[..., Run], isolation: str
) -> None:
    run = run_file(SUITE, isolation=isolation, beside=RULES, concurrency=1, order="task")
    assert {record.task: (record.status, record.passed) for record in run.trials()} == {
        "mode": (Status.COMPLETED, True),
        "link": (Status.COMPLETED, True),
        "back": (Status.COMPLETED, True),
        "utime": (Status.AGENT_ERROR, False),
    }


CHILDREN = """
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context
    from pathlib import Path
    from passhat import Suite, Task
    from helper import judged

    RULES = Path(__file__).parent / "lazy_rules.py"

    def agent(trial):
        RULES.chmod(RULES.stat().st_mode)
        if trial.task_id == "changes":
            RULES.write_text("right = bool")
        return "right"

    def in_a_child(trial):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            return pool.submit(judged, trial.output).result(60)

    suite = Suite("late", tasks=[Task("touches"), Task("changes")], agent=agent, graders=[in_a_child])
"""
HELPER = """
def judged(output):
    import lazy_rules
    return lazy_rules.right(output)
"""


def test_so_it_is_for_what_a_grader_s_workers_import(run_file: Callable[..., Run]) -> None:
    rules = {"lazy_rules.py": "def right(output): return output == 'right'\n", "helper.py": HELPER}
    run = run_file(CHILDREN, beside=rules, concurrency=1, order="task")
    assert [(record.status, record.passed) for record in run.trials()] == [
        (Status.COMPLETED, True),
        (Status.AGENT_ERROR, False),
    ]
