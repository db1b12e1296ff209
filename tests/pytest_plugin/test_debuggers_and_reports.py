"""Debuggers stop in trials; what pytest itself reports of a session with trials."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

SOME = """
import time
import pytest

@pytest.fixture
def words():
    return ["a"]

@pytest.mark.trials(3, simulated=True, gate="pass@1 >= 0.3")
def test_rate(words, request):
    number = request.node.callspec.params["_passhat_trial"]
    assert number != 2, "the second is wrong"

@pytest.mark.timeout(0.2)
@pytest.mark.trials(2, simulated=True, gate=None)
def test_slow(request):
    if request.node.callspec.params["_passhat_trial"] == 1:
        while True:
            time.sleep(0.01)
"""


@pytest.fixture
def some(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(test_some=SOME)
    return pytester


def test_the_debugger_shows_where_the_trial_failed(some: pytest.Pytester) -> None:
    some.makepyfile(quiet="import pdb\n\nclass Quiet(pdb.Pdb):\n    def interaction(self, *args):\n        pass\n")
    some.syspathinsert()
    result = some.runpytest("--pdb", "--pdbcls=quiet:Quiet", "-k", "rate")
    shown = result.stdout.str().partition("> traceback >")[2].partition("entering PDB")[0]
    assert "AssertionError: the second is wrong" in shown
    assert "> " in shown
    assert "trial failed" not in shown
    result.assert_outcomes(failed=1)
    run_again = some.runpytest("-k", "rate")
    run_again.stdout.fnmatch_lines(["*1 x the second is wrong*"])


def test_a_trace_begins_in_each_trial_and_in_no_verdict(some: pytest.Pytester) -> None:
    some.makepyfile(
        tracer="""
        import pdb

        class Tracer(pdb.Pdb):
            def runcall(self, function, *args, **kwargs):
                with open("traced.txt", "a") as file:
                    print(function, file=file)
                return function(*args, **kwargs)
        """
    )
    some.syspathinsert()
    some.runpytest("--trace", "--pdbcls=tracer:Tracer", "-k", "rate").assert_outcomes(failed=1)
    assert len((some.path / "traced.txt").read_text().splitlines()) == 3


def test_a_trial_that_takes_too_long_is_a_failed_trial(some: pytest.Pytester) -> None:
    result = some.runpytest_subprocess("-k", "slow")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*test_slow  recorded only: 1 of 2 trials passed*"])


def test_setting_up_is_shown_for_trials_only(some: pytest.Pytester) -> None:
    result = some.runpytest("--setup-show", "-k", "rate")
    shown = [line.strip() for line in result.outlines if "SETUP" in line or "(fixtures used" in line]
    assert sum("SETUP    F words" in line for line in shown) == 3
    assert sum("of3] (fixtures used" in line for line in shown) == 3


def test_durations_name_the_trials_and_the_case(some: pytest.Pytester) -> None:
    result = some.runpytest("--durations=0", "--durations-min=0", "-vv", "-k", "rate")
    named = {line.split()[2] for line in result.outlines if line.endswith(("of3]", "::test_rate")) and " call " in line}
    assert named == {f"test_some.py::test_rate[trial{number}of3]" for number in (1, 2, 3)} | {"test_some.py::test_rate"}


def test_junit_has_each_trial_and_the_verdict_with_what_it_rests_on(some: pytest.Pytester) -> None:
    some.runpytest("--junitxml=out.xml", "-k", "rate")
    cases = {str(case.get("name")): case for case in ET.parse(some.path / "out.xml").iter("testcase")}
    assert set(cases) == {"test_rate", *(f"test_rate[trial{number}of3]" for number in (1, 2, 3))}
    skipped = cases["test_rate[trial2of3]"].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "trial failed: the second is wrong"
    verdict = cases["test_rate"]
    failure = verdict.find("failure")
    assert failure is not None
    said = str(failure.get("message"))
    assert said.startswith("gate pass@1 >= 0.3 is undecided: 2 of 3 trials passed: pass@1 0.67 [0.20, 0.94]")
    assert "a double answered" not in said  # nothing was asked
    assert "would prove the bar" in str(failure.text)
    properties = {each.get("name"): each.get("value") for each in verdict.iter("property")}
    assert properties == {
        "trials": "3",
        "passed": "2",
        "missing": "0",
        "model_source": "unseen",
        "gate": "pass@1 >= 0.3",
        "verdict": "undecided",
        "looks": "1",
    }
