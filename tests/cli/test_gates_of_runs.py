"""The list of runs says of each whether its gates were met, as its report does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import passhat
from passhat import Suite, Task
from passhat.cli import _report, _runs


def run(root: Path, *gates: str, passes: int = 6, trials: int = 6) -> str:
    """A run of one task that passes so many times."""
    answers = iter([number < passes for number in range(trials)])
    suite = Suite(
        "s", tasks=[Task("t")], agent=lambda trial: next(answers), graders=[lambda trial: trial.output], gates=gates
    )
    return passhat.run(suite, root=root, trials=trials, isolation="inline").run_id


def listed(root: Path) -> dict[str, str | None]:
    done = CliRunner().invoke(_runs.command, ["--json", "--root", str(root)])
    return {row["run"]: row["gates"] for row in json.loads(done.stdout)}


def test_each_run_has_the_verdict_that_its_report_gives(tmp_path: Path) -> None:
    names = [
        run(tmp_path, "pass@1 >= 0.5", passes=6),
        run(tmp_path, "pass@1 >= 0.5", "seconds <= 0", passes=6),
        run(tmp_path, "pass@1 >= 0.5", passes=4),
        run(tmp_path, "pass@1 >= 0.5", passes=4),  # another look at the same
        run(tmp_path, passes=0),
    ]
    found = listed(tmp_path)
    assert [found[name] for name in names] == ["met", "not met", "undecided", "undecided", None]
    for name in names:
        told = CliRunner().invoke(_report.command, [name, "--json", "--root", str(tmp_path)])
        verdicts = {gate["verdict"] for gate in json.loads(told.stdout)["gates"]}
        assert (found[name] or "") in (verdicts or {""})
    text = CliRunner().invoke(_runs.command, ["--root", str(tmp_path)]).stdout
    assert [line.split()[-2:] for line in text.splitlines() if names[1] in line] == [["met", "finished"]]
    assert "not met" in text


def test_a_list_without_gates_has_no_column_for_them(tmp_path: Path) -> None:
    run(tmp_path)
    assert "gates" not in CliRunner().invoke(_runs.command, ["--root", str(tmp_path)]).stdout.lower()


def test_verdicts_stop_where_too_many_trials_were_to_be_read_and_the_list_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [run(tmp_path, "pass@1 >= 0.5") for _ in range(3)]
    monkeypatch.setattr(_runs, "MOST_TRIALS", 12)
    assert [listed(tmp_path)[name] for name in names] == [None, "met", "met"]
    text = CliRunner().invoke(_runs.command, ["--root", str(tmp_path)]).stdout
    assert "Gates: of the newest 2 runs; of others passhat report RUN says it" in text
    monkeypatch.setattr(_runs, "MOST_TRIALS", 1)
    assert listed(tmp_path)[names[2]] == "met"  # the newest in any case
