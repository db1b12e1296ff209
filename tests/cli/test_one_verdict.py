"""A gate's verdict is the same on the command line, in its JSON and in pytest, at the first look and at the next."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SUITE = """
from passhat import Grade, Suite, Task

suite = Suite(
    "coin",
    tasks=[Task("only", input="x")],
    agent=lambda trial: trial.number not in {missed},
    graders=[lambda trial: Grade(trial.output)],
    trials={trials},
    kind="regression",
    gates=[{gate!r}],
)
"""
TEST = """
import pytest

@pytest.mark.trials({trials}, gate={gate!r}, simulated=True)
def test_coin(trial):
    assert trial.number not in {missed}
"""


Call = Callable[..., subprocess.CompletedProcess[str]]


OFF = [f"-pno:{name}" for name in ("cacheprovider", "hypothesispytest", "cov", "xdist", "randomly", "rerunfailures")]


class Project:
    """A repository with one suite and one test of the same counts."""

    def __init__(self, here: Call, folder: Path, gate: str, trials: int, missed: list[int]) -> None:
        self.here = here
        self.folder = folder
        self.environ = {key: value for key, value in os.environ.items() if not key.startswith(("OPENAI_", "PASSHAT_"))}
        fields = {"gate": gate, "trials": trials, "missed": missed}
        (folder / "eval_coin.py").write_text(SUITE.format(**fields))
        (folder / "test_coin.py").write_text(TEST.format(**fields))
        for words in ("init -q", "add .", "-c user.name=t -c user.email=t@localhost commit -q -m start"):
            self.call("git", *words.split())

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, cwd=self.folder, env=self.environ, capture_output=True, text=True)

    def said(self) -> tuple[tuple[str, int], tuple[str, int], tuple[str, int]]:
        """Verdict and look: of `passhat run`, of the JSON of its report, of pytest."""
        python = (sys.executable, "-m")
        run = self.call(*python, "passhat", "run", "eval_coin.py", "-q", "--isolation", "inline")
        report = self.here("report", "last", "--json")
        tested = self.call(*python, "pytest", "-q", *OFF, "test_coin.py", "--junitxml=j.xml")
        (row,) = json.loads(report.stdout)["gates"]
        code = {0: "met", 1: "not met", 4: "undecided"}[run.returncode]
        found = re.search(r'name="verdict" value="([^"]+)"', (self.folder / "j.xml").read_text())
        assert found is not None, tested.stdout
        return (code, _look(run.stdout)), (row["verdict"], row["looks"]), (found[1], _look(tested.stdout))


def _look(text: str) -> int:
    """Which look the text speaks of; 1 where it speaks of none."""
    found = re.search(r"[Ll]ook\s+(\d+)", text)
    return 1 if found is None else int(found[1])


@pytest.mark.parametrize(
    ("gate", "trials", "missed", "first", "second"),
    [
        ("pass@1 >= 0.7", 20, [3, 9, 14], "undecided", "undecided"),
        pytest.param("pass@1 >= 0.8", 14, [], "met", "met", marks=pytest.mark.long),
        ("p95 seconds <= 30", 59, [7], "met", "met"),
        ("pass@1 >= 0.9", 30, [1, 5, 6, 11, 12, 17, 20, 22, 27], "not met", "not met"),
    ],
)
def test_command_line_json_and_pytest_say_the_same_of_the_same_counts(
    here: Call, tmp_path: Path, gate: str, trials: int, missed: list[int], first: str, second: str
) -> None:
    project = Project(here, tmp_path, gate, trials, missed)
    assert set(project.said()) == {(first, 1)}
    again = project.said()
    look = 1 if first == "met" else 2
    assert again[1] == (second, look)
    assert {verdict for verdict, _ in again} == {second}
    if first != "met":
        assert {said for _, said in again} == {2}


def test_a_percentile_that_the_trials_cannot_bound_is_refused_by_both(here: Call, tmp_path: Path) -> None:
    project = Project(here, tmp_path, "p95 seconds <= 30", 58, [])
    for words in (("passhat", "run", "eval_coin.py", "--isolation", "inline"), ("pytest", "test_coin.py")):
        done = project.call(sys.executable, "-m", *words)
        said = " ".join(f"{done.stdout} {done.stderr}".split())
        assert done.returncode == 2
        assert "can't be met by 1 task × 58 trials" in said
        assert "59 trials a task could" in said
    assert not (tmp_path / ".passhat").exists()
