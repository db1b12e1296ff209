"""A trial that met its limit has failed, whatever its test makes of the refusal; the marker raises the limit."""

from __future__ import annotations

import pytest

from passhat.facts import Status
from passhat.records import RunReader, find_run

AGENT = """
from openai import OpenAI

def ask(times):
    with OpenAI(max_retries=0) as client:
        for _ in range(times):
            try:
                client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
            except Exception:
                pass
"""
SWALLOWED = """
import pytest
from agent import ask
from passhat import Limits
from passhat.scripting import say

def four(request, rng):
    return say("4")

trials = pytest.mark.trials(2, gate="pass@1 >= 0.2", simulation=four, limits=Limits(model_calls=3))

@trials
def test_body(trial):
    ask(4)

@trials
def test_without_fixture():
    ask(4)

@trials
def test_skips():
    ask(4)
    pytest.skip("never mind")

@pytest.fixture
def early():
    ask(4)

@trials
def test_set_up(early):
    pass

@pytest.fixture
def raises():
    ask(4)
    raise OSError("no answer")

@trials
def test_raises_in_set_up(raises):
    pass

@pytest.fixture
def late():
    yield
    ask(4)

@trials
def test_tear_down(late):
    pass

@pytest.fixture
def both():
    ask(2)
    yield
    ask(2)

@trials
def test_together(both):
    pass
"""
ENOUGH = """
import pytest
from agent import ask
from passhat import Limits
from passhat.scripting import say

@pytest.mark.trials(1, simulation=lambda request, rng: say("4"), limits=Limits(model_calls=60))
def test_many(trial):
    ask(60)

@pytest.mark.trials(1, simulation=lambda request, rng: say("4"), limits=Limits(model_calls=2))
def test_exactly(trial):
    ask(2)

def test_alone(faux):
    faux.script(lambda request: say("4"))
    ask(51)

def test_alone_skips(faux):
    faux.script(lambda request: say("4"))
    ask(51)
    pytest.skip("never mind")
"""


def test_no_test_hides_that_a_limit_was_met(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(agent=AGENT, test_it=SWALLOWED)
    result = pytester.runpytest("-p", "no:xdist")
    result.assert_outcomes(failed=7)
    records = list(RunReader(find_run("last", pytester.path / ".passhat")).trials())
    assert len(records) == 14
    assert {(record.status, record.passed) for record in records} == {(Status.LIMIT, False)}
    way_out = "where the agent needs more: limits=Limits(model_calls=…) in @pytest.mark.trials"
    assert all(f"limit of 3 model calls is reached; {way_out}" in str(record.error) for record in records)
    result.stdout.fnmatch_lines([f"2 x the trial's limit of 3 model calls is reached; {way_out}"])


def test_a_limit_can_be_raised_and_holds_for_tests_without_the_marker(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(agent=AGENT, test_it=ENOUGH)
    result = pytester.runpytest("-p", "no:xdist", "-rA")
    result.assert_outcomes(passed=3, skipped=1, errors=2)
    result.stdout.fnmatch_lines_random(["PASSED *::test_many", "PASSED *::test_exactly", "ERROR *::test_alone*"])
    result.stdout.fnmatch_lines(["*the trial's limit of 50 model calls is reached*"])


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ("Limits(seconds=5)", "limits=Limits(seconds=5): a test is bounded by model_calls, tokens, dollars; for time*"),
        ("60", "limits=60: must be passhat.Limits, as in limits=Limits(model_calls=100)"),
    ],
)
def test_limits_that_a_test_cannot_have_are_refused(pytester: pytest.Pytester, limits: str, message: str) -> None:
    test = f"@pytest.mark.trials(2, simulated=True, limits={limits})\ndef test_it():\n    pass\n"
    pytester.makepyfile(f"import pytest\nfrom passhat import Limits\n\n{test}")
    result = pytester.runpytest("-p", "no:xdist")
    assert result.ret == 2
    result.stdout.fnmatch_lines([f"*@pytest.mark.trials: {message}"])
