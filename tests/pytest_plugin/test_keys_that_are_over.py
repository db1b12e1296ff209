"""A key of a test that is over: no variable has it when the next test begins, and no request with it goes unseen."""

from __future__ import annotations

import os

import pytest

from passhat.facts import ModelCall

ASK = """
import os
from contextlib import ExitStack
from unittest import mock
import pytest
from openai import OpenAI
from passhat.scripting import say

NAMES = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_ORG_ID")
NAMES += ("GROQ_API_KEY",)

def ask(**named):
    sent = [{"role": "user", "content": "hi"}]
    with OpenAI(max_retries=0, **named) as client:
        return client.chat.completions.create(model="m", messages=sent).choices[0].message.content

def simulated(request, rng):
    return say("simulated")
"""

LEAVES = {
    "a fixture that was there before": """
@pytest.fixture
def patch():  # as pytest-mock's
    with ExitStack() as stack:
        yield lambda: stack.enter_context(mock.patch.dict(os.environ, {"FEATURE": "1"}))

def test_leaves(patch, faux):
    patch()
    faux.script(say("scripted"))
    assert ask() == "scripted"
""",
    "tear-down of a method": """
class TestLeaves:
    def setup_method(self):
        self.patched = mock.patch.dict(os.environ, {"FEATURE": "1"})

    def teardown_method(self):
        self.patched.stop()

    def test_leaves(self, faux):
        self.patched.start()
        faux.script(say("scripted"))
        assert ask() == "scripted"
""",
    "a fixture of the class": """
class TestLeaves:
    @pytest.fixture(scope="class")
    def saved(self):
        kept = []
        yield kept
        os.environ.clear()
        os.environ.update(kept[0])

    def test_leaves(self, saved, trial):
        saved.append(dict(os.environ))
""",
    "one variable alone": """
@pytest.fixture(scope="class")
def patch():
    with pytest.MonkeyPatch.context() as patch:
        yield patch

class TestLeaves:
    def test_leaves(self, patch, faux):
        patch.setenv("OPENAI_API_KEY", "sk-mine")
        patch.delenv("ANTHROPIC_API_KEY")
        faux.script(say("scripted"))
        assert ask() == "scripted"
""",
    "a test that asks for its script while it runs": """
def test_leaves(request):
    with ExitStack() as stack:
        request.addfinalizer(stack.pop_all().close)
    patched = mock.patch.dict(os.environ, {"FEATURE": "1"})
    request.addfinalizer(patched.stop)
    faux = request.getfixturevalue("faux")
    patched.start()
    faux.script(say("scripted"))
    assert ask() == "scripted"
""",
    "a judge": """
PATCHED = mock.patch.dict(os.environ, {"FEATURE": "1"})

def judge(trial):
    PATCHED.start()
    return True

@pytest.fixture
def stops():
    yield
    PATCHED.stop()

@pytest.mark.trials(1, simulation=simulated, judges=[judge], threshold=0.5)
def test_leaves(stops, trial):
    assert ask() == "simulated"
""",
    "an environment of a plain test": """
KEPT = {}

@pytest.fixture(scope="module")
def saved():
    KEPT.update(os.environ)
    yield

def test_plain(saved):
    pass

@pytest.mark.trials(1, simulation=simulated)
def test_leaves(request):
    assert ask() == "simulated"
    request.addfinalizer(lambda: (os.environ.clear(), os.environ.update(KEPT)))
""",
}

LATER = """
@pytest.mark.trials(2, simulation=simulated)
def test_marked():
    assert ask() == "simulated"

def test_scripted(faux):
    faux.script(say("scripted"))
    assert ask() == "scripted"

@pytest.mark.trials(2, simulation=simulated)
def test_marked_again():
    assert ask() == "simulated"
"""

PLAIN = """
def test_plain_later():
    wrong = {name: os.environ.get(name) for name in NAMES if os.environ.get(name) != os.environ.get(f"REAL_{name}")}
    assert not wrong
"""


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch, paid: list[ModelCall]) -> list[ModelCall]:
    """A host with variables of all kinds: keys, addresses, one that is unset and one that is withheld."""
    monkeypatch.setenv("OPENAI_ORG_ID", "org-real")
    monkeypatch.setenv("GROQ_API_KEY", "gsk-real")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.setenv(f"REAL_{name}", os.environ[name])
    monkeypatch.setenv("REAL_OPENAI_ORG_ID", "org-real")
    monkeypatch.setenv("REAL_GROQ_API_KEY", "gsk-real")
    return paid


@pytest.mark.parametrize("order", ["covered first", "plain first"])
@pytest.mark.parametrize("leaves", LEAVES)
def test_the_key_of_a_test_that_is_over_is_in_no_variable_when_the_next_begins(
    pytester: pytest.Pytester, host: list[ModelCall], leaves: str, order: str
) -> None:
    later = {"covered first": LATER + PLAIN, "plain first": PLAIN + LATER}[order]
    pytester.makepyfile(test_it=ASK + LEAVES[leaves] + later)
    result = pytester.runpytest("--tb=short", "-p", "no:xdist")
    outcomes = result.parseoutcomes()
    outcomes.pop("warnings", 0)  # of a class's fixture that is a method
    assert outcomes == {"passed": 5 + ("def test_plain(" in LEAVES[leaves])}
    assert host == []


def test_what_a_tear_down_puts_back_of_the_withheld_is_gone_where_models_may_cost_money(
    pytester: pytest.Pytester, host: list[ModelCall]
) -> None:
    live = """
@pytest.mark.trials(1)
def test_live():
    assert os.environ["GROQ_API_KEY"] == "gsk-real"
"""
    pytester.makepyfile(test_it=ASK + LEAVES["tear-down of a method"] + live + PLAIN)
    pytester.runpytest("--tb=short", "-p", "no:xdist", "--trials", "1").assert_outcomes(passed=3)


def test_what_a_user_sets_for_several_tests_stays(pytester: pytest.Pytester, host: list[ModelCall]) -> None:
    own = """
@pytest.fixture(scope="module", autouse=True)
def own():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "sk-mine")
        patch.delenv("ANTHROPIC_API_KEY")
        yield

@pytest.mark.trials(3, simulation=simulated)
def test_marked():
    assert os.environ["OPENAI_API_KEY"] == "sk-mine"
    assert "ANTHROPIC_API_KEY" not in os.environ

def test_plain():
    assert os.environ["OPENAI_API_KEY"] == "sk-mine"
    assert "ANTHROPIC_API_KEY" not in os.environ
"""
    pytester.makepyfile(test_it=ASK + own)
    pytester.runpytest("--tb=short", "-p", "no:xdist").assert_outcomes(passed=2)


KEPT = """
import functools
import subprocess
import sys

@functools.lru_cache
def client():
    return OpenAI(max_retries=0)

def swallowed(retry="0"):
    sent = [{"role": "user", "content": "hi"}]
    try:
        headers = {"x-stainless-retry-count": retry}
        return client().chat.completions.create(model="m", messages=sent, extra_headers=headers)
    except Exception as error:
        return str(error)

CHILD = '''
import json, os, sys, urllib.request
for line in sys.stdin:
    sent = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()
    headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
    try:
        address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
        urllib.request.urlopen(urllib.request.Request(address, sent, headers))
    except Exception as error:
        print(error, flush=True)
    else:
        print("answered", flush=True)
'''
CHILDREN = []

def ask_child():
    if not CHILDREN:
        CHILDREN.append(subprocess.Popen([sys.executable, "-c", CHILD], stdin=-1, stdout=-1, text=True))
    CHILDREN[0].stdin.write("now\\n")
    CHILDREN[0].stdin.flush()
    return CHILDREN[0].stdout.readline().strip()

@pytest.fixture(scope="module", autouse=True)
def ends():
    yield
    for child in CHILDREN:
        child.communicate()

"""


@pytest.mark.parametrize("how", ["swallowed", "ask_child"])
@pytest.mark.parametrize("second", ["faux", "trial", "marker"])
def test_a_swallowed_refusal_of_a_key_that_is_over_is_an_error_that_names_its_test(
    pytester: pytest.Pytester, host: list[ModelCall], how: str, second: str
) -> None:
    mark = "@pytest.mark.trials(1, simulation=simulated)\n" if second == "marker" else ""
    arguments = "" if second == "marker" else second
    tests = f"""
def test_first(faux):
    faux.script(say("scripted"))
    {how}()

{mark}def test_second({arguments}):
    {how}()

def test_plain():
    {how}()
"""
    pytester.makepyfile(test_it=ASK + KEPT + tests)
    result = pytester.runpytest("--tb=short", "-p", "no:xdist")
    counts = result.parseoutcomes()
    assert counts["passed"] == (2 if second == "marker" else 3)
    assert counts["errors"] == 1
    result.stdout.fnmatch_lines(["*key of a test or trial that is over (test_it.py::test_first)*"])
    assert host == []


def test_a_client_that_tries_again_what_an_earlier_test_asked_is_no_fault_of_the_next(
    pytester: pytest.Pytester, host: list[ModelCall]
) -> None:
    tests = """
def test_first(faux):
    faux.script(say("scripted"))
    swallowed()

@pytest.mark.trials(1, simulation=simulated)
def test_second():
    assert "It was that of 'test_it.py::test_first'" in swallowed("1")
"""
    pytester.makepyfile(test_it=ASK + KEPT + tests)
    pytester.runpytest("--tb=short", "-p", "no:xdist").assert_outcomes(passed=2)
