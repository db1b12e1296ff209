"""No request is paid for unless somebody asked for it, and no verdict says that a double answered when none did."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from passhat.facts import Limits, ModelCall
from passhat.gateway import Gateway, Request, Simulate
from passhat.scripting import say

TESTS = """
import pytest
from openai import OpenAI
from passhat.scripting import say

def ask():
    with OpenAI(max_retries=0) as client:
        sent = [{"role": "user", "content": "hi"}]
        return client.chat.completions.create(model="m", messages=sent).choices[0].message.content

def test_unmarked(trial):
    ask()

def test_unmarked_and_swallowed(trial):
    try:
        ask()
    except Exception:
        pass

@pytest.mark.trials(3, simulated=True)
def test_simulated(trial):
    ask()

@pytest.mark.trials(3, simulated=True)
def test_simulated_and_swallowed(trial):
    try:
        ask()
    except Exception:
        pass

@pytest.mark.trials(3)
def test_faux_first(faux, trial):
    assert trial is faux
    faux.script(say("scripted"))
    assert ask() == "scripted"

def test_trial_first(trial, faux):
    faux.script(say("scripted"))
    assert ask() == "scripted"

def test_faux_later(faux, request):
    request.getfixturevalue("trial")
    faux.script(say("scripted"))
    assert ask() == "scripted"
"""


@pytest.fixture
def paid(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[ModelCall]]:
    """What reaches the provider, a gateway that plays it."""

    def live(request: Request, rng: object) -> object:
        return say("live")

    calls: list[ModelCall] = []
    with Gateway() as gateway:
        session = gateway.open(Simulate(live), sink=calls.append, limits=Limits(model_calls=None), label="provider")
        for name, value in session.access.environ().items():
            monkeypatch.setenv(name, value)
        yield calls


def test_without_the_options_that_ask_for_it_no_request_reaches_a_provider(
    pytester: pytest.Pytester, paid: list[ModelCall]
) -> None:
    pytester.makepyfile(TESTS)
    result = pytester.runpytest("-rA", "--tb=line")
    assert paid == []
    result.assert_outcomes(passed=4, failed=1, errors=3)  # a swallowed refusal fails an ordinary test at its end
    shown = result.stdout.str()
    assert "nobody asked for it. Say --model PROVIDER/NAME, or --trials N" in shown
    assert "the test itself is broken: no model answers this test: its marker says simulated=True" in shown
    result.stdout.fnmatch_lines(["*test_faux_first  3 of 3 *(a double answered for the model)"])


def test_trials_that_are_asked_for_are_live_and_those_that_are_simulated_stay_so(
    pytester: pytest.Pytester, paid: list[ModelCall]
) -> None:
    pytester.makepyfile(TESTS)
    result = pytester.runpytest("--trials", "2", "-k", "unmarked or faux_first or test_simulated", "--tb=line")
    assert len(paid) == 2  # the unmarked ones
    result.assert_outcomes(passed=3, errors=2)


def test_a_live_model_is_never_called_a_double(pytester: pytest.Pytester, paid: list[ModelCall]) -> None:
    pytester.makepyfile(
        TESTS
        + """
@pytest.mark.trials(2, simulation=lambda request, rng: say("x"))
def test_by_name(trial):
    assert ask() == "live"
"""
    )
    result = pytester.runpytest("--model", "openai/m", "-k", "test_by_name")
    result.assert_outcomes(passed=1)
    assert len(paid) == 2
    assert "a double answered" not in result.stdout.str()
