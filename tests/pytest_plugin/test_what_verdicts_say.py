"""What a verdict says of missing trials, unmet scripts, judges with several bars, and failures that look alike."""

from __future__ import annotations

import pytest

from passhat.pytest_plugin._parts import Part
from passhat.pytest_plugin._trial_parts import TrialParts
from passhat.pytest_plugin._verdict import CaseVerdict, decide_case
from passhat.records import RunReader, find_run

ASK = """
import pytest
from openai import OpenAI
from passhat.scripting import fail, say

def ask():
    with OpenAI(max_retries=0) as client:
        sent = [{"role": "user", "content": "hi"}]
        return client.chat.completions.create(model="m", messages=sent).choices[0].message.content

def ask_twice():
    ask()
    try:
        ask()
    except Exception:
        pass
"""


def decided(*kinds: str, rule: str = "every trial", text: str = "") -> CaseVerdict:
    trials = []
    for number, kind in enumerate(kinds, 1):
        shown = "" if kind == "passed" else text.replace("N", str(number))
        part = Part("c", number, "call", kind, shown, text=shown, rule=rule)  # type: ignore[arg-type]
        trials.append(TrialParts("c", number, [part]))
    return decide_case(trials, None, "live")


def test_without_a_gate_missing_trials_leave_it_incomplete_unless_one_failed() -> None:
    incomplete = decided("passed", "passed", "interrupted")
    assert incomplete.outcome == "failed"
    assert incomplete.headline.startswith("incomplete: 2 of 2 trials passed, 1 missing")
    assert "1 of 3 has no verdict" in incomplete.text
    assert "a gate such as" not in incomplete.text
    assert decided("passed", "failed", "interrupted").headline.startswith("1 of 2 trials passed, 1 missing")


def test_a_test_without_any_verdict_is_incomplete_also_where_it_only_records() -> None:
    nothing = decided("environment_error", "environment_error", rule="none")
    assert nothing.outcome == "failed"
    assert nothing.headline.startswith("incomplete: 0 of 0 trials passed, 2 missing")
    assert "no trial has a verdict" in nothing.text
    assert decided("passed", "environment_error", rule="none").outcome == "passed"


def test_failures_that_differ_only_in_an_address_are_listed_once_under_both_numbers() -> None:
    text = decided("passed", "failed", "failed", text="<Order object at 0x7f00aN> is late").text
    assert "2 x <Order object at 0x7f00a2> is late" in text
    assert text.count("--- trial ") == 1
    assert "--- trial 2: failed ---" in text


def test_a_request_beyond_the_script_fails_the_test_though_the_agent_swallows_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        ASK
        + """
def test_plain(faux):
    faux.script(say("a"))
    ask_twice()

@pytest.mark.trials(2)
def test_trials(faux):
    faux.script(say("a"))
    ask_twice()

@pytest.mark.trials(2)
def test_unused(faux):
    faux.script(say("a"), say("b"), say("c"))
    ask()

def test_scripted_error(faux):
    faux.script(say("a"), fail(400))
    ask_twice()
"""
    )
    result = pytester.runpytest("-p", "no:xdist")
    result.assert_outcomes(passed=2, failed=2, errors=1)  # the end of an ordinary test is its teardown
    shown = result.stdout.str()
    assert "the script had no reply for a request, though the test passed: No more scripted replies" in shown
    assert "2 x the script was not used up; nothing asked for: say('b'), say('c')" in shown
    assert {record.passed for record in RunReader(find_run("last", pytester.path / ".passhat")).trials()} == {False}


def test_a_judges_bar_is_the_markers_and_stands_in_its_name(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        def half(trial):
            return 0.5

        @pytest.mark.trials(1, simulated=True, judges=[half], threshold=0.51)
        def test_above(trial): pass

        @pytest.mark.trials(1, simulated=True, judges=[half], threshold=0.5)
        def test_equal(trial): pass

        @pytest.mark.trials(1, simulated=True, judges=[half])
        def test_none(trial): pass
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["1 x judge half scored 0.50, needs 0.51"])
    records = RunReader(find_run("last", pytester.path / ".passhat")).trials()
    grades = {record.task.partition("::")[2]: record.grades[1] for record in records}
    assert {name: (grade.name, grade.passed, grade.reason) for name, grade in grades.items()} == {
        "test_above": ("half >= 0.51", False, ""),
        "test_equal": ("half >= 0.5", True, ""),
        "test_none": ("half", False, ""),
    }


def test_a_gate_out_of_reach_of_the_option_is_refused_for_selected_tests_only(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.trials(20, gate="pass@1 >= 0.8", simulated=True)
        def test_gated(): open("ran", "w")

        @pytest.mark.trials(3, simulated=True)
        def test_free(): pass
        """
    )
    pytester.runpytest("--trials", "2", "test_it.py::test_free").assert_outcomes(passed=1)
    both = pytester.runpytest("--trials", "2")
    assert both.ret == pytest.ExitCode.INTERRUPTED
    both.stdout.fnmatch_lines(["test_it.py::test_gated: --trials 2: pass@1 >= 0.8 can't be met by 1 task × 2 trials*"])
    assert not (pytester.path / "ran").exists()


def test_a_body_that_is_broken_is_no_error_of_a_set_up(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it="import pytest\n\n@pytest.mark.trials(2, simulated=True)\ndef test_it():\n    nope()\n")
    result = pytester.runpytest("-p", "no:xdist", "--junitxml=junit.xml")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*_ ERROR at the trials of test_it _*"])
    assert 'message="failed on setup with ' in pytester.path.joinpath("junit.xml").read_text(encoding="utf-8")
