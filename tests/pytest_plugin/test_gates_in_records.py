"""A report of a session's record says of each test what the session said: rule, verdict, look, and whether it fails."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

FILE = """
import pytest

{test}
"""
GATED = """
@pytest.mark.trials({n}, gate={gate!r}, simulated=True{more})
def test_it(trial):
    assert trial.number not in {missed}
"""


def gated(gate: str | None, n: int, missed: list[int], more: str = "") -> str:
    return GATED.format(gate=gate, n=n, missed=missed, more=more)


def marked(body: str, n: int = 6, gate: str = "pass@1 >= 0.3", mark: str = "") -> str:
    return f"{mark}\n@pytest.mark.trials({n}, gate={gate!r}, simulated=True)\ndef test_it(trial):\n    {body}\n"


ONE_CALL = "pytest.xfail('hiccup') if trial.number == 3 else None; assert 0"
OTHER_ERROR = "assert trial.number < 2 or 1 / 0"
SOME_ERRORS = "@pytest.mark.xfail(raises=ZeroDivisionError{})"
EVERY = GATED.replace("gate={gate!r}, ", "")
CASES = {
    "met": (gated("pass@1 >= 0.8", 20, []), "met"),
    "not met": (gated("pass@1 >= 0.8", 20, list(range(15))), "not met"),
    "undecided": (gated("pass@1 >= 0.8", 20, [3, 4, 5]), "undecided"),
    "undecided passes": (gated("pass@1 >= 0.8", 20, [3, 4, 5], ", undecided='pass'"), "undecided"),
    "a rate of two tries": (gated("pass^2 >= 0.5", 20, [3]), "met"),
    "a percentile": (gated("p95 seconds <= 30", 59, []), "met"),
    "every trial": (EVERY.format(n=5, missed=[], more=""), "met"),
    "not every trial": (EVERY.format(n=5, missed=[2], more=""), "not met"),
    "recorded": (gated(None, 5, [1, 2]), None),
    "expected to fail": ("@pytest.mark.xfail" + gated("pass@1 >= 0.8", 20, list(range(15))), "not met"),
    "passes all the same": ("@pytest.mark.xfail(strict=True)" + gated("pass@1 >= 0.8", 20, []), "met"),
    "one call of xfail": (marked(ONE_CALL), "undecided"),
    "one call of xfail, met": (marked("pytest.xfail('hiccup') if trial.number == 3 else None", 30), "met"),
    "each calls xfail": (marked("pytest.xfail('known')"), "undecided"),
    "another error than expected": (marked("assert trial.number", mark=SOME_ERRORS.format("")), "met"),
    "one of two errors expected": (
        marked("1 / 0 if trial.number else None; assert 0", mark=SOME_ERRORS.format("")),
        "undecided",
    ),
    "the errors expected": (marked(OTHER_ERROR, mark=SOME_ERRORS.format("")), "undecided"),
    "strict, and others fail": (
        marked("assert trial.number", mark=SOME_ERRORS.format(", strict=True")),
        "met",
    ),
    "broken": (gated("pass@1 >= 0.8", 20, []).replace("trial.number", "trials.number"), "incomplete"),
    "skipped": ("@pytest.mark.skip(reason='later')" + gated("pass@1 >= 0.8", 20, []), None),
}


Reported = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def reported(pytester: pytest.Pytester, called_here: Callable[..., subprocess.CompletedProcess[str]]) -> Reported:
    """The exit code of a report of the last session, and what is in its JSON."""

    def report(*words: str) -> tuple[int, dict[str, Any]]:
        done = called_here(pytester.path, "report", "last", "--json", *words)
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    return report


@pytest.mark.parametrize("name", list(CASES))
def test_the_record_says_the_same_of_a_test_as_its_session(
    pytester: pytest.Pytester, reported: Reported, name: str
) -> None:
    test, verdict = CASES[name]
    pytester.makepyfile(test_it=FILE.format(test=test))
    session = pytester.runpytest("--junitxml=out.xml")
    code, report = reported()
    assert (code == 0) == (session.ret == 0), (code, session.ret, report["gates"])
    assert [(row["task"], row["verdict"]) for row in report["gates"]] == [("test_it.py::test_it", verdict)] * bool(
        verdict
    )
    if found := re.search(r'name="verdict" value="([^"]+)"', (pytester.path / "out.xml").read_text()):
        assert found[1] == verdict


def test_bounds_looks_and_the_rules_of_several_tests_agree(pytester: pytest.Pytester, reported: Reported) -> None:
    tests = [CASES[name][0].replace("test_it", f"test_{place}") for place, name in enumerate(CASES)]
    pytester.makepyfile(test_it=FILE.format(test="\n".join(tests)))
    for look in (1, 2):
        session = pytester.runpytest("--junitxml=out.xml")
        _, report = reported()
        xml = (pytester.path / "out.xml").read_text()
        said = {}
        for case in re.findall(r"<testcase .*?</testcase>", xml, re.DOTALL):
            facts = dict(re.findall(r'name="(\w+)" value="([^"]*)"', case))
            if "verdict" in facts:
                named = re.search(r'name="(test_\d+)"', case)
                assert named is not None
                said[f"test_it.py::{named[1]}"] = (facts["gate"].replace("&gt;", ">").replace("&lt;", "<"), facts)
        rows = {row["task"]: row for row in report["gates"]}
        for task, (gate, facts) in said.items():
            row = rows[task]
            assert (row["gate"], row["verdict"], str(row["looks"])) == (gate, facts["verdict"], facts.get("looks", "1"))
        undecided = rows["test_it.py::test_2"]
        assert undecided["looks"] == look
        text = " ".join(session.stdout.str().split())
        assert f"lies between {undecided['bound']:.3f}" in text


def test_the_policy_of_the_session_is_kept_and_can_be_overruled(pytester: pytest.Pytester, reported: Reported) -> None:
    pytester.makepyfile(test_it=FILE.format(test=CASES["undecided"][0]))
    assert pytester.runpytest("--undecided", "pass").ret == 0
    assert reported()[0] == 0
    assert reported("--undecided", "fail")[0] == 4


def test_a_session_that_was_broken_off_is_incomplete(pytester: pytest.Pytester, reported: Reported) -> None:
    stop = "\n    if trial.number == 2: raise KeyboardInterrupt"
    test = gated("pass@1 >= 0.8", 20, []).replace("(trial):", "(trial):" + stop)
    pytester.makepyfile(test_it=FILE.format(test=test))
    assert pytester.runpytest_subprocess().ret != 0
    assert reported()[0] == 3


CUT = """
import pytest

def pytest_runtestloop(session):
    session.items[:] = session.items[:{kept}]
"""


@pytest.mark.parametrize("gate", ["pass@1 >= 0.3", None, "every trial"])
def test_a_session_that_a_hook_cuts_short_is_green_in_no_report(
    pytester: pytest.Pytester, reported: Reported, gate: str | None
) -> None:
    pytester.makeconftest(CUT.format(kept=18))
    pytester.makepyfile(test_it=FILE.format(test=gated(gate, 20, [])))
    assert pytester.runpytest().ret == 1
    assert reported()[0] == 3
