"""No request is paid for unless somebody asked for it, and no verdict says that a double answered when none did."""

from __future__ import annotations

import os

import pytest

from passhat.facts import ModelCall

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


WAYS = """
import functools
import os
import pytest
from openai import OpenAI
from passhat.graders import grader
from passhat.scripting import say

REAL = {real!r}
SENT = [{"role": "user", "content": "hi"}]
imported = OpenAI(max_retries=0)

def simulated(request, rng):
    return say("simulated")

def ask(client=None):
    client = client or OpenAI(max_retries=0)
    return client.chat.completions.create(model="m", messages=SENT).choices[0].message.content

@functools.cache
def lazily():
    return OpenAI(max_retries=0)

def test_plain_finds_the_environment_as_it_was(early):
    lazily()
    assert os.environ["OPENAI_BASE_URL"] == REAL

@pytest.fixture(scope="session")
def early():
    return OpenAI(max_retries=0)

@pytest.fixture
def asks():
    first = ask()
    yield first
    assert ask() == first

@grader
def own_client(trial):
    return ask() == "live"

simulation = pytest.mark.trials(2, simulation=simulated)

@simulation
def test_bare():
    assert ask() == "simulated"

@simulation
def test_shared_by_a_plain_test(early):
    assert early.chat.completions.create(model="m", messages=SENT).choices[0].message.content == "simulated"

@simulation
def test_around(asks, trial):
    assert ask() == asks == "simulated"

@simulation
def test_judge(trial):
    trial.submit(ask())
test_judge.pytestmark = [pytest.mark.trials(2, simulation=simulated, gate=None, judges=[own_client])]

@pytest.mark.trials(2, simulated=True)
def test_claims():
    with pytest.raises(Exception):
        ask()

@simulation
def test_imported():
    with pytest.raises(Exception):
        imported.chat.completions.create(model="m", messages=SENT)

@simulation
def test_lazily():
    lazily().chat.completions.create(model="m", messages=SENT)

def test_faux_around(asks, faux):
    pass

def test_faux_imported(faux):
    with pytest.raises(Exception):
        imported.chat.completions.create(model="m", messages=SENT)
"""


def test_no_way_of_making_a_client_reaches_a_provider_unasked(pytester: pytest.Pytester, paid: list[ModelCall]) -> None:
    real = os.environ["OPENAI_BASE_URL"]
    pytester.makepyfile(test_ways=WAYS.replace("{real!r}", repr(real)))
    result = pytester.runpytest("-rA", "--tb=line", "-p", "no:xdist")
    assert paid == []
    shown = [line.partition("::")[2] for line in result.outlines if line.startswith("test_ways.py::")]
    assert [line for line in shown if "double answered" in line] == [
        f"test_{name}2 of 2 trials passed: pass@1 1.00 (a double answered for the model)"
        for name in ("bare  ", "shared_by_a_plain_test  ", "around  ", "judge  recorded only: ")
    ]
    result.assert_outcomes(passed=6, errors=5)
    result.stdout.fnmatch_lines_random(
        [
            "*the test itself is broken: no model answers this test: its marker says simulated=True*",
            "*the test itself is broken: a request to 127.0.0.1 went past the gateway*passhat_env = true*",
        ]
    )


def test_what_is_asked_for_is_paid_for_whoever_makes_the_client(
    pytester: pytest.Pytester, paid: list[ModelCall]
) -> None:
    pytester.makepyfile(
        test_ways=WAYS.replace("{real!r}", repr(os.environ["OPENAI_BASE_URL"]))
        + """
@pytest.mark.trials(2)
def test_live(asks):
    assert ask() == asks == "live"
"""
    )
    result = pytester.runpytest("--trials", "3", "--tb=line", "-p", "no:xdist", "-k", "live or bare or judge")
    result.assert_outcomes(passed=3)
    assert len(paid) == 3 * (3 + 1)  # three by each live trial, one by each judge; none for simulated agents


SUITES = """
from openai import OpenAI
from passhat import Suite, Task
from passhat.graders import exact, grader, judge
from passhat.pytest_plugin import suite_tests
from passhat.scripting import say

def ask(trial):
    with OpenAI(max_retries=0) as client:
        sent = [{"role": "user", "content": "hi"}]
        return client.chat.completions.create(model="m", messages=sent).choices[0].message.content

@grader
def own_client(trial):
    return ask(trial) == "live"

tasks = [Task("a", input=1, expected="simulated")]
polite = judge.rubric("polite", "The answer is polite.")
named = judge.rubric("named", "The answer is polite.", model="openai/judge-1")
simulated = dict(tasks=tasks, agent=ask, trials=1, simulation=lambda request, rng: say("simulated"))
test_plain = suite_tests(Suite("plain", graders=[exact()], **simulated))
test_model = suite_tests(Suite("model", graders=[exact()], model="openai/m", **simulated))
test_grader = suite_tests(Suite("grader", graders=[own_client], **simulated))
test_judge = suite_tests(Suite("judge", graders=[polite], **simulated))
test_judged = suite_tests(Suite("judged", graders=[polite], judge_model="openai/judge-1", **simulated))
test_named = suite_tests(Suite("named", graders=[named], **simulated))
silent = Suite("silent", tasks=tasks, agent=lambda trial: "simulated", graders=[exact()], trials=1, script=[])
test_silent = suite_tests(silent)
"""


def test_no_suite_is_paid_for_unasked(
    pytester: pytest.Pytester, paid: list[ModelCall], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSHAT_JUDGE_MODEL", "openai/judge-1")
    pytester.makepyfile(test_suites=SUITES)
    result = pytester.runpytest("--tb=line", "-p", "no:xdist", "-rs")
    assert paid == []
    result.assert_outcomes(passed=2, failed=3, skipped=1, errors=1)
    result.stdout.fnmatch_lines_random(
        [
            "*test_plain[[]a[]]  recorded only: 1 of 1 trials passed* (a double answered for the model)",
            "*test_silent[[]a[]]  recorded only: 1 of 1 trials passed: pass@1 1.00",
            "*own_client: *no model answers a client that a grader of a suite makes itself*",
            "*polite: *the judge's model openai/judge-1 costs money and nobody asked for it: say --judge-model*",
            "*named: *the judge's model openai/judge-1 costs money and nobody asked for it: say --judge-model*",
            "*the test itself is broken: *'polite' is a judge, and no model is named to judge*",
            "SKIPPED*a real model costs money*",
        ]
    )


def test_a_suites_judge_that_is_asked_for_is_reached_through_the_gateway(
    pytester: pytest.Pytester, paid: list[ModelCall]
) -> None:
    pytester.makepyfile(test_suites=SUITES)
    pytester.runpytest("--judge-model", "openai/judge-1", "-k", "test_judge[", "-p", "no:xdist")
    assert {call.model for call in paid} == {"judge-1"}


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


LATER = """
import os
import pytest
from openai import OpenAI
from passhat.scripting import say

LED = {led!r}
SENT = [{"role": "user", "content": "hi"}]
imported = OpenAI(max_retries=0)

def ask(client=None):
    client = client or OpenAI(max_retries=0)
    return client.chat.completions.create(model="m", messages=SENT).choices[0].message.content

def test_faux(request):
    request.getfixturevalue("faux").script(say("scripted"), say("scripted"))
    assert ask() == ask(imported if LED else None) == "scripted"

def test_trial_and_then_faux(request):
    request.getfixturevalue("trial")
    request.getfixturevalue("faux").script(say("scripted"), say("scripted"))
    assert ask() == ask(imported if LED else None) == "scripted"

def test_swallowed(request):
    request.getfixturevalue("trial")
    with pytest.raises(Exception):
        ask(imported if LED else None)

def test_nothing_is_left():
    assert LED or "127.0.0.1" in os.environ["OPENAI_BASE_URL"]
    if LED:
        with pytest.raises(Exception):
            ask()
"""


@pytest.mark.parametrize("led", [False, True])
def test_a_test_that_asks_for_a_fixture_while_it_runs_pays_for_nothing_either(
    pytester: pytest.Pytester, paid: list[ModelCall], led: bool
) -> None:
    pytester.makeini(f"[pytest]\npasshat_env = {led}\nasyncio_default_fixture_loop_scope = function")
    pytester.makepyfile(test_later=LATER.replace("{led!r}", repr(led)))
    result = pytester.runpytest("--tb=short", "-p", "no:xdist")
    assert paid == []
    result.assert_outcomes(passed=4, errors=1)  # what was refused and swallowed is an error at the test's end
    result.stdout.fnmatch_lines(["*no model answers this test*nobody asked for it*"])
