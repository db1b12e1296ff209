"""A suite over time, from run directories."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from passhat.facts import GitState, Manifest, Status, TrialRecord
from passhat.history import HistoryError, history
from passhat.records import RunReader, RunWriter, list_runs
from passhat.reporting import render_history
from passhat.summary import EarlierLooks

NOW = datetime(2026, 12, 1, tzinfo=UTC)
HASHES = {f"t{place}": "h" for place in range(8)}


def record(
    root: Path,
    passes: list[int],
    n: int,
    *,
    day: int = 1,
    not_needed: int = 0,
    killed: bool = False,
    arm: str = "",
    **fields: Any,
) -> str:
    """A finished run of tasks t0, t1 … with so many passes of n trials each; its id. Some more weren't needed."""
    facts: dict[str, Any] = {"suite": "shop", "model_source": "live", "task_hashes": HASHES, "tasks_hash": "h"}
    facts |= {"task_ids": tuple(f"t{place}" for place in range(len(passes) + not_needed)), "trials": n}
    facts["started"] = f"2026-11-{day:02d}T10:00:00.000Z"
    writer = RunWriter.create(Manifest(run_id="", **(facts | fields)), root=root)
    for place, c in enumerate(passes):
        good = random.Random(f"{place} {day}").sample(range(n), c)  # in no order: trials don't depend on each other
        for trial in range(n):
            passed = trial in good
            ended = TrialRecord(task=f"t{place}", trial=trial, arm=arm, status=Status.COMPLETED, passed=passed)
            writer.append(ended, None)
    for place in range(len(passes), len(passes) + not_needed):
        for trial in range(n):
            spared = TrialRecord(task=f"t{place}", trial=trial, arm=arm, status=Status.NOT_NEEDED, passed=None)
            writer.append(spared, None)
    if not killed:
        writer.finish("finished", seconds=1.0)
    writer.close()
    return writer.path.name


def test_runs_stand_in_the_order_of_time_with_rates_and_intervals(tmp_path: Path) -> None:
    late = record(tmp_path, [6] * 8, 6, day=20)
    early = record(tmp_path, [3] * 8, 6, day=10)
    found = history("shop", [tmp_path], now=NOW)
    assert [point.run for point in found.runs] == [early, late]
    assert [point.pass_at_1 for point in found.runs] == [0.5, 1.0]
    assert all(point.these_tasks and point.tasks_like_these for point in found.runs)


def test_tasks_that_changed_since_the_last_and_since_a_chosen_run_are_named(tmp_path: Path) -> None:
    first = record(tmp_path, [0, *[8] * 7], 8, day=1)
    record(tmp_path, [8] * 8, 8, day=2)
    record(tmp_path, [8, 0, *[8] * 6], 8, day=3)
    found = history("shop", [tmp_path], since=first, now=NOW)
    assert found.since_last is not None
    assert found.since is not None
    assert [(each.task, each.change) for each in found.since_last.tasks] == [("t1", "worse")]
    assert {(each.task, each.change) for each in found.since.tasks} == {("t0", "better"), ("t1", "worse")}


def test_a_redefined_task_is_not_compared_and_older_runs_are_stale(tmp_path: Path) -> None:
    record(tmp_path, [8] * 8, 8, day=1)
    record(tmp_path, [0] * 8, 8, day=2, task_hashes=HASHES | {"t0": "other"}, tasks_hash="i", graders={"exact": "2"})
    found = history("shop", [tmp_path], now=NOW)
    assert found.since_last is not None
    assert found.since_last.redefined == ("t0",)
    assert found.since_last.shared == 7
    assert found.runs[0].stale == "1 task redefined since, other graders"
    assert found.runs[1].stale == ""


def test_runs_from_many_machines_are_found_once_wherever_they_lie(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two" / "nightly"
    record(one, [4] * 8, 8, day=1, host="a")
    name = record(two, [5] * 8, 8, day=2, host="b")
    shutil.copytree(two / "runs" / name, tmp_path / "copies" / name)
    found = history("shop", [tmp_path], now=NOW)
    assert [point.host for point in found.runs] == ["a", "b"]


def test_an_undecided_gate_run_again_until_green_is_counted_as_looks(tmp_path: Path) -> None:
    same: dict[str, Any] = {"git": GitState("c0ffee", False), "gates": ("pass@1 >= 0.7",)}
    passes = [[5, 5, 4, 5, 5, 5, 4, 5], [5, 5, 5, 5, 5, 4, 5, 5], [6] * 8]
    for day, each in enumerate(passes, start=1):
        record(tmp_path, each, 6, day=day, **same)
    record(tmp_path, [6] * 8, 6, day=9, git=GitState("c0ffee", True), gates=("pass@1 >= 0.7",))
    found = history("shop", [tmp_path], now=NOW)
    assert len(found.reruns) == 1
    group = found.reruns[0]
    assert (len(group.runs), group.trials) == (3, 144)
    row = group.gates[0]
    assert (row.looks, row.verdict) == (3, "met")
    assert row.level == pytest.approx(1 - 0.05 / 3)
    assert row.error == pytest.approx(0.089, abs=0.001)
    assert "pass@1 >= 0.7 met (look 3)" in group.message
    assert "up to 8.9 % of the time" in group.message


def test_a_run_whose_gate_was_met_is_no_look_for_those_after_it_as_in_their_own_reports(tmp_path: Path) -> None:
    same: dict[str, Any] = {"git": GitState("c0ffee", False), "gates": ("pass@1 >= 0.7",)}
    for day, each in enumerate([[6] * 8, [4] * 8, [6] * 8], start=1):
        record(tmp_path, each, 6, day=day, **same)
    (group,) = history("shop", [tmp_path], now=NOW).reruns
    path = next(found.path for found in list_runs(tmp_path) if found.path.name == group.runs[-1])
    own = EarlierLooks(RunReader(path).manifest, tmp_path).of(("pass@1 >= 0.7",))
    assert (group.gates[0].looks, own) == (2, {"pass@1 >= 0.7": 2})


def test_runs_that_met_their_gates_are_pooled_without_a_word_of_error(tmp_path: Path) -> None:
    for day in (1, 2):
        record(tmp_path, [6] * 8, 6, day=day, git=GitState("c0ffee", False), gates=("pass@1 >= 0.7",))
    (group,) = history("shop", [tmp_path], now=NOW).reruns
    assert (group.gates[0].looks, group.gates[0].level) == (1, 0.95)
    assert "% of the time" not in group.message


def test_runs_with_the_same_seed_and_answers_are_one_for_pooling(tmp_path: Path) -> None:
    same: dict[str, Any] = {"git": GitState("c0ffee", False), "seed": 3}
    for _ in range(3):
        record(tmp_path, [4] * 8, 6, day=1, **same)
    (group,) = history("shop", [tmp_path], now=NOW).reruns
    (alone,) = {point.these_tasks for point in history("shop", [tmp_path], now=NOW).runs}
    assert (group.trials, len(group.repeats), group.these_tasks) == (48, 2, alone)
    assert "3 runs of one commit (2 with the seed and the answers of an earlier one" in group.message
    record(tmp_path, [4] * 8, 6, day=2, **same)  # other answers to the same seed: a live model
    assert history("shop", [tmp_path], now=NOW).reruns[0].trials == 96


def test_a_simulated_model_says_nothing_new_to_the_same_seed(tmp_path: Path) -> None:
    same: dict[str, Any] = {"git": GitState("c0ffee", False), "model_source": "simulated"}
    for day, seed in enumerate([3, 3, 4], start=1):
        record(tmp_path, [4] * 8, 6, day=day, seed=seed, **same)
    (group,) = history("shop", [tmp_path], now=NOW).reruns
    assert (group.trials, len(group.repeats)) == (96, 1)


def test_a_run_that_stopped_early_is_marked_not_pooled_and_its_untried_tasks_are_not_gone(tmp_path: Path) -> None:
    same: dict[str, Any] = {"git": GitState("c0ffee", False), "stop": "when-decided"}
    for day in (1, 2):
        record(tmp_path, [6] * 8, 6, day=day, **same)
    record(tmp_path, [6] * 5, 6, day=3, not_needed=3, **same)
    found = history("shop", [tmp_path], now=NOW)
    assert [point.left_out for point in found.runs] == [0, 0, 18]
    assert found.since_last is not None
    assert (found.since_last.removed, found.since_last.unmeasured) == ((), ("t5", "t6", "t7"))
    assert [len(group.runs) for group in found.reruns] == [2]
    assert "1 of 3 runs stopped early" in next(row.message for row in found.findings if row.rule == "stopped-early")
    text = render_history(found)
    assert "stopped early" in text
    assert "gone" not in text


def test_a_run_whose_writer_was_killed_was_interrupted_and_is_a_look(tmp_path: Path) -> None:
    same: dict[str, Any] = {"git": GitState("c0ffee", False), "gates": ("pass@1 >= 0.7",)}
    record(tmp_path, [2] * 8, 6, day=1, killed=True, **same)
    for day in (2, 3):
        record(tmp_path, [6] * 8, 6, day=day, **same)
    found = history("shop", [tmp_path], now=NOW)
    assert [point.state for point in found.runs] == ["interrupted", "finished", "finished"]
    assert [entry.manifest.state for entry in list_runs(tmp_path) if entry.manifest][-1] == "interrupted"
    assert (len(found.reruns[0].runs), found.reruns[0].gates[0].looks) == (2, 2)
    record(tmp_path, [6] * 8, 6, day=4, model_source="unseen", **same)
    assert "model" not in render_history(history("shop", [tmp_path], now=NOW)).split("Findings")[0]


def test_arms_are_not_cut_beside_an_empty_column(tmp_path: Path) -> None:
    record(tmp_path, [3] * 8, 6, arms=("current",), arm="current", host="a")
    record(tmp_path, [3] * 8, 6, arms=("current",), arm="current", host="b", stop="when-decided", not_needed=1)
    for width in (60, 80):
        text = render_history(history("shop", [tmp_path], now=NOW), width=width)
        assert "current  " in text
        assert "commit" not in text


def test_what_is_to_be_known_of_a_run_is_never_cut(tmp_path: Path) -> None:
    record(tmp_path, [3] * 8, 6, day=1, graders={"exact": "v1"}, host="a", task_hashes=dict.fromkeys(HASHES, "old"))
    record(tmp_path, [3] * 8, 6, day=2, killed=True, host="b")
    for width in (60, 80, 100):
        lines = render_history(history("shop", [tmp_path], now=NOW), width=width).splitlines()
        assert max(map(len, lines)) <= width
        table = " ".join(word for line in lines[: lines.index("Findings")] for word in line.split())
        assert "interrupted" in table
        assert "8 tasks redefined since, other graders" in table


def test_results_are_called_stale_by_age_by_tasks_and_by_the_model_served(tmp_path: Path) -> None:
    record(tmp_path, [8] * 8, 8, day=1, models_reported={"m-1": 9}, model_requested="p/m")
    record(tmp_path, [8] * 8, 8, day=2, models_reported={"m-2": 9}, model_requested="p/m")
    found = history("shop", [tmp_path], current=HASHES | {"t0": "new", "t9": "h"}, now=datetime(2027, 2, 1, tzinfo=UTC))
    rules = {finding.rule: finding for finding in found.findings}
    assert "90 days old" in rules["stale"].message
    assert rules["stale-tasks"].tasks == ("t0",)
    assert rules["never-run"].tasks == ("t9",)
    assert "answered by m-2, before by m-1" in rules["model-changed"].message


def test_arms_have_a_line_each(tmp_path: Path) -> None:
    writer = RunWriter.create(
        Manifest(run_id="", suite="shop", trials=1, task_ids=("t",), arms=("a", "b"), baseline="a"), root=tmp_path
    )
    for arm in ("a", "b"):
        writer.append(TrialRecord(task="t", trial=0, arm=arm, status=Status.COMPLETED, passed=arm == "b"), None)
    writer.finish("finished", seconds=1.0)
    writer.close()
    found = history("shop", [tmp_path])
    assert [(point.arm, point.pass_at_1) for point in found.runs] == [("a", 0.0), ("b", 1.0)]
    assert render_history(found).startswith("History of shop  1 run, a line an arm\n")


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    record(tmp_path, [1], 1)
    with pytest.raises(HistoryError, match=r"no run of suite 'shoop'.*there are runs of shop"):
        history("shoop", [tmp_path])
    with pytest.raises(HistoryError, match="no run answers to 'nope'"):
        history("shop", [tmp_path], since="nope")


def test_a_damaged_run_is_a_finding_and_the_rest_is_shown(tmp_path: Path) -> None:
    record(tmp_path, [1], 1)
    broken = tmp_path / "runs" / "broken"
    broken.mkdir()
    (broken / "run.json").write_text("{")
    found = history("shop", [tmp_path], now=NOW)
    assert len(found.runs) == 1
    assert "unreadable" in [finding.rule for finding in found.findings]


def test_the_page_shows_runs_changes_and_looks_also_in_ascii(tmp_path: Path) -> None:
    for day in (1, 2):
        record(tmp_path, [8 if day == 1 else 0, *[8] * 7], 8, day=day, git=GitState("c0ffee", False))
    text = render_history(history("shop", [tmp_path], now=NOW), unicode=False)
    assert text.isascii()
    assert "t0       8/8    0/8  worse" in text
    assert "Run again: commit c0ffee" in text


def test_the_command_line_tells_the_history(tmp_path: Path) -> None:
    record(tmp_path / ".passhat", [1, 2], 3)
    command = [sys.executable, "-m", "passhat", "history", "shop"]
    done = subprocess.run([*command, "--json", "--root", ".passhat"], cwd=tmp_path, capture_output=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["runs"][0]["pass_at_1"] == 0.5
    wrong = subprocess.run([*command, "--since", "nothing"], cwd=tmp_path, capture_output=True, env=os.environ)
    assert (wrong.returncode, b"no run answers" in wrong.stderr) == (2, True)
