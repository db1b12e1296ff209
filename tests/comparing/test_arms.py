"""A suite with arms, run and compared."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import passhat
from passhat.comparing import compare
from passhat.facts import Grade, Task
from passhat.suite import Suite
from passhat.summary import ExitCode, summarize

Call = Callable[..., subprocess.CompletedProcess[str]]
SUITE = """
from passhat import Grade, Suite, Task


def current(trial):
    return trial.seed % 3 > 0


def broken(trial):
    return False


def passes(trial):
    return Grade(trial.output, "")


suite = Suite(
    "arms",
    tasks=[Task(f"t{i}", input=i) for i in range(10)],
    agents={"current": current, "broken": broken},
    graders=[passes],
    trials=6,
    seed=4,
)
"""


@pytest.fixture
def run(tmp_path: Path) -> passhat.Run:
    """Two arms that do the same with the same seed."""
    suite = Suite(
        "twins",
        tasks=[Task(f"t{place}", input=place) for place in range(5)],
        agents={"one": lambda trial: trial.seed, "two": lambda trial: trial.seed},
        graders=[lambda trial: Grade(trial.output % 2 == 0)],
        trials=4,
    )
    return passhat.run(suite, root=tmp_path / ".passhat", seed=1)


def test_both_arms_get_the_same_seeds_and_the_manifest_names_the_baseline(run: passhat.Run) -> None:
    assert (run.manifest.arms, run.manifest.baseline) == (("one", "two"), "one")
    outputs = {(record.arm, record.task, record.trial): record.output for record in run.trials()}
    assert len(outputs) == 40
    assert all(outputs["one", task, trial] == value for (_, task, trial), value in outputs.items())
    first = sorted(run.trials(), key=lambda record: record.order)[::2]
    assert {record.arm for record in first} == {"one", "two"}


def test_arms_of_one_run_are_called_by_their_names(run: passhat.Run) -> None:
    one, two = (summarize(run.manifest, run.trials(), arm=arm) for arm in ("one", "two"))
    found = compare(one, two)
    assert (found.baseline, found.candidates[0].name) == ("one", "two")
    assert (found.candidates[0].ties, found.candidates[0].pairs) == (5, 5)


@pytest.fixture
def call(tmp_path: Path, called_here: Call) -> Call:
    """Call the command line in the test's folder."""
    return partial(called_here, tmp_path)


def test_the_command_line_runs_arms_and_compares_them(tmp_path: Path, call: Call) -> None:
    (tmp_path / "eval_arms.py").write_text(SUITE)
    ran = call("run", "eval_arms.py", "-q")
    assert ran.returncode == ExitCode.FINE
    assert "Arms  beside current" in ran.stdout
    assert "broken against current: worse" in ran.stdout
    assert "passhat compare 2" in ran.stdout.partition("\nNext\n")[2]
    assert "left out: 'broken' (60 trials)" in " ".join(ran.stdout.split())
    done = call("compare", "last")
    assert done.returncode == ExitCode.GATE_NOT_MET, done.stderr
    assert "broken against current: worse" in done.stdout
    data = json.loads(call("compare", "last", "--json", "--baseline", "broken").stdout)
    assert (data["baseline"], data["candidates"][0]["verdict"]) == ("broken", "better")
    assert call("compare", "last::current", "last::broken", "--margin", "99%").returncode == ExitCode.FINE


def test_tables_are_compared_too_and_mistakes_are_named(tmp_path: Path, call: Call) -> None:
    for name, passes in (("before", 6), ("after", 0)):
        rows = [f"t{task},{trial},{int(trial < passes)}" for task in range(8) for trial in range(6)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["task,trial,passed", *rows]) + "\n")
    done = call("compare", "before.csv", "after.csv", "--margin", "5 points")
    assert done.returncode == ExitCode.GATE_NOT_MET, done.stderr
    for arguments, part in (
        (("before.csv",), "has one arm; name a second run: passhat compare before.csv CANDIDATE"),
        (("before.csv", "after.csv::x"), "no arm 'x'"),
        (("before.csv", "after.csv", "--margin", "much"), "is no difference"),
        (("before.csv", "nothing"), "no run answers to 'nothing'"),
    ):
        wrong = call("compare", *arguments)
        assert (wrong.returncode, part in wrong.stderr) == (ExitCode.WRONG_USE, True), wrong.stderr
