"""A file that graders are refused since it changed: the failure of the trial whose agent did that, if known."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from passhat.facts import Status, TrialRecord
from passhat.running import Run
from passhat.running._spans import Spans, next_stamp
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
CHANGE = '(HERE / "lazy_rules.py").write_text("def right(trial): return True\\n")'
RULES = {"lazy_rules.py": "def right(trial): return trial.output == 'right'\n"}
ALONE = """
    def is_over():  # no trial that comes next can have begun when the file was changed, by any clock
        while time.time_ns() < (HERE / "lazy_rules.py").stat().st_ctime_ns + 30_000_000:
            pass

    DO = {
        "before": lambda: None,
        "changes": lambda: (CHANGE, is_over()),
        "after": lambda: None,
    }
"""
TOGETHER = """
    DO = {
        "changes": lambda: (wait_for("ready"), CHANGE, (HERE / "changed").touch()),
        "beside": lambda: ((HERE / "ready").touch(), wait_for("changed")),
    }
"""


def suite(do: str) -> str:
    return SUITE.replace("    def agent(", do.replace("CHANGE", CHANGE) + "\n    def agent(", 1)


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
            "changes": (Status.AGENT_ERROR, False),
            "after": (Status.GRADER_ERROR, None),
        }
        error = found["changes"].error
        assert error is not None
        assert "lazy_rules.py was written or changed after the run had begun, while this trial's" in error.message
        assert "lazy_rules.py was changed when this trial's agent wasn't under way" in " ".join(found["after"].notes)
        report = summarize(run.manifest, run.trials())
        assert (report.trials.missing, report.exit_code) == (1, 3)
        assert [finding.rule for finding in report.findings].count("refused-code") == 1
        alone = summarize(run.manifest, [found["before"], found["changes"]])
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


WORLD = """
    from contextlib import contextmanager

    def make():
        (HERE / "lazy_rules.py").write_text("def right(trial): return trial.output == 'right'\\n")

    def prepare(trial):
        if trial.task_id == "prepare":
            make()

    @contextmanager
    def environment(trial):
        if getattr(trial, "task_id", "") == "environment":
            make()
        yield

    DO = {"prepare": lambda: None, "environment": lambda: None, "agent": lambda: make()}
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no process isolation")
class TestWhatMakesTheWorld:
    @pytest.mark.parametrize("isolation", ["process", "spawn"])
    def test_is_no_deed_of_the_agent_that_begins_after_it(self, run_file: Callable[..., Run], isolation: str) -> None:
        made = suite(WORLD).replace("trials=1)", "trials=1, prepare=prepare, environment=environment)")
        found = ends(run_file(made, isolation=isolation, concurrency=1, order="task"))
        assert {task: (record.status, record.passed) for task, record in found.items()} == {
            "prepare": (Status.GRADER_ERROR, None),
            "environment": (Status.GRADER_ERROR, None),
            "agent": (Status.AGENT_ERROR, False),
        }
        for name in ("prepare", "environment"):
            notes = " ".join(found[name].notes)
            assert "lazy_rules.py was written while this trial's world was made" in notes
            assert "Make it before the run begins" in notes

    def test_may_write_again_what_was_there(self, run_file: Callable[..., Run]) -> None:
        made = suite(WORLD).replace("trials=1)", "trials=1, prepare=prepare, environment=environment)")
        found = ends(run_file(made, beside=RULES, concurrency=1))
        assert {record.status for record in found.values()} == {Status.COMPLETED}


def test_a_stamp_before_the_agent_s_turn_is_told_from_one_in_it(clock: list[int]) -> None:
    span = Spans().begin("a")
    assert not span.before_turn(clock[0])
    span.turn = clock[0] + 5
    assert span.before_turn(clock[0] + 4)
    assert not span.before_turn(clock[0] + 5)


def test_the_next_stamp_was_given_to_nothing_yet(tmp_path: Path) -> None:
    (tmp_path / "before").touch()
    stamp = next_stamp()
    (tmp_path / "after").touch()
    assert (tmp_path / "before").stat().st_ctime_ns < stamp <= (tmp_path / "after").stat().st_ctime_ns
