"""Stopping when the gates are decided: what isn't run is not needed, and the verdict is that of the whole plan."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import passhat
from passhat.facts import Grade, Status, Task, Usage
from passhat.running import RunError
from passhat.scripting import reply
from passhat.suite import Gate, Suite
from passhat.summary import Report, settle, summarize

TASKS = [Task(f"t{place}", input=place) for place in range(5)]


def suite(rate: float, **fields: Any) -> Suite:
    return Suite(
        "gated",
        agent=lambda trial: random.Random(trial.seed).random() < rate,
        graders=[lambda trial: Grade(trial.output)],
        **{"tasks": TASKS, "trials": 10, "gates": ["pass@1 >= 0.7"], "order": "shuffled", **fields},
    )


def report(run: passhat.Run) -> Report:
    return summarize(run.manifest, run.trials())


def test_a_gate_that_is_ruled_out_ends_the_run_early(tmp_path: Path) -> None:
    run = passhat.run(suite(0.0), root=tmp_path, stop="when-decided", seed=1)
    records = list(run.trials())
    left = [record for record in records if record.status is Status.NOT_NEEDED]
    assert len(records) == 50
    assert 20 < len(left) < 40  # even if all of these had passed
    found = report(run)
    assert (found.gates[0].verdict, found.trials.missing) == ("not met", 0)
    assert "were not needed" in found.gates[0].message
    assert "stopped-early" in [finding.rule for finding in found.findings]
    assert run.manifest.state == "finished"


def test_a_gate_out_of_reach_is_enough_where_undecided_fails(tmp_path: Path) -> None:
    run = passhat.run(suite(0.0, kind="regression"), root=tmp_path, stop="when-decided", seed=1)
    found = report(run)
    assert sum(record.status is Status.NOT_NEEDED for record in run.trials()) == 40
    assert (found.gates[0].verdict, found.exit_code) == ("undecided", 4)
    assert "out of reach" in found.gates[0].message


def test_a_gate_that_is_met_whatever_follows_ends_the_run_early(tmp_path: Path) -> None:
    run = passhat.run(suite(1.0), root=tmp_path, stop="when-decided", seed=1)
    found = report(run)
    assert found.gates[0].verdict == "met"
    assert found.gates[0].bound is not None
    assert found.gates[0].bound >= 0.7
    assert 0 < sum(record.status is Status.NOT_NEEDED for record in run.trials()) < 15


def test_a_run_in_full_has_no_trial_that_is_not_needed(tmp_path: Path) -> None:
    run = passhat.run(suite(0.0), root=tmp_path, seed=1)
    assert all(record.status is Status.COMPLETED for record in run.trials())


def test_a_resumed_run_knows_what_was_decided(tmp_path: Path) -> None:
    run = passhat.run(suite(0.0), root=tmp_path, stop="when-decided", seed=1)
    again = passhat.resume(run.path, suite(0.0), root=tmp_path)
    assert len(list(again.trials())) == 50
    assert report(again).gates[0].verdict == "not met"


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"gates": []}, "has no gate to decide"),
        ({"gates": ["dollars <= 1"]}, "can't be settled early"),
        ({"gates": ["pass@1 >= 0.4 of tasks like these"]}, "can't be settled early"),
        ({"order": "task"}, "would leave tasks untried"),
    ],
)
def test_what_cannot_be_stopped_without_an_error_is_refused(tmp_path: Path, fields: dict[str, Any], part: str) -> None:
    with pytest.raises(RunError, match=part):
        passhat.run(suite(1.0, **fields), root=tmp_path, stop="when-decided")
    assert not (tmp_path / "runs").exists()


def simulated(rounds: int, rate: float, seed: int) -> tuple[float, float, float]:
    """Share of "met" with stopping, share where the whole plan says otherwise, and the mean share of trials run."""
    rng = random.Random(seed)
    gate, tasks, trials = Gate.parse("pass@1 >= 0.8"), 10, 6
    met = differs = run = 0
    for _ in range(rounds):
        order = [task for task in range(tasks) for _ in range(trials)]
        rng.shuffle(order)
        counts = [[trials, 0, 0] for _ in range(tasks)]
        stopped = ""
        for place, task in enumerate(order):
            counts[task][1] += 1
            counts[task][2] += rng.random() < rate
            verdict = settle(gate, [(p, n, c) for p, n, c in counts]).verdict
            if verdict in ("met", "not met") and not stopped:
                stopped, run = verdict, run + place + 1
        met += stopped == "met"
        differs += bool(stopped) and stopped != verdict
        run += 0 if stopped else len(order)
    return met / rounds, differs / rounds, run / rounds / tasks / trials


def test_stopping_keeps_the_error_and_the_verdict_of_the_whole_plan() -> None:
    met, differs, run = simulated(150, 0.8, seed=1)
    assert met <= 0.05 + 0.02
    assert differs == 0
    assert run < 1


@pytest.mark.slow
def test_stopping_keeps_its_error_over_many_suites() -> None:
    met, differs, _ = simulated(4000, 0.8, seed=2)
    assert met <= 0.05
    assert differs == 0
    assert simulated(1000, 0.4, seed=3)[2] < 0.8


def test_tasks_that_were_never_tried_are_part_of_the_plan_that_is_judged(tmp_path: Path) -> None:
    tasks = [Task(f"t{place}", input=place) for place in range(100)]
    options: dict[str, Any] = {"tasks": tasks, "trials": 2, "kind": "regression", "order": "round"}
    run = passhat.run(suite(0.0, **options), root=tmp_path, stop="when-decided", seed=1)
    tried = {record.task for record in run.trials() if record.status is Status.COMPLETED}
    assert len(tried) < 60
    found = report(run)
    assert (found.gates[0].verdict, found.exit_code) == ("undecided", 4)  # out of reach, and not yet ruled out
    assert "out of reach" in found.gates[0].message


def test_a_gate_that_the_run_did_not_stop_for_is_incomplete(tmp_path: Path) -> None:
    run = passhat.run(suite(0.0), root=tmp_path, stop="when-decided", seed=1)
    gates = ("pass@1 >= 0.1", "score >= 0.5", "pass@1 >= 0.9")
    rows = summarize(run.manifest, run.trials(), gates=gates).gates
    assert [row.verdict for row in rows] == ["incomplete", "incomplete", "not met"]
    assert "trials that this gate needs were not run" in rows[0].message


def test_a_comparison_that_was_cut_short_is_resumed_batch_by_batch(tmp_path: Path, ask: Callable[..., str]) -> None:
    def arms(limits: passhat.Limits) -> Suite:
        return Suite(
            "arms",
            tasks=[Task(f"t{place}", input=place) for place in range(12)],
            agents={"old": lambda trial: ask(trial), "new": lambda trial: ask(trial)},
            graders=[lambda trial: Grade(trial.seed % 2 == 0)],
            simulation=lambda request, rng: reply("x", usage=Usage(1, 5, 0, 5, 0)),
            trials=2,
            limits=limits,
        )

    cut = passhat.run(arms(passhat.Limits(run_tokens=200)), root=tmp_path, stop="when-decided", seed=1, concurrency=20)
    assert cut.manifest.state == "stopped"
    first = {record.task for record in cut.trials()}
    assert first <= {task for batch in cut.manifest.batches[:2] for task in batch}
    again = passhat.resume(cut.path, arms(passhat.Limits()), root=tmp_path, concurrency=20, force=True)
    records = list(again.trials())
    assert (again.manifest.state, len(records)) == ("finished", 48)
    assert all(record.status is Status.COMPLETED for record in records)
