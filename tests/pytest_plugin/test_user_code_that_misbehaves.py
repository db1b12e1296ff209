"""What a test hands over, raises or does to the process ends a trial at most, and never the session."""

from __future__ import annotations

import pytest

from passhat.facts import Status
from passhat.records import RunReader, find_run

HANDED = """
import pytest
from passhat.graders import grader

@grader
def half(trial):
    return 0.5

BAD = {"bytes": b"x", "nan": float("nan"), "surrogate": chr(0xD800), "object": ValueError("x")}
judged = pytest.mark.trials(2, simulated=True, judges=[half], threshold=0.5)

@judged
@pytest.mark.parametrize("what", BAD)
def test_output(trial, what):
    trial.submit(BAD[what])

@judged
def test_input(trial):
    trial.submit("fine", input=b"x")

@judged
def test_expected(trial):
    trial.submit("fine", expected={"a": b"x"})

@judged
def test_fine(trial):
    trial.submit({"a": (1, 2)}, input={1, 2})

def test_alone(trial):
    trial.submit(b"x")
"""


def test_what_json_cannot_hold_is_the_tests_own_fault(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_handed=HANDED)
    result = pytester.runpytest("-rE", "-p", "no:xdist")
    result.assert_outcomes(passed=1, errors=6, failed=1)
    result.stdout.fnmatch_lines_random(
        [
            "the test itself is broken: trial.submit: output is bytes*",
            "the test itself is broken: trial.submit: output is nan*",
            "the test itself is broken: trial.submit: output holds the lone surrogate*",
            "the test itself is broken: trial.submit: output is a ValueError*",
            "the test itself is broken: trial.submit: input is bytes*",
            "the test itself is broken: trial.submit: expected[[]'a'[]] is bytes*",
        ]
    )


RAISED = """
import pytest

class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no text")

ERRORS = [Mute, lambda: ValueError("a" + chr(0xD800)), lambda: AssertionError("x" * 10**6),
          lambda: KeyError(chr(27) + "[31mred" + chr(0x202E))]
trials = pytest.mark.trials(2, simulated=True)

@trials
@pytest.mark.parametrize("error", ERRORS, ids="abcd")
def test_raises(error):
    raise error()

@pytest.fixture
def broken(error):
    raise error()

@trials
@pytest.mark.parametrize("error", ERRORS, ids="abcd")
def test_set_up(broken):
    pass

@trials
def test_skips():
    pytest.skip(chr(0xD800))

@trials
def test_expected():
    pytest.xfail(chr(0xD800))
"""


@pytest.mark.parametrize("mode", [["-p", "no:xdist"], ["-n", "1"]], ids=" ".join)
def test_no_text_of_an_error_ends_the_session(pytester: pytest.Pytester, mode: list[str]) -> None:
    pytester.makepyfile(test_raised=RAISED)
    result = pytester.runpytest("--tb=short", *mode)
    result.assert_outcomes(failed=8, skipped=1, xfailed=1)
    shown = result.stdout.str()
    assert "2 x Mute: <Mute whose text can't be made>" in shown
    assert "2 x ValueError: a\\ud800" in shown
    assert "\x1b[31mred" not in shown.partition("--- trial")[2]
    assert max(map(len, result.outlines)) < 1000
    records = list(RunReader(find_run("last", pytester.path / ".passhat")).trials())
    assert len(records) == 20
    assert {record.status for record in records} >= {Status.AGENT_ERROR, Status.ENVIRONMENT_ERROR, Status.COMPLETED}
    assert all(len(record.error.traceback or "") < 30_000 for record in records if record.error is not None)


ENDED = """
import os
import threading
import pytest

trials = pytest.mark.trials(2, simulated=True)

@pytest.fixture
def first():
    os._exit(0)

@pytest.fixture
def last():
    yield
    os._exit(0)

@trials
def test_body():
    os._exit(0)

@trials
def test_set_up(first):
    pass

@trials
def test_tear_down(last):
    pass

@trials
def test_swallowed():
    try:
        os._exit(0)
    except BaseException:
        pass

@trials
def test_goes_on():
    try:
        os._exit(0)
    except Exception:
        os.environ["WENT"] = "on"

@trials
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_thread():
    thread = threading.Thread(target=os._exit, args=(0,))
    thread.start()
    thread.join()

@trials
def test_program():
    os.execlp("true", "true")

@trials
def test_child():
    child = os.fork()
    if not child:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

def test_faux_body(faux):
    os._exit(0)

def test_faux_set_up(first, faux):
    pass

def test_faux_tear_down(monkeypatch, last, faux):
    monkeypatch.setenv("LEFT", "behind")

def test_is_still_run():
    assert "LEFT" not in os.environ and "WENT" not in os.environ
"""


def test_nothing_in_a_covered_test_ends_the_process(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_ended=ENDED)
    result = pytester.runpytest_subprocess("-rA", "--tb=short", "-p", "no:xdist")
    # failed: seven cases of trials and a body; errors: a set-up and a tear-down; the test torn down has passed before
    result.assert_outcomes(passed=3, failed=8, errors=2)
    result.stdout.fnmatch_lines_random(
        [
            "PASSED *::test_child",
            "PASSED *::test_is_still_run",
            "*::test_set_up  incomplete: 0 of 0 trials passed, 2 missing*",
            "*::test_tear_down  incomplete: 0 of 0 trials passed, 2 missing*",
            "*::test_thread  0 of 2 trials passed*",
            "*2 x *os.execv('*', …) would have put another program in the place of the whole process*",
            "*2 x *os._exit(0) would have ended the whole process*",
        ]
    )


GRADED = """
import pytest
from passhat import Suite, Task
from passhat.graders import exact, grader
from passhat.pytest_plugin import suite_tests

@grader
def brief(trial):
    return 0.6 if trial.number else 0.4

@pytest.mark.trials(8, simulated=True, judges=[brief], threshold=0.5, gate="grader:brief >= 0.4")
def test_by_name(trial):
    trial.submit("x")

@pytest.mark.trials(8, simulated=True, judges=[brief], gate="grader:test >= 0.5")
def test_itself(trial):
    trial.submit("x")
"""
SUITE = """
from passhat import Suite, Task
from passhat.graders import exact
from passhat.pytest_plugin import suite_tests

suite = Suite("s", tasks=[Task("a", input=1)], agent=lambda trial: 1, graders=[exact()], script=[])
test_suite = suite_tests(suite, trials=5, gate="grader:foo >= 0.5")
"""


def test_a_gate_on_a_grader_is_decided_or_refused_with_the_names_that_are_known(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_graded=GRADED, test_suite=SUITE)
    result = pytester.runpytest("-p", "no:xdist", "--continue-on-collection-errors")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines_random(
        [
            "*test_by_name  gate grader:brief >= 0.5 >= 0.4 is met: 7 of 8 trials passed*",
            "*test_itself  gate grader:test >= 0.5 is met*",
            "*gate='grader:foo >= 0.5'): no grader is called 'foo'; known: exact*",
        ]
    )
