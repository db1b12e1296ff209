"""Samples for release reviews: probabilities that are kept, and who reads what."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from passhat.facts import Status, TrialRecord
from passhat.reviewing import ReviewError, read_plan, sampling_plan, write_plan

RARE = [
    TrialRecord(f"t{i % 4}", i // 4, Status.TIMEOUT if i % 20 == 0 else Status.COMPLETED, i % 20 != 0, tags=("x",))
    for i in range(200)
]


def test_a_proportional_sample_gives_every_trial_the_same_probability_and_each_stratum_its_share() -> None:
    drawn: Counter[tuple[str, int]] = Counter()
    for seed in range(1_000):
        plan = sampling_plan(RARE, "r", n=20, by=("task", "status"), seed=seed)
        assert len({(item.task, item.trial) for item in plan.items}) == 20
        assert {(item.probability, item.weight) for item in plan.items} == {(0.1, 10.0)}
        assert all(abs(got - size / 10) <= 1 for got, size in plan.strata.values())
        drawn.update((item.task, item.trial) for item in plan.items)
    # 200 trials, each 100 times on average; standard deviation 9.5
    assert len(drawn) == 200
    assert all(abs(number - 100) < 45 for number in drawn.values())


def test_any_two_trials_of_a_stratum_may_be_drawn_together() -> None:
    records = [TrialRecord("t", i, Status.COMPLETED, True) for i in range(10)]
    together: Counter[tuple[int, int]] = Counter()
    for seed in range(400):
        drawn = sorted(item.trial for item in sampling_plan(records, "r", n=5, seed=seed).items)
        together.update((a, b) for a in drawn for b in drawn if a < b)
    # each of the 45 pairs 400 x 2/9 = 89 times on average
    assert len(together) == 45
    assert min(together.values()) > 50


def test_an_even_sample_sees_rare_strata_and_its_weights_give_the_run_back() -> None:
    estimates = []
    for seed in range(300):
        plan = sampling_plan(RARE, "r", n=20, by=("status",), allocation="even", seed=seed)
        assert plan.strata == {"timeout": (10, 10), "completed": (10, 190)}
        assert math.fsum(item.weight for item in plan.items) == pytest.approx(200)
        early = {("t0", 0), ("t1", 1), ("t2", 2), ("t0", 5)}
        estimates.append(math.fsum(item.weight for item in plan.items if (item.task, item.trial) in early))
    # the weighted count of four trials is unbiased; its standard error over 300 draws is .4
    assert math.fsum(estimates) / 300 == pytest.approx(4, abs=1.6)
    assert {item.sample for item in plan.for_reader("anybody")} == {"weighted"}


def test_trials_are_dealt_out_evenly_and_the_overlap_is_read_by_two() -> None:
    plan = sampling_plan(RARE, "r", n=30, readers=("ann", "ben", "cy"), overlap=0.2)
    readers = Counter(len(item.readers) for item in plan.items)
    assert (readers, plan.overlap) == ({1: 24, 2: 6}, 6)
    load = [sum(name in item.readers for item in plan.items) for name in plan.readers]
    assert sorted(load) == [12, 12, 12]
    assert len({item.readers for item in plan.items if len(item.readers) == 2}) == 3
    assert len(plan.for_reader("ann")) == 12
    with pytest.raises(ReviewError, match="the plan is for ann, ben, cy, and not for 'dee'"):
        plan.for_reader("dee")


def test_a_plan_survives_its_file_and_is_of_one_run(tmp_path: Path) -> None:
    plan = sampling_plan(RARE, "r", n=5, readers=("ann", "ben"))
    path = tmp_path / "plan.jsonl"
    write_plan(plan, path)
    again = read_plan(path, "r")
    assert again == plan
    assert sum(drawn for drawn, _ in again.strata.values()) == 5
    assert again.for_reader("ben") == plan.for_reader("ben")
    with pytest.raises(ReviewError, match="is a plan for run r, and not for other"):
        read_plan(path, "other")
    path.write_bytes(path.read_bytes() + b"{nonsense\n")
    with pytest.raises(ReviewError, match=r"plan.jsonl, line 7: isn't part of a plan"):
        read_plan(path, "r")
    path.write_bytes(b"")
    with pytest.raises(ReviewError, match=r"plan.jsonl, line 1: isn't part of a plan"):
        read_plan(path, "r")
    with pytest.raises(ReviewError, match=r"gone.jsonl: can't be read"):
        read_plan(tmp_path / "gone.jsonl", "r")


def test_a_sample_larger_than_the_run_is_the_run() -> None:
    plan = sampling_plan(RARE[:7], "r", n=30)
    assert len(plan.items) == 7
    assert {item.weight for item in plan.items} == {1.0}


def test_only_trials_that_ran_can_be_drawn() -> None:
    others = [TrialRecord("x", i, status, None) for i, status in enumerate((Status.SKIPPED, Status.INTERRUPTED))]
    assert sampling_plan([*RARE[:3], *others], "r", n=9).eligible == 3
    with pytest.raises(ReviewError, match="r has no trial that could be read"):
        sampling_plan(others, "r", n=9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n=0: draw at least one trial"),
        ({"by": ("colour",)}, "by 'colour': a sample can be stratified by task, status"),
        ({"readers": ("ann", "ann")}, "each needs a name of their own"),
        ({"overlap": 1.5}, "overlap=1.5: must be a share"),
        ({"overlap": math.nan}, "overlap=nan: must be a share"),
        ({"n": 3, "allocation": "even"}, r"3 trials can't cover 5 strata: draw more \(--n 5\)"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_the_way_out(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ReviewError, match=message):
        sampling_plan(RARE, "r", **{"n": 20, **options})
