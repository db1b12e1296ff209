"""The example of a judge held against people, and the page that shows it. Judge and labels are made up."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

Call = Callable[..., subprocess.CompletedProcess[str]]
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "calibrating.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example with one run of it."""
    folder = tmp_path_factory.mktemp("example") / "calibrated_judge"
    shutil.copytree(ROOT / "examples" / "calibrated_judge", folder)
    done = passhat(folder, "run", ".", "-q", "--isolation", "inline", "--concurrency", "4")
    assert done.returncode == 0, done.stderr
    return folder


def passhat(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    hidden = ("OPENAI_", "ANTHROPIC_", "PASSHAT_")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    return subprocess.run(
        [sys.executable, "-m", "passhat", *arguments],
        cwd=folder,
        env={**environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )


@pytest.fixture
def call(folder: Path, called_here: Call) -> Call:
    """Call the command line in the example's folder."""
    return partial(called_here, folder, COLUMNS="80")


@pytest.mark.long
def test_the_example_prints_what_the_page_shows(folder: Path, call: Call) -> None:
    done = call("calibrate", "last", "--labels", "people.csv")
    assert done.returncode == 0, done.stderr
    [shown] = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert re.sub(r"(?<=beside people)  \S+", "", done.stdout) == shown


def test_json_has_both_rates_and_the_exit_code(folder: Path, call: Call) -> None:
    done = call("calibrate", "last", "--grader", "kind", "--labels", "people.csv", "--by", "tag", "--json")
    found = json.loads(done.stdout)
    assert found["correction"]["method"] == "post-stratified"
    assert found["correction"]["corrected"]["estimate"] < found["correction"]["raw"]["estimate"]
    assert [row["name"] for row in found["parts"]] == ["delivery", "refund"]
    assert found["exit_code"] == 0


def test_without_labels_it_says_how_to_get_some(folder: Path, call: Call) -> None:
    done = call("calibrate", "last")
    assert done.returncode == 3
    assert re.search(r"passhat review \S+-replies-\S+ --grader kind --blind", done.stdout)


def test_labels_of_another_run_correct_it_too(folder: Path, call: Call) -> None:
    [run] = (folder / ".passhat" / "runs").glob("*-replies-*")
    other = folder / ".passhat" / "runs" / "other"
    shutil.copytree(run, other)
    try:
        rows = (folder / "people.csv").read_text().splitlines()[1:]
        cells = [dict(zip(("task", "trial", "verdict"), row.split(","), strict=False)) for row in rows]
        told = {"rater": "ann", "at": "", "grader": "kind", "sample": "random", "blind": True}
        lines = [json.dumps({**each, **told, "trial": int(each["trial"])}) for each in cells]
        (other / "labels.jsonl").write_text("".join(f"{line}\n" for line in lines))
        done = call("calibrate", str(run), "--labels", str(other))
        assert done.returncode == 0, done.stderr
        assert "Rogan–Gladen" in call("calibrate", str(run), "--labels", str(other), "--json").stdout
    finally:
        shutil.rmtree(other)


def test_the_judge_is_asked_again_and_what_leaks_sets_the_exit_code(folder: Path, call: Call) -> None:
    asked = ("calibrate", "last", "--robustness", "2", "--repeats", "2", "--control", "empty", "--control", "other")
    done = call(*asked)
    assert done.returncode == 1
    assert "2 of 4 passed, a leak rate of 0.500" in done.stdout
    assert "judged 8 of 8" in done.stderr


def test_a_grader_or_a_run_that_is_not_there_is_wrong_use(folder: Path, call: Call) -> None:
    done = call("calibrate", "last", "--grader", "tone")
    assert done.returncode == 2
    assert "no grader 'tone' judged a trial of it; its graders are: 'kind'" in done.stderr
    assert call("calibrate", "nothing").returncode == 2
