"""Where commands find the suite of a run that is named by its path."""

from __future__ import annotations

from pathlib import Path

import pytest

from passhat.cli._found import NoSuite, suite_of
from passhat.facts import Manifest

SUITE = """
from passhat import Suite, Task
suite = Suite("words", tasks=[Task("{task}", input="x")], agent=lambda trial: "x", graders=[])
"""
MANIFEST = Manifest(run_id="r", suite="words", source_file="evals/eval_words.py::words")


def project(folder: Path, task: str) -> Path:
    """A project with a run; its folder of runs."""
    (folder / "evals").mkdir(parents=True)
    (folder / "evals" / "eval_words.py").write_text(SUITE.format(task=task))
    (folder / ".passhat" / "runs" / "r").mkdir(parents=True)
    return folder / ".passhat"


def found(root: Path, run: Path, path: str | None = None) -> str:
    return suite_of(MANIFEST, path, root, run).load_tasks()[0].id


def test_a_run_of_another_project_has_the_suite_of_that_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = project(tmp_path / "here", "ours"), project(tmp_path / "there", "theirs")
    away = tmp_path / "away"
    away.mkdir()
    monkeypatch.chdir(away)
    assert found(away / ".passhat", there / "runs" / "r") == "theirs"
    monkeypatch.chdir(tmp_path / "here")
    assert found(here, there / "runs" / "r") == "theirs"
    assert found(here, here / "runs" / "r") == "ours"
    assert found(there, there / "runs" / "r") == "ours"  # runs kept elsewhere are of the project one stands in
    assert found(here, there / "runs" / "r", "evals/eval_words.py") == "ours"


def test_a_suite_that_is_gone_is_said_with_the_way_to_name_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = project(tmp_path / "here", "ours")
    (tmp_path / "here" / "evals" / "eval_words.py").unlink()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoSuite, match=r"the suite of r isn't there any more.* name its file after the run \(PATH\)"):
        found(root, root / "runs" / "r")
