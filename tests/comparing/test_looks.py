"""A comparison of arms that stops when it is decided: planned looks after batches of tasks, and an error kept."""

from __future__ import annotations

import asyncio
import json
import random
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

import passhat
from passhat.comparing import Comparison, compare
from passhat.facts import Grade, Manifest, Status, Task, TrialRecord
from passhat.reporting import render_comparison, render_terminal
from passhat.running import RunError
from passhat.running._looking import Looking, draw_batches
from passhat.running._plan import plan
from passhat.suite import Suite
from passhat.summary import summarize

Rates = Sequence[tuple[float, ...]]


def manifest(tasks: int, trials: int, arms: tuple[str, ...] = ("old", "new"), **fields: Any) -> Manifest:
    """A run of tasks t0, t1 … that may stop early."""
    facts: dict[str, Any] = {"suite": "shop", "model_source": "live", "trials": trials, "arms": arms, "seed": 5}
    facts |= {"run_id": "r", "task_ids": tuple(f"t{place}" for place in range(tasks)), "stop": "when-decided"}
    run = Manifest(**{**facts, "baseline": arms[0], "state": "finished", **fields})
    return msgspec.structs.replace(run, batches=draw_batches(run))


def played(run: Manifest, rates: Rates, rng: random.Random) -> list[TrialRecord]:
    """The records of the run with so high rates (a row a task, a column an arm), as the runner would leave them."""
    looking = Looking(run)
    known = {f"t{place}": dict(zip(run.arms, row, strict=True)) for place, row in enumerate(rates)}
    tasks = [Task(name, input=name) for name in run.task_ids]
    records = []
    for planned in plan(tasks, run.trials, seed=run.seed, arms=run.arms, batches=run.batches):
        status = Status.NOT_NEEDED if looking.decided else Status.COMPLETED
        passed = None if looking.decided else rng.random() < known[planned.task.id][planned.arm]
        record = TrialRecord(task=planned.task.id, trial=planned.trial, arm=planned.arm, status=status, passed=passed)
        records.append(record)
        looking.see(record)
    return records


def compared(run: Manifest, records: Sequence[TrialRecord], **options: Any) -> Comparison:
    """All arms against the baseline."""
    reports = [summarize(run, iter(records), arm=arm, ks=(1,), gates=()) for arm in run.arms]
    return compare(*reports, ks=(), **options)


def test_batches_are_equal_whole_drawn_by_the_seed_and_keep_families_together() -> None:
    run = manifest(40, 2, task_families={f"t{place}": f"f{place // 2}" for place in range(20)})
    assert sorted(task for batch in run.batches for task in batch) == sorted(run.task_ids)
    assert len(run.batches) == 4  # 30 independent units
    assert max(map(len, run.batches)) <= 16
    for batch in run.batches:
        for place in range(0, 20, 2):
            assert (f"t{place}" in batch) == (f"t{place + 1}" in batch)
    assert draw_batches(run) == run.batches
    other = draw_batches(msgspec.structs.replace(run, seed=6))
    assert other != run.batches
    assert [len(batch) for batch in manifest(80, 1).batches] == [16] * 5


def test_a_large_difference_stops_at_an_early_look_and_says_which() -> None:
    run = manifest(40, 3)
    records = played(run, [(0.1, 0.9)] * 40, random.Random(1))
    left = sum(record.status is Status.NOT_NEEDED for record in records)
    assert left == 120
    (found,) = compared(run, records).candidates
    assert (found.verdict, found.pairs, found.total) == ("better", 20, 20)
    assert found.look is not None
    assert (found.look.look, found.look.looks, found.look.tasks, found.look.planned) == (2, 4, 20, 40)
    assert found.look.p <= found.look.boundary == pytest.approx(0.0042, abs=1e-4)
    assert "look 2 of 4, after 20 of 40 tasks, p < .001, boundary p < .0042: +" in found.message
    assert found.blocked == ()
    finding = next(each for each in found.findings if each.rule == "stopped-early")
    assert "no estimate" in finding.message


def test_without_a_difference_all_looks_are_taken_and_nothing_is_left_out() -> None:
    run = manifest(24, 4)
    records = played(run, [(0.5, 0.5)] * 24, random.Random(8))
    assert all(record.status is Status.COMPLETED for record in records)
    (found,) = compared(run, records).candidates
    assert found.look is not None
    assert (found.look.look, found.look.stopped, found.verdict) == (3, False, "can't tell")
    assert "stopped-early" not in [each.rule for each in found.findings]


def test_a_candidate_that_is_worse_fails_and_the_margin_is_kept() -> None:
    run = manifest(40, 3)
    records = played(run, [(0.9, 0.2)] * 40, random.Random(3))
    assert compared(run, records).exit_code == 1
    assert compared(run, records, margin=0.95).exit_code == 0


def test_with_several_candidates_the_run_goes_on_until_the_last_is_decided() -> None:
    run = manifest(40, 3, ("old", "new", "same"))
    records = played(run, [(0.3, 0.95, 0.3)] * 40, random.Random(4))
    assert all(record.status is Status.COMPLETED for record in records)
    new, same = compared(run, records).candidates
    assert (new.verdict, same.verdict) == ("better", "can't tell")
    assert new.look is not None
    assert same.look is not None
    assert (new.look.look < 4, same.look.look) == (True, 4)
    assert new.look.boundary == pytest.approx(same_boundary(new.look.look))


def same_boundary(look: int) -> float:
    """O'Brien and Fleming's bound with half the error, as a p value."""
    from passhat.stats import paired_look

    return paired_look([0.1], look, 4, level=0.975).bound


@pytest.mark.parametrize("lost", [0, 8])
def test_trials_without_a_verdict_must_not_decide(lost: int) -> None:
    run = manifest(24, 10)
    looking = Looking(run)
    records = []
    for task in (task for batch in run.batches for task in batch):
        for arm in run.arms:
            for trial in range(10):
                passed = None if arm == "old" and trial < lost else arm == "new" and trial % 2 == 0
                status = Status.GRADER_ERROR if passed is None else Status.COMPLETED
                records.append(TrialRecord(task=task, trial=trial, arm=arm, status=status, passed=passed))
                looking.see(records[-1])
    assert looking.decided is (lost == 0)  # the baseline's lost trials may all have passed
    (found,) = compared(run, records).candidates
    assert found.verdict == ("can't tell" if lost else "better")


def test_a_shared_family_counts_once_at_a_look() -> None:
    families = {f"t{place}": "one" for place in range(30)}
    run = manifest(36, 3, task_families=families)
    records = played(run, [(0.0, 1.0)] * 30 + [(0.5, 0.5)] * 6, random.Random(5))
    assert all(record.status is Status.COMPLETED for record in records)


def suite(agents: dict[str, Any], tasks: int = 24, **fields: Any) -> Suite:
    return Suite(
        "arms",
        tasks=[Task(f"t{place}", input=place) for place in range(tasks)],
        agents=agents,
        graders=[lambda trial: Grade(trial.output)],
        **{"trials": 2, "seed": 3, **fields},
    )


BAD_AND_GOOD = {"old": lambda trial: False, "new": lambda trial: True}


@pytest.mark.parametrize("concurrency", [1, 5])
def test_a_run_with_arms_stops_and_its_manifest_holds_the_plan(tmp_path: Path, concurrency: int) -> None:
    run = passhat.run(suite(BAD_AND_GOOD), root=tmp_path, stop="when-decided", concurrency=concurrency)
    records = list(run.trials())
    assert len(records) == 96
    assert len(run.manifest.batches) == 3
    done = {record.task for record in records if record.status is Status.COMPLETED}
    assert done == {task for batch in run.manifest.batches[:2] for task in batch}  # whole batches, and no more
    (found,) = compared(run.manifest, records).candidates
    assert found.look is not None
    assert (found.verdict, found.look.look) == ("better", 2)
    again = passhat.resume(run.path, suite(BAD_AND_GOOD), root=tmp_path)
    assert len(list(again.trials())) == 96


def test_a_run_that_is_ended_by_its_own_limit_waits_for_no_look(tmp_path: Path) -> None:
    def slow(trial: Any) -> bool:
        with trial.at_cancel(over.set):
            return over.wait(30)

    over = threading.Event()
    limits = passhat.Limits(run_seconds=0.2)
    run = passhat.run(
        suite({"old": slow, "new": slow}), root=tmp_path, stop="when-decided", concurrency=40, limits=limits
    )
    assert run.manifest.state == "stopped"


def test_what_waits_for_a_look_is_let_go_when_the_run_ends() -> None:
    run = manifest(24, 1)
    looking = Looking(run)
    tasks = [Task(name, input=name) for name in run.task_ids]
    last = plan(tasks, run.trials, seed=run.seed, arms=run.arms, batches=run.batches)[-1]

    async def wait() -> None:
        waiting = asyncio.create_task(looking.ready(last))
        await asyncio.sleep(0)
        assert not waiting.done()
        looking.give_up()
        await asyncio.wait_for(waiting, 10)

    asyncio.run(wait())


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"tasks": 5}, "5 independent tasks can never show a difference"),
        ({"gates": ["pass@1 >= 0.5"], "trials": 9}, "its gates need all trials"),
        ({"order": "task"}, "would leave tasks untried"),
    ],
)
def test_a_comparison_that_cannot_stop_is_refused(tmp_path: Path, fields: dict[str, Any], part: str) -> None:
    with pytest.raises(RunError, match=part):
        passhat.run(suite(BAD_AND_GOOD, **fields), root=tmp_path, stop="when-decided")
    assert not (tmp_path / "runs").exists()


def test_the_page_and_the_json_tell_the_look() -> None:
    run = manifest(40, 3)
    found = compared(run, played(run, [(0.1, 0.9)] * 40, random.Random(1)))
    text = " ".join(render_comparison(found, width=60, unicode=False).split())
    assert "look 2 of 4, after 20 of 40 tasks, p < .001, boundary p < .0042" in text
    look = json.loads(found.to_json())["candidates"][0]["look"]
    assert (look["look"], look["looks"], look["stopped"]) == (2, 4, True)


def test_tasks_that_were_not_needed_stand_last_in_a_report() -> None:
    run = manifest(40, 3)
    records = played(run, [(0.1, 0.9)] * 40, random.Random(1))
    text = render_terminal(summarize(run, iter(records), arm="old"))
    shown = [line.split()[1:] for line in text.splitlines() if re.match(r" +t\d+ ", line)]
    assert len(shown) > 10
    assert not any("0/0" in line for line in shown)
    assert "the comparison of its arms was decided" in " ".join(text.split())


def stopping(rounds: int, lift: float, seed: int, *, tasks: int = 24, trials: int = 5) -> tuple[float, float]:
    """How often a difference is claimed at some look, and the mean share of tasks that were run."""
    rng = random.Random(seed)
    run = manifest(tasks, trials)
    claimed = used = 0.0
    for _ in range(rounds):
        rates = [(rate, min(1.0, rate + lift)) for rate in (rng.uniform(0.2, 0.8) for _ in range(tasks))]
        share, shown = _stopped(run, rates, rng)
        claimed += shown
        used += share
    return claimed / rounds, used / rounds


def _stopped(run: Manifest, rates: Rates, rng: random.Random) -> tuple[float, bool]:
    """The share of tasks run, and whether a difference was shown."""
    looking = Looking(run)
    known = {f"t{place}": row for place, row in enumerate(rates)}
    tried = 0
    for batch in run.batches:
        tried += len(batch)
        for record in _records(run, batch, known, rng):
            looking.see(record)
        if looking.decided:
            break
    return tried / len(rates), looking.decided


def _records(
    run: Manifest, batch: Sequence[str], known: dict[str, tuple[float, ...]], rng: random.Random
) -> Iterator[TrialRecord]:
    for task in batch:
        for arm, rate in zip(run.arms, known[task], strict=True):
            for trial in range(run.trials):
                passed = rng.random() < rate
                yield TrialRecord(task=task, trial=trial, arm=arm, status=Status.COMPLETED, passed=passed)


def test_looking_keeps_the_error_in_short() -> None:
    claimed, used = stopping(250, 0.0, seed=1)
    assert claimed <= 0.065
    assert used > 0.98
    claimed, used = stopping(80, 0.4, seed=2)
    assert claimed > 0.95
    assert used < 0.75


def test_what_the_run_stopped_by_is_what_the_comparison_says() -> None:
    rng = random.Random(7)
    run = manifest(24, 3)
    for _ in range(25):
        lift = rng.choice((-0.5, -0.3, 0.0, 0.3, 0.5))
        rates = [(rate, rate + lift) for rate in (rng.uniform(0.3, 0.7) for _ in range(24))]
        records = played(run, rates, rng)
        (found,) = compared(run, records).candidates
        stopped = any(record.status is Status.NOT_NEEDED for record in records)
        assert found.look is not None
        assert found.look.stopped is stopped
        assert (found.verdict in ("better", "worse")) == (found.look.p <= found.look.boundary)
        assert not stopped or found.verdict in ("better", "worse")


@pytest.mark.slow
@pytest.mark.parametrize(("tasks", "trials"), [(24, 5), (24, 1), (40, 3), (80, 2)])
def test_looking_keeps_the_error_over_many_suites(tasks: int, trials: int) -> None:
    claimed, used = stopping(2000, 0.0, seed=11, tasks=tasks, trials=trials)
    print(f"{tasks} x {trials}: false alarms {claimed:.4f}, tasks used {used:.3f}")
    assert claimed <= 0.065
    assert used > 0.98


@pytest.mark.slow
def test_looking_finds_15_points_almost_as_often_and_large_differences_sooner() -> None:
    claimed, used = stopping(1500, 0.15, seed=12)
    large, sooner = stopping(500, 0.3, seed=13)
    print(f"+15 points: found {claimed:.3f}, tasks used {used:.3f}; +30: {large:.3f}, {sooner:.3f}")
    assert claimed >= 0.55
    assert large > 0.98
    assert sooner < 0.8
