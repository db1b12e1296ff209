"""A file that graders are refused since it changed: the failure of the trial whose agent did that, if known."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import pytest

from passhat.facts import Status, TrialRecord
from passhat.running import Run
from passhat.running._spans import Spans
from passhat.summary import summarize

SUITE = """
    import os, time
    from pathlib import Path
    from passhat import Suite, Task

    HERE = Path(__file__).parent

    def wait_for(name):
        while not (HERE / name).exists():
            time.sleep(0.005)

    def agent(trial):
        DO[trial.task_id]()
        return "wrong"

    def judged(trial):
        import lazy_rules
        return lazy_rules.right(trial)

    suite = Suite("whose", tasks=[Task(name) for name in DO], agent=agent, graders=[judged], trials=1)
"""
RULES = {"lazy_rules.py": "def right(trial): return trial.output == 'right'\n"}
ALONE = """
    def is_over():  # no trial that comes next can have begun when the file was changed, by any clock
        while time.time_ns() < (HERE / "lazy_rules.py").stat().st_ctime_ns + 30_000_000:
            pass

    DO = {
        "before": lambda: None,
        "touches": lambda: (os.utime(HERE / "lazy_rules.py"), is_over()),
        "after": lambda: None,
    }
"""
TOGETHER = """
    DO = {
        "touches": lambda: (wait_for("ready"), os.utime(HERE / "lazy_rules.py"), (HERE / "touched").touch()),
        "beside": lambda: ((HERE / "ready").touch(), wait_for("touched")),
    }
"""


def suite(do: str) -> str:
    return SUITE.replace("    def agent(", do + "\n    def agent(", 1)


def ends(run: Run) -> dict[str, TrialRecord]:
    return {record.task: record for record in run.trials()}


@pytest.mark.skipif(sys.platform == "win32", reason="there is no process isolation")
@pytest.mark.parametrize("isolation", ["process", "spawn"])
class TestARun:
    def test_counts_it_against_the_agent_that_did_it_and_misses_the_trials_after_it(
        self, run_file: Callable[..., Run], isolation: str
    ) -> None:
        run = run_file(suite(ALONE), isolation=isolation, beside=RULES, order="task")
        found = ends(run)
        assert {task: (record.status, record.passed) for task, record in found.items()} == {
            "before": (Status.COMPLETED, False),
            "touches": (Status.AGENT_ERROR, False),
            "after": (Status.GRADER_ERROR, None),
        }
        error = found["touches"].error
        assert error is not None
        assert "lazy_rules.py was written or changed after the run had begun, while this trial's" in error.message
        assert "lazy_rules.py was changed when this trial's agent wasn't under way" in " ".join(found["after"].notes)
        report = summarize(run.manifest, run.trials())
        assert (report.trials.missing, report.exit_code) == (1, 3)
        assert [finding.rule for finding in report.findings].count("refused-code") == 1
        alone = summarize(run.manifest, [found["before"], found["touches"]])
        assert "refused-code" not in [finding.rule for finding in alone.findings]  # nothing to judge again

    def test_says_that_it_can_not_be_told_where_another_trial_was_under_way(
        self, run_file: Callable[..., Run], isolation: str
    ) -> None:
        run = run_file(suite(TOGETHER), isolation=isolation, beside=RULES, concurrency=2)
        for record in run.trials():
            assert (record.status, record.passed) == (Status.GRADER_ERROR, None)
            assert "changed while this trial and 1 other trial were under way: whose doing" in " ".join(record.notes)
        assert summarize(run.manifest, run.trials()).exit_code == 3


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The time in nanoseconds, which a test sets."""
    now = [1_000_000_000]
    monkeypatch.setattr(time, "time_ns", lambda: now[0])
    return now


def test_a_stamp_belongs_to_all_who_were_under_way_and_may_be_a_tick_early(clock: list[int]) -> None:
    spans = Spans()
    first = spans.begin("a")
    clock[0] += 1_000_000_000
    second = spans.begin("b")
    assert spans.owners(clock[0]) == {"a", "b"}
    assert spans.owners(clock[0] - 15_000_000) == {"a", "b"}
    assert spans.owners(clock[0] - 25_000_000) == {"a"}
    first.end()
    clock[0] += 1_000_000_000
    first.end()
    assert spans.owners(clock[0]) == {"b"}
    spans.forget(first)
    assert spans.owners(second.began) == {"a", "b"}  # b may still ask about it


def test_nothing_is_kept_that_nobody_can_ask_about(clock: list[int]) -> None:
    spans = Spans()
    for number in range(100):
        clock[0] += 1_000_000_000
        span = spans.begin(number)
        with spans.during("grading"):
            clock[0] += 1_000_000_000
        spans.forget(span)
    assert len(spans._spans) == 2
