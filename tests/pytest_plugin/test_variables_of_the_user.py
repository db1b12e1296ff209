"""Addresses and keys that modules set while they are imported, as `load_dotenv` does, and that fixtures set."""

from __future__ import annotations

import os

import pytest

from passhat.facts import ModelCall

SETS = """
import os
import pytest
from openai import OpenAI
from passhat.scripting import say

os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"] = os.environ["REAL_URL"], os.environ["REAL_KEY"]

def ask():
    sent = [{"role": "user", "content": "hi"}]
    return OpenAI(max_retries=0).chat.completions.create(model="m", messages=sent).choices[0].message.content

@pytest.mark.trials(2, gate="every trial", simulated=True, simulation=lambda request, rng: say("simulated"))
def test_simulated():
    assert ask() == "simulated"

def test_scripted(faux):
    faux.script(say("scripted"))
    assert ask() == "scripted"
"""

LIVE = """
import json
import os
import urllib.request
import pytest

os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"] = os.environ["REAL_URL"], os.environ["REAL_KEY"]

@pytest.mark.trials(2, gate=None)
def test_live():
    headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}", "Content-Type": "application/json"}
    sent = json.dumps({"model": "other", "messages": [{"role": "user", "content": "hi"}]}).encode()
    for _ in range(60):
        address = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
        urllib.request.urlopen(urllib.request.Request(address, sent, headers)).close()
"""

OWN_KEYS = """
import os
import pytest
from openai import OpenAI
from passhat.scripting import say

KEY = os.environ["OPENAI_API_KEY"]

def ask(**named):
    sent = [{"role": "user", "content": "hi"}]
    return OpenAI(max_retries=0, **named).chat.completions.create(model="m", messages=sent).choices[0].message.content

@pytest.fixture(autouse=True)
def no_real_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")

@pytest.mark.trials(2, gate="every trial", simulated=True, simulation=lambda request, rng: say("simulated"))
def test_simulated():
    assert ask() == ask(api_key=KEY) == ask(api_key="sk-mine") == "simulated"

def test_scripted(faux):
    faux.script(say("scripted"))
    assert ask(api_key=KEY) == "scripted"

@pytest.mark.trials(2, gate=None)
def test_live():
    ask(api_key=KEY)
"""


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch, paid: list[ModelCall]) -> list[ModelCall]:
    """A provider that the environment doesn't name when the session starts."""
    for name, old in (("REAL_URL", "OPENAI_BASE_URL"), ("REAL_KEY", "OPENAI_API_KEY")):
        monkeypatch.setenv(name, os.environ[old])
        monkeypatch.delenv(old)
    return paid


@pytest.mark.parametrize("env", ["true", "false"])
def test_an_address_that_a_module_sets_while_it_is_imported_is_the_hosts(
    pytester: pytest.Pytester, real: list[ModelCall], env: str
) -> None:
    pytester.makepyfile(SETS)
    pytester.runpytest_subprocess("-p", "no:randomly", "-o", f"passhat_env={env}").assert_outcomes(passed=2, skipped=0)
    assert real == []


def test_trials_at_such_an_address_are_counted_and_bounded(pytester: pytest.Pytester, real: list[ModelCall]) -> None:
    pytester.makepyfile(LIVE)
    for options in (["--trials", "2"], ["--model", "openai/m", "-o", "passhat_env=true"], ["--model", "openai/m"]):
        real.clear()
        pytester.runpytest_subprocess("-p", "no:randomly", *options)
        assert len(real) == 100, options
        assert {call.model for call in real} == ({"other"} if "--trials" in options else {"m"}), options


def test_a_clients_own_key_reaches_the_running_test_where_nothing_is_paid(
    pytester: pytest.Pytester, paid: list[ModelCall], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-host")
    pytester.makepyfile(OWN_KEYS)
    found = pytester.runpytest_subprocess("-p", "no:randomly")
    found.assert_outcomes(passed=2, skipped=1)
    found = pytester.runpytest_subprocess("-p", "no:randomly", "--trials", "2", "-k", "live")
    found.assert_outcomes(errors=1)
    found.stdout.fnmatch_lines(["*a request came with a key of its own*"])
    assert paid == []
