"""What a plan says, and whether comparisons then find as much as it said."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from openai import OpenAI

import passhat
from passhat import Grade, Suite, Task, Trial
from passhat.facts import Manifest, Status, TrialRecord, Usage
from passhat.planning import Plan, PlanError, assumed, make_plan, pilot_of, power_of, variances
from passhat.scripting import reply
from passhat.stats import cmh, sign_flip
from passhat.summary import Judging, Report, summarize


def report(passes: list[int], n: int, *, dollars: float | None = None, name: str = "pilot") -> Report:
    records = [
        TrialRecord(
            task=f"t{place}",
            trial=trial,
            status=Status.COMPLETED,
            passed=trial < c,
            usage=Usage(1, dollars=dollars),
            seconds=3.0,
        )
        for place, c in enumerate(passes)
        for trial in range(n)
    ]
    return summarize(Manifest(run_id=name, suite="shop", trials=n, concurrency=2), records, gates=())


def test_the_variance_of_a_pilot_is_split_without_bias() -> None:
    rng = random.Random(1)
    rates = [rng.betavariate(2, 2) for _ in range(4000)]
    within, between = variances([(4, sum(rng.random() < p for _ in range(4))) for p in rates])
    assert within == pytest.approx(0.25 - 0.05, abs=0.01)
    assert between == pytest.approx(0.05, abs=0.01)


def test_a_pilot_whose_tasks_were_all_tuned_on_is_measured_by_them() -> None:
    found = report([3, 2, 1], 4)
    tuned = [msgspec.structs.replace(row, split="tune") for row in found.by_task]
    every, one = (
        msgspec.structs.replace(found, by_task=tuple(rows)) for rows in (tuned, [*found.by_task[:2], tuned[2]])
    )
    assert (pilot_of(every).tasks, pilot_of(every).rate) == (3, 0.5)
    assert pilot_of(one).tasks == 2  # where there are others it stands apart


def test_a_pilot_knows_its_price_and_unknown_money_stays_unknown() -> None:
    priced, unpriced = pilot_of(report([3, 2], 4, dollars=0.02)), pilot_of(report([3, 2], 4))
    assert priced.dollars == pytest.approx(0.02)
    assert (priced.seconds, priced.concurrency) == (3.0, 2)
    plan = make_plan(priced, tasks=100, trials=5)
    assert plan.now.all_trials == 1000
    assert plan.now.dollars == pytest.approx(20)
    assert plan.now.minutes == pytest.approx(25)
    assert make_plan(unpriced).now.dollars is None


def test_a_plan_of_a_runs_own_size_costs_what_two_such_runs_took(tmp_path: Path) -> None:
    ticks = itertools.count()
    answer = reply("x", usage=Usage(1, 90, 0, 10, 0, 0.02))

    def ask(trial: Trial) -> str:
        sent = [{"role": "user", "content": "hi"}]
        client = OpenAI(**trial.model.openai, max_retries=0)
        return str(client.chat.completions.create(model="m", messages=sent).choices[0].message.content)  # type: ignore[arg-type]

    suite = Suite(
        "costs",
        tasks=[Task(f"t{place}", input=place) for place in range(4)],
        agent=ask,
        graders=[lambda trial: Grade(trial.seed % 2 == 0)],
        simulation=lambda request, rng: answer,
        trials=3,
        concurrency=2,
    )
    run = passhat.run(suite, root=tmp_path, seed=1, clock=lambda: next(ticks) * 0.25)
    records = list(run.trials())
    plan = make_plan(pilot_of(summarize(run.manifest, run.trials())))
    assert plan.now.all_trials == 2 * len(records) == 24
    assert plan.now.dollars == pytest.approx(2 * sum(record.usage.dollars or 0 for record in records)) == 0.48
    took = run.manifest.seconds
    assert took is not None
    assert took > sum(record.seconds for record in records) / 2  # grading takes its time, too
    assert plan.now.minutes == pytest.approx(2 * took / 60)
    (more,) = (size for size in plan.sizes if (size.tasks, size.trials) == (4, 30))
    assert more.dollars == pytest.approx(4.8)
    assert more.minutes == pytest.approx(20 * took / 60)


def test_what_judges_cost_belongs_to_the_price_and_unknown_prices_make_it_partial() -> None:
    pilot = report([3, 2], 4, dollars=0.02)
    for dollars, price, partial in ((0.08, 0.03, ()), (None, 0.02, ("dollars",))):
        judging = Judging(
            models=("openai/j",), source="live", reported={}, model_calls=8, tokens=9, dollars=dollars, partial=(),
            judges=(),
        )  # fmt: skip
        found = pilot_of(msgspec.structs.replace(pilot, judging=judging))
        assert found.dollars == pytest.approx(price)
        assert found.partial == partial


def test_a_second_run_measures_how_differently_tasks_respond() -> None:
    rng = random.Random(2)
    before, after = [], []
    for _ in range(400):
        rate, change = rng.uniform(0.3, 0.7), rng.choice((-0.3, 0.3))
        before.append(sum(rng.random() < rate for _ in range(10)))
        after.append(sum(rng.random() < rate + change for _ in range(10)))
    pilot = pilot_of(report(before, 10), report(after, 10, name="second"))
    assert pilot.response_measured
    assert pilot.response == pytest.approx(0.3, abs=0.03)


def test_more_trials_help_only_as_far_as_trials_are_the_noise() -> None:
    plan = make_plan(assumed(rate=0.8, tasks=40, trials=5), difference=0.05)
    assert plan.tasks_like_these is not None
    assert plan.these_tasks is not None
    assert plan.tasks_like_these.trials is None
    assert plan.these_tasks.trials == 26
    assert any("up to 15 trials" in text for text in plan.advice)
    few = make_plan(assumed(rate=0.8, tasks=8, trials=40))
    assert any("add tasks" in text for text in few.advice)
    assert any("8 tasks are few" in text for text in few.advice)


def test_a_pilot_of_single_trials_says_that_it_cannot_split() -> None:
    plan = make_plan(pilot_of(report([1, 0, 1, 1], 1)))
    assert plan.pilot.between == 0
    assert any("a pilot with two or more splits it" in text for text in plan.advice)


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (lambda: assumed(rate=1.2, tasks=5, trials=5), "rate=1.2"),
        (lambda: assumed(rate=0.5, tasks=5, trials=5, within=0.4), "within=0.4"),
        (lambda: assumed(rate=0.5, tasks=5, trials=5, response=2), "response=2"),
        (lambda: make_plan(assumed(rate=0.5, tasks=5, trials=5), difference=0), "difference=0"),
        (lambda: make_plan(assumed(rate=0.5, tasks=5, trials=5), trials=0), "trials=0"),
        (lambda: make_plan(assumed(rate=0.5, tasks=5, trials=5), power=1), "power=1"),
        (lambda: pilot_of(report([], 1)), "no task has a verdict"),
    ],
)
def test_numbers_out_of_range_are_refused(call: object, part: str) -> None:
    with pytest.raises(PlanError, match=part):
        call()  # type: ignore[operator]


def power_found(
    rounds: int, seed: int, *, tasks: int, trials: int, lift: float, response: float
) -> tuple[float, float]:
    """How often these tasks and tasks like these find an even or uneven lift over rates around .5."""
    rng = random.Random(seed)
    found = [0, 0]
    for _ in range(rounds):
        before, after = [], []
        for _ in range(tasks):
            rate = 0.5 - lift / 2
            change = lift + rng.choice((-response, response))
            before.append(sum(rng.random() < rate for _ in range(trials)))
            after.append(sum(rng.random() < rate + change for _ in range(trials)))
        found[0] += cmh(trials, before, trials, after).p <= 0.05
        found[1] += sign_flip([(b - a) / trials for a, b in zip(before, after, strict=True)]).p <= 0.05
    return found[0] / rounds, found[1] / rounds


def check_power(rounds: int, within: float) -> None:
    plan = assumed(rate=0.5, tasks=60, trials=5, response=0.15)
    these, _ = power_found(rounds, 3, tasks=60, trials=5, lift=0.11, response=0.0)
    _, like = power_found(rounds, 4, tasks=60, trials=5, lift=0.13, response=0.15)
    assert these == pytest.approx(power_of(plan, 0.11), abs=within)
    assert like == pytest.approx(power_of(plan, 0.13, of="tasks like these"), abs=within)


def test_the_power_found_is_about_the_power_planned() -> None:
    check_power(200, 0.08)


@pytest.mark.slow
def test_the_power_found_is_the_power_planned_within_3_points() -> None:
    check_power(4000, 0.03)


def test_the_command_line_plans_from_a_table_and_from_a_rate(tmp_path: Path) -> None:
    rows = [f"t{task},{trial},{int(trial < task % 6)}" for task in range(20) for trial in range(5)]
    (tmp_path / "pilot.csv").write_text("\n".join(["task,trial,passed", *rows]) + "\n")

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "passhat", "plan", *arguments]
        return subprocess.run(command, cwd=tmp_path, env=dict(os.environ), capture_output=True, text=True)

    done = call("pilot.csv", "--difference", "5%")
    assert done.returncode == 0, done.stderr
    assert "To find 5 points 80 % of the time" in done.stdout
    assert msgspec.json.decode(call("--rate", "0.7", "--json").stdout.encode(), type=Plan).pilot.rate == 0.7
    assert call().returncode == 2
    assert call("pilot.csv", "--rate", "0.5").returncode == 2
