"""Tasks that are proved move on, tasks that fell move back, and a file is never half written."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from passhat.history import HistoryError, evidence, graduation, move_lines, task_records

CAPABILITY = """
from passhat import Grade, Suite


def agent(trial):
    return trial.data.get("fails", 0) <= trial.seed % 10


def passes(trial):
    return Grade(trial.output, "")


able = Suite("able", tasks="able.jsonl", agent=agent, graders=[passes], trials=7)
solid = Suite("solid", tasks="solid.jsonl", agent=agent, graders=[passes], trials=7, kind="regression")
"""


def line(name: str, fails: int = 0) -> str:
    return json.dumps({"id": name, "input": name, "data": {"fails": fails}})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "eval_life.py").write_text(CAPABILITY)
    (tmp_path / "able.jsonl").write_text("\n".join([line("sure"), line("half", 5), line("hard", 10)]) + "\n")
    (tmp_path / "solid.jsonl").write_text("\n".join([line("firm"), line("broken", 10)]) + "\n")
    return tmp_path


Call = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def call(project: Path, called_here: Call) -> Call:
    """Call the command line in the project's folder."""
    return partial(called_here, project)


def ids(path: Path) -> list[str]:
    return [json.loads(text)["id"] for text in path.read_text().splitlines()]


def test_a_record_of_14_passes_proves_a_task_and_a_record_of_failures_sends_it_back(project: Path, call: Call) -> None:
    places = ("eval_life.py::able", "eval_life.py::solid")
    for seed in ("1", "2"):
        assert call("run", "eval_life.py", "-q", "--isolation", "inline", "--seed", seed).returncode == 0
    once = call("graduate", *places, "--last", "1")
    assert "14 trials, all passing, prove a task" not in once.stdout
    assert "Proved" not in once.stdout
    told = call("graduate", *places)
    assert told.returncode == 0, told.stderr
    assert "sure   14/14" in told.stdout
    assert ids(project / "able.jsonl") == ["sure", "half", "hard"]
    assert call("graduate", *places, "--write").returncode == 0
    assert ids(project / "able.jsonl") == ["half", "hard", "broken"]
    assert ids(project / "solid.jsonl") == ["firm", "sure"]


def copied_as(run: Path, name: str, **changes: object) -> str:
    """A copy of a run under another id, with some fields of its manifest changed."""
    other = run.with_name(name)
    shutil.copytree(run, other)
    manifest = json.loads((other / "run.json").read_text())
    (other / "run.json").write_text(json.dumps({**manifest, "run_id": name, **changes}))
    return name


def test_runs_that_were_broken_off_or_stopped_early_do_not_count_and_are_named(project: Path, call: Call) -> None:
    suite = "eval_life.py::able"
    assert call("run", suite, "-q", "--isolation", "inline", "--seed", "1", "--trials", "14").returncode == 0
    (whole,) = (project / ".passhat" / "runs").iterdir()
    early = ("--stop", "when-decided", "--order", "round", "--gate", "pass@1 >= 0.1")
    assert call("run", suite, "-q", "--isolation", "inline", "--seed", "1", "--trials", "40", *early).returncode == 0
    (stopped,) = (each for each in whole.parent.iterdir() if each != whole)
    broken = copied_as(whole, "29990101T000000Z-able-0001", state="interrupted", started="2999-01-01T00:00:00+00:00")
    other = copied_as(whole, "29990102T000000Z-able-0002", model_source="mixed", started="2999-01-02T00:00:00+00:00")
    found = json.loads(call("graduate", suite, "--last", "2", "--json").stdout)
    assert found["runs"] == [whole.name]
    assert found["left_out"] == [
        {"run": other, "reason": "several kinds of source answered"},
        {"run": broken, "reason": "interrupted"},
        {"run": stopped.name, "reason": "stopped early, once its verdict was certain"},
    ]
    assert [(each["task"], each["n"]) for each in found["proved"]] == [("sure", 14)]
    told = " ".join(call("graduate", suite, "--last", "2").stdout.split())
    assert f"left out, stopped early, once its verdict was certain: {stopped.name}" in told
    none = json.loads(call("graduate", suite, "--last", "1", "--json").stdout)
    assert (none["runs"], none["proved"]) == ([], [])


def test_writing_needs_a_place_to_move_to_and_a_record(project: Path, call: Call) -> None:
    assert "no run of suite 'able'" in call("graduate", "eval_life.py::able").stderr
    done = call("run", "eval_life.py::able", "-q", "--trials", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "--write needs the regression suite" in call("graduate", "eval_life.py::able", "--write").stderr


def test_suites_in_the_wrong_order_are_refused_with_the_right_one(project: Path, call: Call) -> None:
    done = call("graduate", "eval_life.py::solid", "eval_life.py::able", "--write")
    assert done.returncode == 2
    assert "the other way round: passhat graduate eval_life.py::able eval_life.py::solid" in " ".join(
        done.stderr.split()
    )
    alone = call("graduate", "eval_life.py::solid")
    assert (alone.returncode, "name the capability suite first" in " ".join(alone.stderr.split())) == (2, True)


def test_lines_move_with_their_bytes_and_nothing_is_lost(tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    odd = '{"id": "b",   "input": "ünïcode \\u00e9"}'
    one.write_text("\n".join([line("a"), "", odd]) + "\n", encoding="utf-8")
    assert move_lines(["b"], one, two) == 1
    assert two.read_text(encoding="utf-8") == odd + "\n"
    assert ids(one) == ["a"]
    assert move_lines(["none"], one, two) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.jsonl", "two.jsonl"]


def test_a_move_that_would_spoil_a_suite_is_refused(tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.write_text(line("a") + "\n")
    two.write_text(line("a") + "\n")
    with pytest.raises(HistoryError, match="has a task 'a' already"):
        move_lines(["a"], one, two)
    two.unlink()
    with pytest.raises(HistoryError, match="would be left without a task"):
        move_lines(["a"], one, two)
    with pytest.raises(HistoryError, match="only lines of a JSONL file"):
        move_lines(["a"], tmp_path / "tasks.yaml", two)


def test_every_task_proved_is_a_saturated_suite() -> None:
    assert evidence([], 3) == ([], ())
    records = task_records([], {"a": "h"})
    assert records[0].verdict == "open"
    assert not graduation(records).saturated
    assert not graduation([]).saturated


@pytest.mark.parametrize("write", [(), ("--write",)])
def test_a_suite_that_is_named_twice_is_refused_and_no_line_is_lost(
    project: Path, call: Call, write: tuple[str, ...]
) -> None:
    assert call("run", "eval_life.py", "-q", "--isolation", "inline").returncode == 0
    before = (project / "able.jsonl").read_bytes()
    done = call("graduate", "eval_life.py::able", "eval_life.py::able", *write)
    assert (done.returncode, done.stdout) == (2, "")
    assert "have the same tasks" in done.stderr
    assert "passhat graduate eval_life.py::able" in done.stderr
    assert (project / "able.jsonl").read_bytes() == before
