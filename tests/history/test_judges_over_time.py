"""Judge–human agreement run by run. Judges and labels are made up."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from passhat.facts import Grade, Judged, Label, Manifest, Status, TrialRecord
from passhat.history import History, history
from passhat.records import RunWriter, append_labels
from passhat.reporting import render_history

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def record(root: Path, *, day: int, wrong: int, rubric: str = "r1", labels: int = 60, sample: str = "random") -> str:
    """A run of 60 trials; people pass the even ones, the judge those too and ``wrong`` of the others."""
    started = f"2026-11-{day:02d}T10:00:00.000Z"
    tasks = tuple(f"t{i}" for i in range(6))
    manifest = Manifest(run_id="", suite="shop", task_ids=tasks, trials=10, started=started, model_source="live")
    writer = RunWriter.create(manifest, root=root)
    judged = Judged(kind="rubric", over="answer", models=("p/judge",), rubric=rubric, prompt="p")
    said: list[Label] = []
    for place in range(60):
        good = place % 2 == 0
        passed = good or place // 2 < wrong
        task, trial = f"t{place // 10}", place % 10
        grade = Grade(passed, name="tone", judged=judged)
        writer.append(TrialRecord(task, trial, Status.COMPLETED, passed, grades=(grade,)), None)
        said.append(Label(task, trial, "pass" if good else "fail", "ann", "", grader="tone", sample=sample))
    writer.finish("finished", seconds=1.0)
    writer.close()
    if labels:
        append_labels(writer.path, said[:labels])
    return writer.path.name


def told(root: Path) -> History:
    return history("shop", [root], now=NOW)


def test_runs_with_labels_show_sensitivity_specificity_and_kappa(tmp_path: Path) -> None:
    first = record(tmp_path, day=1, wrong=3)
    record(tmp_path, day=2, wrong=5, labels=0)
    third = record(tmp_path, day=3, wrong=6, labels=40)
    found = told(tmp_path)
    assert [(each.run, each.agreement.labels) for each in found.judges] == [(first, 60), (third, 40)]
    agreement = found.judges[0].agreement
    assert (agreement.grader, agreement.sensitivity, agreement.specificity) == ("tone", 1.0, 0.9)
    assert agreement.kappa == pytest.approx(0.9)
    assert agreement.specificity_interval is not None
    assert not [each for each in found.findings if each.rule == "judge-drift"]
    for width in (67, 80, 100):
        page = render_history(found, width=width)
        assert "2026-11-01 10:00      60  1.00  0.88–1.00  0.90  0.74–0.97   0.90" in page
    narrow = render_history(found, width=60)
    assert "2026-11-01 10:00      60  1.00         0.90          0.90" in narrow
    assert max(map(len, narrow.splitlines())) <= 60
    shown = json.loads(found.to_json())["judges"]
    assert shown[0]["agreement"]["table"] == [[30, 0], [3, 27]]


def test_a_judge_that_drifts_is_named_with_what_changed_in_it(tmp_path: Path) -> None:
    first = record(tmp_path, day=1, wrong=2)
    record(tmp_path, day=2, wrong=14, rubric="r2")
    found = told(tmp_path)
    [drift] = [each for each in found.findings if each.rule == "judge-drift"]
    assert drift.message == (
        f"tone: its specificity moved from 0.93 to 0.53: it fails 16 of 30 that people fail, in {first} 28 of 30; "
        "the rubric (r1 and r2) changed"
    )
    assert found.judges[1].changed == ("the rubric (r1 and r2)",)
    for width in (60, 80, 100):
        page = " ".join(render_history(found, width=width).split("Findings")[0].split())
        assert "2026-11-02 10:00 the rubric (r1 and r2) changed" in page


def test_picked_labels_are_called_so(tmp_path: Path) -> None:
    record(tmp_path, day=1, wrong=2, sample="failed")
    assert "60 labels picked, not drawn" in render_history(told(tmp_path), width=120)


def test_runs_without_labels_have_no_such_table(tmp_path: Path) -> None:
    record(tmp_path, day=1, wrong=2, labels=0)
    found = told(tmp_path)
    assert found.judges == ()
    assert "beside people" not in render_history(found)
