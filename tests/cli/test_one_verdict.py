"""A gate's verdict is the same on the command line, in its JSON and in pytest, at the first look and at the next."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from functools import partial

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
RUN = ("run", "eval_coin.py", "--isolation", "inline")


class Project:
    """A repository with one suite and one test of the same counts."""

    def __init__(self, pytester: pytest.Pytester, called_here: Call, gate: str, trials: int, missed: list[int]) -> None:
        self.pytester = pytester
        self.called_here = called_here
        self.path = pytester.path
        fields = {"gate": gate, "trials": trials, "missed": missed}
        (self.path / "eval_coin.py").write_text(SUITE.format(**fields))
        (self.path / "test_coin.py").write_text(TEST.format(**fields))
        pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
        for words in ("init -q", "add .", "-c user.name=t -c user.email=t@localhost commit -q -m start"):
            subprocess.run(["git", *words.split()], cwd=self.path, check=True)

    def passhat(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.called_here(self.path, *words)

    def pytest(self) -> pytest.RunResult:
        return self.pytester.runpytest_inprocess("-q", *OFF, "test_coin.py", "--junitxml=j.xml")

    def said(self) -> tuple[tuple[str, int], tuple[str, int], tuple[str, int]]:
        """Verdict and look: of `passhat run`, of the JSON of its report, of pytest."""
        run = self.passhat(*RUN, "-q")
        report = self.passhat("report", "last", "--json")
        tested = self.pytest()
        (row,) = json.loads(report.stdout)["gates"]
        code = {0: "met", 1: "not met", 4: "undecided"}[run.returncode]
        found = re.search(r'name="verdict" value="([^"]+)"', (self.path / "j.xml").read_text())
        assert found is not None, tested.stdout
        return (code, _look(run.stdout)), (row["verdict"], row["looks"]), (found[1], _look(tested.stdout.str()))


@pytest.fixture
def project(pytester: pytest.Pytester, called_here: Call) -> Callable[[str, int, list[int]], Project]:
    return partial(Project, pytester, called_here)


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
    project: Callable[..., Project], gate: str, trials: int, missed: list[int], first: str, second: str
) -> None:
    coin = project(gate, trials, missed)
    assert set(coin.said()) == {(first, 1)}
    again = coin.said()
    look = 1 if first == "met" else 2
    assert again[1] == (second, look)
    assert {verdict for verdict, _ in again} == {second}
    if first != "met":
        assert {said for _, said in again} == {2}


def test_a_percentile_that_the_trials_cannot_bound_is_refused_by_both(project: Callable[..., Project]) -> None:
    coin = project("p95 seconds <= 30", 58, [])
    run, tested = coin.passhat(*RUN), coin.pytest()
    both = [(run.returncode, run.stdout + run.stderr), (tested.ret, tested.stdout.str() + tested.stderr.str())]
    for code, text in both:
        said = " ".join(text.split())
        assert code == 2
        assert "can't be met by 1 task × 58 trials" in said
        assert "59 trials a task could" in said
    assert not (coin.path / ".passhat").exists()
