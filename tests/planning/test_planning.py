"""What a plan says, and whether comparisons then find as much as it said."""

from __future__ import annotations

import functools
import itertools
import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from openai import OpenAI

import passhat
from passhat import Grade, Suite, Task, Trial
from passhat.cli._plan import command
from passhat.facts import Manifest, Status, TrialRecord, Usage
from passhat.planning import Plan, PlanError, assumed, make_plan, pilot_of, power_of, variances
from passhat.reporting import render_plan
from passhat.scripting import reply
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


def test_a_pilot_that_stopped_early_is_no_basis_and_the_plan_says_so() -> None:
    gate = "pass@1 >= 0.5"
    manifest = Manifest(run_id="r", suite="s", trials=20, gates=(gate,), stop="when-decided", task_ids=("a", "b"))
    records = [
        TrialRecord(
            task=task,
            trial=trial,
            status=Status.COMPLETED if task == "a" else Status.NOT_NEEDED,
            passed=trial > 0 if task == "a" else None,
        )
        for task in "ab"
        for trial in range(20)
    ]
    pilot = pilot_of(summarize(manifest, records))
    assert pilot.stopped_early
    assert not pilot_of(report([3, 2], 4)).stopped_early
    assert "the pilot stopped early: its rates are no estimates" in render_plan(make_plan(pilot))


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
    assert plan.these_tasks.trials is not None
    assert any("up to 15 trials" in text for text in plan.advice)
    few = make_plan(assumed(rate=0.8, tasks=8, trials=40))
    assert any("add tasks" in text for text in few.advice)
    assert any("8 tasks are few" in text for text in few.advice)
    assert any("1 task is few" in text for text in make_plan(assumed(rate=0.8, tasks=1, trials=1)).advice)


def test_what_a_plan_names_is_the_least_that_finds_the_difference() -> None:
    plan = make_plan(assumed(rate=0.9, tasks=30, trials=5), difference=0.1)
    for of, ways in (("these tasks", plan.these_tasks), ("tasks like these", plan.tasks_like_these)):
        assert ways is not None
        assert ways.tasks is not None
        assert ways.trials is not None
        for tasks, trials, enough in (
            (ways.tasks, 5, True),
            (ways.tasks - 1, 5, False),
            (30, ways.trials, True),
            (30, ways.trials - 1, False),
        ):
            power = power_of(assumed(rate=0.9, tasks=tasks, trials=trials), -0.1, of=of)  # type: ignore[arg-type]
            assert (power >= 0.8) == enough


def test_losses_from_a_good_agent_are_harder_to_find_than_gains_and_are_planned_for() -> None:
    plan = make_plan(assumed(rate=0.9, tasks=30, trials=5))
    finds, reverse = plan.now.finds, plan.reverse
    assert plan.direction == "loss"
    assert finds.these_tasks is not None
    assert reverse.these_tasks is not None
    assert finds.these_tasks > reverse.these_tasks + 0.03
    low = make_plan(assumed(rate=0.1, tasks=30, trials=5))
    assert low.direction == "gain"
    assert low.now.finds.these_tasks == pytest.approx(finds.these_tasks, abs=1e-4)
    assert make_plan(assumed(rate=0.9, tasks=30, trials=5), direction="gain").now.finds == reverse


@pytest.mark.parametrize("passes", [[5] * 40, [5] * 20 + [0] * 20, [0] * 40])
def test_a_pilot_without_noise_promises_nothing_that_no_test_can_show(passes: list[int]) -> None:
    pilot = pilot_of(report(passes, 5))
    plan = make_plan(pilot, difference=0.05)
    assert plan.now.finds.these_tasks is not None
    assert plan.now.finds.these_tasks > 0.03
    assert plan.these_tasks is not None
    assert plan.these_tasks.tasks is not None
    assert plan.these_tasks.tasks > 25
    assert any("shows no noise" in text for text in plan.advice)
    text = render_plan(plan)
    assert "0.0 points" not in text
    assert "% within" not in text  # that noise is assumed


def test_two_tasks_with_a_trial_find_nothing() -> None:
    plan = make_plan(pilot_of(report([1, 1], 1)))
    assert plan.now.finds == plan.reverse
    assert plan.now.finds.these_tasks is None
    assert "no loss and no gain, however large" in render_plan(plan)


def test_the_price_stays_on_a_narrow_screen_and_words_agree_with_their_numbers() -> None:
    plan = make_plan(pilot_of(report([4, 5, 3, 5] * 10, 5, dollars=0.5)), difference=0.01)
    text = render_plan(plan, width=60)
    assert "in all" in text
    assert "$200" in text
    assert max(map(len, text.splitlines())) <= 60
    assert "a loss of 1 point 80 %" in text
    one = render_plan(make_plan(assumed(rate=0.5, tasks=1, trials=1)))
    assert "1 task × 1 trial a side" in one


@pytest.mark.parametrize(
    ("after", "part"),
    [
        ([5, 3, 1], "the same counts in every task"),
        ([5], "only one task with a verdict in common"),
        ([], "no task with a verdict in common"),
    ],
)
def test_a_second_run_that_shows_no_response_is_refused_with_the_way_out(after: list[int], part: str) -> None:
    with pytest.raises(PlanError, match=f"pilot and second have {part}.*leave"):
        pilot_of(report([5, 3, 1], 5), report(after, 5, name="second"))


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
        (lambda: make_plan(assumed(rate=0.9, tasks=5, trials=5), difference=0.2, direction="gain"), "leaves no room"),
        (lambda: make_plan(assumed(rate=0.9, tasks=5, trials=5), direction="up"), "direction='up'"),  # type: ignore[arg-type]
        (lambda: power_of(assumed(rate=0.9, tasks=5, trials=5), 0.2), "gain of 20 points; it can .* gain up to 10.0"),
        (lambda: power_of(assumed(rate=0.9, tasks=5, trials=5), 0), "difference=0"),
        (lambda: assumed(rate=0.5, tasks=0, trials=5), "tasks=0"),
        (lambda: pilot_of(report([], 1)), "no task has a verdict"),
    ],
)
def test_numbers_out_of_range_are_refused(call: object, part: str) -> None:
    with pytest.raises(PlanError, match=part):
        call()  # type: ignore[operator]


def test_the_command_line_plans_from_a_table_and_from_a_rate(
    tmp_path: Path, called_here: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    rows = [f"t{task},{trial},{int(trial < task % 6)}" for task in range(20) for trial in range(5)]
    (tmp_path / "pilot.csv").write_text("\n".join(["task,trial,passed", *rows]) + "\n")

    call = functools.partial(called_here, tmp_path, "plan")

    done = call("pilot.csv", "--difference", "5%")
    assert done.returncode == 0, done.stderr
    assert "To find a gain of 5 points 80 % of the time" in done.stdout
    assert msgspec.json.decode(call("--rate", "0.7", "--json").stdout.encode(), type=Plan).pilot.rate == 0.7
    assert call().returncode == 2
    assert "To find a loss of" in call("pilot.csv", "--difference", "5%", "--direction", "loss").stdout
    assert call("pilot.csv", "--rate", "0.5").returncode == 2
    twice = call("pilot.csv", "pilot.csv")
    assert (twice.returncode, "the same counts in every task" in twice.stderr) == (2, True)


def test_shares_are_written_as_numbers_or_as_percentages_wherever_the_command_takes_them() -> None:
    def planned(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(command, ["--tasks", "30", "--trials", "5", *words])
        return done.exit_code, done.output

    plain = planned("--rate", "0.9", "--response", "0.1", "--difference", "0.1")
    assert plain == planned("--rate", "90%", "--response", "10%", "--difference", "10%")
    assert plain[0] == 0
    code, said = planned("--rate", "ninety")
    assert (code, "'ninety' is no pass rate; write 0.05, 5%" in said) == (2, True)


def test_what_is_found_is_never_shown_as_nothing_and_the_table_has_no_empty_margin() -> None:
    text = render_plan(make_plan(assumed(rate=0.9, tasks=1_000_000, trials=100)), width=60)
    assert "a loss of 0.012, a gain of 0.012 points" in text
    assert "0.0 " not in text
    rows = [line for line in text.splitlines() if re.match(r" *[\d,]+ × \d+ ", line)]
    assert len(rows) == text.count(" × ") - 3  # beside the heading, the sizes found and the table's head
    assert all(re.match(r"  \d", row) for row in rows)
