"""A gate that wasn't met and is run again on the same code is another look at it, and says what that risks."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from passhat.facts import GitState, Manifest, Status, TrialRecord
from passhat.records import RunReader, RunWriter
from passhat.suite import Gate
from passhat.summary import EarlierLooks, GateRow, Report, same_thing, summarize
from passhat.summary._looks import error_of_looks, level_at

GATE = "pass@1 >= 0.7"
CLEAN = GitState("c0ffee", False)
Record = Callable[..., Path]


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """A finished run of one task with so many passes of 20 trials; its directory."""

    def made(passes: int, *, day: int, task: str = "t", state: Any = "finished", ran: int = 20, **fields: Any) -> Path:
        facts: dict[str, Any] = {"suite": "shop", "model_source": "live", "tasks_hash": "h", "git": CLEAN}
        facts |= {"task_ids": (task,), "trials": 20, "gates": (GATE,), "started": f"2026-11-{day:02d}T10:00:00.000Z"}
        writer = RunWriter.create(Manifest(run_id="", **(facts | fields)), root=tmp_path)
        good = random.Random(day).sample(range(ran), passes)
        for trial in range(ran):
            writer.append(TrialRecord(task=task, trial=trial, status=Status.COMPLETED, passed=trial in good), None)
        if state != "running":
            writer.finish(state, seconds=1.0)
        writer.close()
        return writer.path

    return made


def judged(path: Path, gate: str = GATE) -> GateRow:
    """The gate as the command line judges it."""
    reader = RunReader(path)
    looks = EarlierLooks(reader.manifest, path.parent.parent).of((gate,))
    (row,) = summarize(reader.manifest, reader.trials(), gates=(gate,), looks=looks).gates
    return row


def test_the_first_look_has_the_whole_error_and_no_word_of_looks(record: Record) -> None:
    row = judged(record(18, day=1))
    assert (row.looks, row.level, row.verdict) == (1, 0.95, "met")
    assert row.error == pytest.approx(0.05)
    assert "Look" not in row.message


def test_an_undecided_gate_run_again_until_green_says_its_true_error(record: Record) -> None:
    assert judged(record(16, day=1)).verdict == "undecided"
    second, third = record(16, day=2), record(18, day=3)
    assert (judged(second).looks, judged(second).level) == pytest.approx((2, 0.975))
    row = judged(third)
    assert (row.looks, row.verdict) == (3, "undecided")  # met at a first look
    assert row.level == pytest.approx(1 - 0.05 / 3)
    assert row.error == pytest.approx(1 - 0.95 * 0.975 * (1 - 0.05 / 3))
    assert "Look 3 at this gate" in row.message
    assert "up to 8.9 % of the time" in row.message
    again = judged(record(20, day=4))
    assert (again.looks, again.verdict) == (4, "met")
    report = summarize(RunReader(third).manifest, RunReader(third).trials(), looks={GATE: 3})
    assert "several-looks" in [finding.rule for finding in report.findings]


def test_a_gate_that_was_met_needs_no_other_look(record: Record) -> None:
    for day in (1, 2, 3):
        assert judged(record(20, day=day)).looks == 1
    assert judged(record(8, day=4)).verdict == "not met"
    assert judged(record(20, day=5)).looks == 2
    assert judged(record(20, day=6)).looks == 2


@pytest.mark.parametrize(
    "other",
    [
        {"git": GitState("decaf", False)},
        {"git": GitState("c0ffee", True, "other changes")},
        {"git": None},
        {"suite": "desk"},
        {"tasks_hash": "other"},
        {"graders": {"policy": "new"}},
        {"model_requested": "openai/new"},
        {"model_source": "simulated"},
    ],
)
def test_runs_of_another_thing_are_no_looks(record: Record, other: dict[str, Any]) -> None:
    record(16, day=1, **other)
    assert judged(record(16, day=2)).looks == 1


@pytest.mark.parametrize("state", ["interrupted", "stopped", "running"])
def test_a_run_broken_off_when_it_looked_bad_is_a_look(record: Record, state: str) -> None:
    record(9, day=1, state=state, trials=40, models_reported={})
    row = judged(record(18, day=2, models_reported={"gpt-5-2@x": 3}))
    assert (row.looks, row.verdict) == (2, "undecided")
    assert "a run that was broken off is a look too" in row.message


def test_a_run_broken_off_before_its_first_verdict_or_after_its_gate_was_met_is_no_look(record: Record) -> None:
    record(0, day=1, state="interrupted", trials=40, ran=0)
    record(40, day=2, state="interrupted", trials=41, ran=40)
    assert judged(record(18, day=3)).looks == 1


def test_an_agent_that_calls_no_model_is_the_same_agent_before_and_after_its_run_has_finished(record: Record) -> None:
    record(9, day=1, state="interrupted", trials=40, source_planned="live")
    assert judged(record(18, day=2, model_source="unseen", source_planned="live")).looks == 2


def test_a_session_that_is_going_on_is_no_earlier_look_at_itself(record: Record, tmp_path: Path) -> None:
    here = RunWriter.create(Manifest(run_id="", suite="shop", git=CLEAN), root=tmp_path)
    here.append(TrialRecord(task="test_a", trial=0, status=Status.COMPLETED, passed=False), None)
    assert EarlierLooks(Manifest(run_id="", suite="shop", git=CLEAN), tmp_path).at(GATE, task="test_a") == 1
    here.close()
    assert EarlierLooks(Manifest(run_id="", suite="shop", git=CLEAN), tmp_path).at(GATE, task="test_a") == 2


def test_runs_that_other_models_answered_are_no_looks(record: Record) -> None:
    record(16, day=1, models_reported={"gpt-5-2@x": 3})
    assert judged(record(16, day=2, models_reported={"gpt-5-3@x": 3})).looks == 1
    assert judged(record(16, day=3)).looks == 3  # who answered isn't known: it may be both


def test_the_same_changes_or_files_are_the_same_code_and_unknown_changes_are_not(record: Record) -> None:
    told: list[dict[str, Any]] = [
        {"git": GitState("c0ffee", True, "d1")},
        {"git": GitState("c0ffee", True), "files": {"agent.py": "f1"}},
        {"git": None, "files": {"agent.py": "f1"}},
    ]
    for place, same in enumerate(told):
        record(16, day=3 * place + 1, **same)
        assert judged(record(16, day=3 * place + 2, **same)).looks == 2
    assert same_thing(Manifest(run_id="", suite="s", git=GitState("c0ffee", True))) is None
    assert same_thing(Manifest(run_id="", suite="s")) is None


def test_other_gates_of_the_same_runs_have_looks_of_their_own(record: Record) -> None:
    record(16, day=1)
    path = record(16, day=2)
    assert judged(path, "pass@1 >= 0.5").looks == 1
    assert judged(path, "pass@1 >= 0.9").looks == 2


def test_one_test_of_a_session_has_looks_of_its_own(record: Record, tmp_path: Path) -> None:
    record(16, day=1, task="test_a")
    this = Manifest(run_id="", suite="shop", git=CLEAN, started="2026-11-09")
    looks = EarlierLooks(this, tmp_path)
    assert (looks.at(GATE, task="test_a"), looks.at(GATE, task="test_b")) == (2, 1)
    assert EarlierLooks(Manifest(run_id="", suite="shop", git=CLEAN), tmp_path).at(GATE, task="test_a") == 2


def until_green(rounds: int, most: int, seed: int, *, counted: bool) -> float:
    """How often an agent that just misses the bar is called green within so many runs of 20 trials."""
    rng, gate = random.Random(seed), Gate.parse(GATE)
    green = 0
    for _ in range(rounds):
        for look in range(1, most + 1):
            passes = sum(rng.random() < 0.6999 for _ in range(20))
            level = level_at(gate, look if counted else 1)
            if bound(passes, round(level, 9)) >= 0.7:
                green += 1
                break
    return green / rounds


def bound(passes: int, level: float) -> float:
    """The lower bound after 20 trials."""
    from passhat.stats import clopper_pearson

    key = (passes, level)
    if key not in _BOUNDS:
        _BOUNDS[key] = clopper_pearson(passes, 20, level=level, side="lower").low
    return _BOUNDS[key]


_BOUNDS: dict[tuple[int, float], float] = {}


def test_a_test_that_runs_with_two_arms_is_looked_at_arm_by_arm(tmp_path: Path) -> None:
    """The other arm's trials are no missing ones: an undecided gate of this arm stays a look."""
    facts: dict[str, Any] = {"suite": "shop", "model_source": "live", "git": CLEAN, "arms": ("old", "new")}
    facts |= {"task_ids": ("test_a",), "trials": 20, "started": "2026-11-01T10:00:00.000Z"}
    with RunWriter.create(Manifest(run_id="", **facts), root=tmp_path) as writer:
        for arm, good in (("old", 16), ("new", 20)):
            for trial in range(20):
                fields: dict[str, Any] = {"status": Status.COMPLETED, "passed": trial < good, "arm": arm}
                writer.append(TrialRecord(task="test_a", trial=trial, **fields), None)
        writer.finish("finished", seconds=1.0)
    looks = EarlierLooks(Manifest(run_id="", suite="shop", git=CLEAN, arms=("old", "new")), tmp_path)
    assert [looks.at(GATE, task="test_a", arm=arm) for arm in ("old", "new")] == [2, 1]


def test_running_until_green_meets_a_bar_no_more_often_than_is_said() -> None:
    gate = Gate.parse(GATE)
    assert until_green(4000, 5, 1, counted=True) <= error_of_looks(gate, 5) + 0.01
    assert until_green(4000, 5, 1, counted=False) > error_of_looks(gate, 5)


def test_a_report_without_runs_to_look_back_at_is_as_before(report_of: Callable[..., Report]) -> None:
    (row,) = report_of({"a": "+" * 14}, gates=("pass@1 >= 0.8",)).gates
    assert (row.looks, row.verdict) == (1, "met")
