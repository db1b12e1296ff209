"""`passhat calibrate` as it is typed: its options, and labels from a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner, Result

from passhat.calibrating import CONTROLS, REPEATS
from passhat.calibrating._result import Dimension
from passhat.cli._calibrate import command
from passhat.cli._main import commands
from passhat.facts import Judged, Manifest, TrialRecord
from passhat.records import Regrade, RegradeWriter, RunReader, RunWriter

from .worlds import World, simulate


@pytest.fixture
def world() -> World:
    return simulate(np.random.default_rng(5), np.tile([0.2, 0.4, 0.6, 0.8, 1.0], 6), 4)


def judged_by(rubric: str, world: World) -> list[TrialRecord]:
    """The world's trials, judged by a model with this rubric."""
    judged = Judged(kind="rubric", over="answer", models=("p/a",), rubric=rubric, prompt="p1")
    return [
        msgspec.structs.replace(record, grades=(msgspec.structs.replace(record.grades[0], judged=judged),))
        for record in world.records()
    ]


@pytest.fixture
def run(tmp_path: Path, world: World) -> Path:
    tasks = tuple(f"t{task}" for task in range(len(world.judge)))
    writer = RunWriter.create(Manifest(run_id="", suite="shop", task_ids=tasks, trials=4), root=tmp_path / ".passhat")
    for record in judged_by("r1", world):
        writer.append(record, None)
    writer.finish()
    return writer.path


def call(*arguments: str) -> Result:
    return passhat("calibrate", *arguments)


def passhat(*arguments: str) -> Result:
    return CliRunner().invoke(commands, list(arguments), standalone_mode=False)


def table(world: World, first: int) -> str:
    """A table of people's verdicts in which trials are counted from ``first``."""
    trials = world.human.shape[1]
    rows = [f"t{i // trials},{i % trials + first},{'pass' if world.human.flat[i] else 'fail'}" for i in range(60)]
    return "\n".join(["task,trial,verdict", *rows])


def test_a_table_that_counts_trials_from_1_is_refused_and_not_shifted(run: Path, world: World, tmp_path: Path) -> None:
    labels = tmp_path / "people.csv"
    labels.write_text(table(world, 1))
    said = str(call(str(run), "--labels", str(labels)).exception)
    assert "line 5: the run has no trial 4 of task 't0' (it has 4, counted from 0)" in said
    labels.write_text(table(world, 0))
    result = call(str(run), "--labels", str(labels), "--json")
    assert json.loads(result.stdout)["counts"]["labelled"] == 60


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--control", "empty"), "--control goes with --robustness N"),
        (("--repeats", "5"), "--repeats goes with --robustness N"),
        (("--concurrency", "2"), "--concurrency goes with --robustness N"),
        (("--judge-model", "p/m"), "--judge-model goes with --robustness N"),
        (("evals/",), "PATH goes with --robustness N"),
    ],
)
def test_what_only_robustness_uses_is_not_ignored_without_it(run: Path, options: tuple[str, ...], said: str) -> None:
    assert said in str(call(str(run), *options).exception)


def test_help_lists_what_there_is() -> None:
    printed = " ".join(call("--help").output.split())
    assert f"(repeatable): {', '.join(CONTROLS)}." in printed
    assert f"(default: {REPEATS})" in printed
    [by] = [option for option in command.params if option.name == "by"]
    assert tuple(by.type.choices) == get_args(Dimension)  # type: ignore[attr-defined]


def test_a_label_keeps_the_rubric_it_was_given_on_and_calibrates_no_other(
    run: Path, world: World, tmp_path: Path
) -> None:
    with RegradeWriter.create(run, RunReader(run).run_id, {"tone": "v2"}) as writer:
        for record in judged_by("r2", world):
            writer.append(Regrade(record.task, record.trial, record.status, record.passed, grades=record.grades))
    again = writer.head.id
    people = tmp_path / "people.csv"
    head, *rows = table(world, 0).split("\n")
    people.write_text("\n".join([f"{head},sample", *(f"{row},random" for row in rows)]))
    assert passhat("review", str(run), "--from", str(people), "--rater", "ann", "--grader", "tone").exit_code == 0
    one = ("--label", "t20", "0", "pass", "--rater", "ann", "--grader", "tone")
    assert passhat("review", str(run), *one).exit_code == 0
    assert {label.rubric for label in RunReader(run).labels()} == {"r1"}
    found = json.loads(call(str(run), "--json").stdout)
    assert found["correction"]["refused"] == ""
    result = call(str(run), "--grades", again)
    assert result.return_value == 4
    assert "the rubric changed: all 61 labels were given on another one" in " ".join(result.stdout.split())
    listed = ("review", str(run), "--grader", "tone", "--random", "120", "--rater", "ann", "--json")
    assert json.loads(passhat(*listed).stdout)["done"] == 61
    assert json.loads(passhat(*listed, "--grades", again).stdout)["done"] == 0
    assert passhat("review", str(run), *one, "--grades", again).exit_code == 0
    assert [label.rubric for label in RunReader(run).labels() if label.task == "t20"] == ["r2"]


def test_the_judges_rate_and_its_interval_are_those_of_the_report(run: Path) -> None:
    [row] = json.loads(passhat("report", str(run), "--json").stdout)["graders"]
    raw = json.loads(call(str(run), "--json").stdout)["correction"]["raw"]
    assert raw["estimate"] == pytest.approx(row["estimate"])
    assert raw["these_tasks"] == pytest.approx(row["these_tasks"])


def test_without_a_run_the_last_one_is_calibrated(run: Path) -> None:
    root = str(run.parent.parent)
    assert json.loads(call("--json", "--root", root).stdout)["run"] == RunReader(run).run_id
