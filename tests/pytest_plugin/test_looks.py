"""Asking again until it is green: each session on the same code is a look, and the verdict says which."""

from __future__ import annotations

import subprocess

import pytest

from passhat.pytest_plugin._parts import Part
from passhat.pytest_plugin._trial_parts import TrialParts
from passhat.pytest_plugin._verdict import decide_case

RATE = """
import pytest

PASSES = {passes}

@pytest.mark.trials({n}, gate="pass@1 >= 0.5", simulated=True)
def test_rate(request):
    assert request.node.callspec.params["_passhat_trial"] <= PASSES

@pytest.mark.trials(3, simulated=True)
def test_no_gate():
    pass
"""


def git(pytester: pytest.Pytester, *words: str) -> None:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, *words], cwd=pytester.path, check=True, capture_output=True)


def headline(result: pytest.RunResult) -> str:
    return next(line for line in result.outlines if "::test_rate  " in line).partition("  ")[2]


def test_an_undecided_gate_that_is_asked_again_must_prove_more(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=RATE.format(passes=4, n=5))
    assert headline(pytester.runpytest()).startswith("gate pass@1 >= 0.5 is undecided: 4 of 5")
    second = pytester.runpytest("--junitxml=out.xml")
    assert headline(second).startswith("gate pass@1 >= 0.5 is undecided at look 2 on this code: 4 of 5")
    place = next(number for number, line in enumerate(second.outlines) if "::test_rate  " in line)
    below = " ".join(" ".join(second.outlines[place + 1 :]).split())
    assert all(len(line) <= 80 for line in second.outlines[place + 1 : place + 4])
    assert "(one-sided 97.5 % each way)" in below
    assert "up to 7.4 % of the time" in below
    second.stdout.fnmatch_lines(
        ["*Look 2 at this gate, at its share of the error*", "*Asking again until it is green*"]
    )
    assert '<property name="looks" value="2"' in (pytester.path / "out.xml").read_text()
    third = pytester.runpytest("-n", "2", "-p", "no:cacheprovider")
    assert "at look" not in headline(third)  # no commit, and the controller of xdist doesn't know the tests' code


def test_a_changed_test_is_new_code_also_before_it_is_committed(pytester: pytest.Pytester) -> None:
    pytester.makefile(".txt", notes="kept")
    (pytester.path / ".gitignore").write_text(".passhat\n__pycache__\n.pytest_cache\n")
    git(pytester, "init", "-q")
    git(pytester, "add", ".gitignore", "notes.txt")
    git(pytester, "commit", "-q", "-m", "first")
    pytester.makepyfile(test_it=RATE.format(passes=4, n=5))
    assert "at look" not in headline(pytester.runpytest())
    assert "at look 2" in headline(pytester.runpytest("-n", "2"))
    pytester.makepyfile(test_it=RATE.format(passes=4, n=6))
    assert "at look" not in headline(pytester.runpytest())
    git(pytester, "add", "test_it.py")
    git(pytester, "commit", "-q", "-m", "second")
    assert "at look" not in headline(pytester.runpytest())
    assert "at look 2" in headline(pytester.runpytest())


def test_a_gate_that_was_met_needs_no_other_look(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=RATE.format(passes=9, n=9))
    for _ in range(3):
        assert headline(pytester.runpytest()).startswith("gate pass@1 >= 0.5 is met: 9 of 9")


@pytest.mark.parametrize(("looks", "verdict"), [(1, "met"), (2, "undecided")])
def test_the_same_counts_prove_less_at_a_later_look(looks: int, verdict: str) -> None:
    gate = "pass@1 >= 0.5"
    trials = []
    for number in range(1, 6):
        part = Part("c", number, "call", "passed", rule=gate, gate=gate)
        trials.append(TrialParts("c", number, [part]))
    decided = decide_case(trials, None, "live", looks)
    assert dict(decided.properties)["verdict"] == verdict


@pytest.mark.parametrize(
    ("passed", "n", "needed"),
    [(4, 5, "about 13 trials would prove the bar"), (5, 10, "more trials won't prove the bar")],
)
def test_an_undecided_gate_says_how_many_trials_would_do(passed: int, n: int, needed: str) -> None:
    gate = "pass@1 >= 0.5"
    trials = []
    for number in range(1, n + 1):
        good = number <= passed
        part = Part("c", number, "call", "passed" if good else "failed", own=good, rule=gate, gate=gate)
        trials.append(TrialParts("c", number, [part]))
    assert needed in decide_case(trials, None, "live").text
