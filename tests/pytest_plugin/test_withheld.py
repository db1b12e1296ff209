"""An agent in a process of its own finds no key of a provider that isn't led, where nothing may be spent."""

from __future__ import annotations

import os

import pytest
from tests.pytest_plugin.conftest import Elsewhere

from passhat.facts import ModelCall
from passhat.gateway import KNOWN

AGENT = """
import os, sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

for address, key in zip(sys.argv[1::2], sys.argv[2::2]):
    headers = {"Authorization": "Bearer " + os.environ.get(key, ""), "content-type": "application/json"}
    try:
        urlopen(Request(os.environ[address] + "/chat/completions", data=b"{}", headers=headers), timeout=20)
        print(address, "answered")
    except HTTPError as error:
        print(address, "refused", error.read().decode())
    except KeyError:
        print(address, "not set")
"""
TESTS = """
import os, subprocess, sys
import pytest
from passhat.graders import grader
from passhat.scripting import say

PAIRS = {pairs!r}

def agent(**more):
    done = subprocess.run([sys.executable, "agent.py", *PAIRS], capture_output=True, text=True, **more)
    print(done.stdout + done.stderr)
    return done.stdout

def test_trial(trial):
    assert "answered" not in agent()

@pytest.mark.trials(2, gate="every trial", simulated=True)
def test_simulated():
    assert "answered" not in agent()

def test_faux(faux):
    assert "answered" not in agent()

def test_later(request):
    request.getfixturevalue("trial")
    assert "answered" not in agent(env={**os.environ, "MORE": "1"})

def test_plain():
    assert agent().count("answered") == len(PAIRS) // 2

@pytest.mark.trials(1, gate=None)
def test_live():
    assert agent().count("answered") == len(PAIRS) // 2

@grader
def judge(trial):
    return agent().count("answered") == len(PAIRS) // 2

@pytest.mark.trials(1, gate="every trial", simulated=True, judges=[judge], threshold=1.0)
def test_judged(trial):
    pass
"""
FREE = """
import os, subprocess, sys
import pytest

def test_nothing_makes_a_client_choose_another_provider(trial, request):
    assert not [name for name in KEYS + CHOOSING if name in os.environ]
    assert "GROQ_BASE_URL" not in os.environ
    seen = "import os; print(' '.join(os.environ))"
    shown = subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True).stdout.split()
    assert not {*KEYS, *CHOOSING} & {*shown}
    assert {"GROQ_BASE_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"} <= {*shown}
    bare = subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, env={"A": "b"}).stdout.split()
    assert "A" in bare and "GROQ_BASE_URL" not in bare

def test_a_process_is_led_whose_own_settings_have_the_key(trial):
    script = "import os, sys; os.environ['GROQ_API_KEY'] = 'real'; sys.argv[1:] = ['GROQ_BASE_URL', 'GROQ_API_KEY']"
    done = subprocess.run([sys.executable, "-c", script + "; exec(open('agent.py').read())"], capture_output=True)
    assert b"GROQ_BASE_URL refused" in done.stdout and b"a request to groq was stopped" in done.stdout

def test_what_a_test_puts_there_stays(monkeypatch, trial):
    monkeypatch.setenv("GROQ_BASE_URL", "http://127.0.0.1:9/own")
    seen = "import os; print(os.environ['GROQ_BASE_URL'])"
    assert b"/own" in subprocess.run([sys.executable, "-c", seen], capture_output=True).stdout

def test_plain():
    seen = "import os; print(' '.join(os.environ))"
    assert b"GROQ_BASE_URL" not in subprocess.run([sys.executable, "-c", seen], capture_output=True).stdout
"""
COPIES = """
import asyncio, os, subprocess, sys
import pytest

COPY = {**os.environ, "MORE": "1"}
KEYS_ONLY = {name: value for name, value in os.environ.items() if not name.endswith("_BASE_URL")}
OWN = {"PATH": "p", "OPENAI_API_KEY": "mine", "OPENAI_BASE_URL": "http://127.0.0.1:9/mine", "GROQ_API_KEY": "mine"}
NAMES = ["OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_AUTH_TOKEN"]
NAMES += ["GROQ_BASE_URL", "GROQ_API_KEY", "XAI_BASE_URL", "MORE"]
SHOWS = [sys.executable, "-c", f"import os; print([os.environ.get(name, '') for name in {NAMES}])"]

def seen(env=None):
    return dict(zip(NAMES, eval(subprocess.run(SHOWS, env=env, capture_output=True, check=True).stdout)))

def seen_by_position(env):
    with subprocess.Popen(SHOWS, -1, None, None, subprocess.PIPE, None, None, True, False, None, env) as made:
        return dict(zip(NAMES, eval(made.communicate()[0])))

async def seen_by_asyncio(env):
    made = await asyncio.create_subprocess_exec(*SHOWS, env=env, stdout=subprocess.PIPE)
    return dict(zip(NAMES, eval((await made.communicate())[0])))

def is_led(found):
    assert found["OPENAI_BASE_URL"] == os.environ["OPENAI_BASE_URL"] != "http://127.0.0.1:9/host"
    assert found["OPENAI_API_KEY"].startswith("sk-passhat-")  # the process's own, which is the running test's
    assert found["ANTHROPIC_AUTH_TOKEN"] == ""

def is_withheld(found):
    assert "/not-led/groq" in found["GROQ_BASE_URL"] and "/not-led/xai" in found["XAI_BASE_URL"]
    assert found["GROQ_API_KEY"].startswith("sk-passhat-")

def test_covered(trial, monkeypatch):
    for found in (seen(COPY), asyncio.run(seen_by_asyncio(COPY)), seen_by_position(COPY)):
        is_led(found)
        is_withheld(found)
        assert found["MORE"] == "1"
    if KEYS_ONLY["OPENAI_API_KEY"] == "real":  # with passhat_env it is ours already
        is_led(seen(KEYS_ONLY))
    found = seen({os.fsencode(name): os.fsencode(COPY[name]) for name in COPY})
    is_led(found)
    is_withheld(found)
    assert {name: value for name, value in seen(OWN).items() if value} == {
        name: value for name, value in OWN.items() if name in NAMES
    }
    with monkeypatch.context() as later:
        for name in [*os.environ]:
            later.delenv(name)
        assert not any(seen().values())
        later.setenv("GROQ_API_KEY", "mine")
        assert {name for name, value in seen().items() if value} == {"GROQ_API_KEY"}
        later.setenv("GROQ_API_KEY", "real")
        is_withheld(seen())

@pytest.mark.trials(1, gate=None)
def test_live():
    found = seen(COPY)
    is_led(found)
    assert (found["GROQ_API_KEY"], found["XAI_BASE_URL"]) == ("real", "")

def test_plain():
    for found in (seen(COPY), seen()):
        assert (found["OPENAI_API_KEY"], found["GROQ_API_KEY"], found["ANTHROPIC_AUTH_TOKEN"]) == ("real",) * 3
        assert found["OPENAI_BASE_URL"] == "http://127.0.0.1:9/host"
"""
KEPT = """
import functools, os
from urllib.error import HTTPError
from urllib.request import Request, urlopen
import pytest

@functools.lru_cache
def settings():
    return os.environ["GROQ_BASE_URL"], os.environ["GROQ_API_KEY"]

def ask():
    address, key = settings()
    headers = {"Authorization": "Bearer " + key, "content-type": "application/json"}
    try:
        urlopen(Request(address + "/chat/completions", data=b"{}", headers=headers), timeout=20)
    except HTTPError as error:
        raise RuntimeError(error.read().decode()) from None

@pytest.mark.trials(1, gate=None, simulated=True)
def test_first():
    settings()

@pytest.mark.trials(1, gate=None)
def test_live():
    ask()

def test_plain():
    ask()

def test_asks(faux):
    ask()

@pytest.fixture
def fresh():
    settings.cache_clear()

def test_with_the_way_out(fresh):
    ask()
"""
OTHERS = {name: each for name, each in KNOWN.items() if name not in ("openai", "anthropic")}
PAIRS = [
    pair
    for each in OTHERS.values()
    for address in each.addresses
    for pair in (address, each.keys[0] if each.keys else "OPENAI_API_KEY")
]


@pytest.fixture
def hits(elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What reaches a provider that the environment names for every one that isn't led."""
    for each in OTHERS.values():
        for address in each.addresses:
            monkeypatch.setenv(address, f"{elsewhere.url}/{address}")
        for key in each.keys:
            monkeypatch.setenv(key, "real")
    return elsewhere.hits


def prepare(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(agent=AGENT, test_agents=TESTS.replace("{pairs!r}", repr(PAIRS)))


@pytest.mark.parametrize("env", ["false", "true"])
def test_where_nothing_may_be_spent_every_known_provider_is_refused_with_the_way_out(
    pytester: pytest.Pytester, hits: list[str], env: str
) -> None:
    prepare(pytester)
    options = ["--tb=short", "-p", "no:xdist", "-o", f"passhat_env={env}", "-k", "not plain and not later"]
    result = pytester.runpytest(*options, "-rP")
    assert hits == []
    result.assert_outcomes(passed=2, errors=3, failed=1, skipped=1)  # refused is an error, however it was met
    shown = result.stdout.str()
    for name in ("groq", "azure", "google", "cohere", "amazon"):
        assert f"a request to {name} was stopped: a real model costs money and nobody asked" in shown, name
    assert "in this test (test_agents.py::test_trial)" in shown
    assert "the test itself is broken: a request to openrouter was stopped" in shown


def test_a_test_that_asks_for_the_fixture_while_it_runs_is_refused_and_a_plain_one_is_not(
    pytester: pytest.Pytester, hits: list[str]
) -> None:
    prepare(pytester)
    result = pytester.runpytest("--tb=short", "-p", "no:xdist", "-k", "plain or later")
    result.assert_outcomes(passed=2, errors=1)
    assert len(hits) == len(PAIRS) // 2


def test_what_is_asked_for_is_reached_by_live_tests_and_not_by_simulated_ones(
    pytester: pytest.Pytester, hits: list[str]
) -> None:
    prepare(pytester)
    options = ["--tb=short", "-p", "no:xdist", "--trials", "1"]
    result = pytester.runpytest(*options, "-k", "simulated or faux")
    assert hits == []
    result.assert_outcomes(passed=1, errors=2)
    result = pytester.runpytest(*options, "-k", "live or judged")
    result.assert_outcomes(passed=2)
    assert len(hits) == len(PAIRS)  # of the agent, and of the judge's own


def test_a_judge_that_may_spend_reaches_them_where_its_test_may_not(
    pytester: pytest.Pytester, hits: list[str], paid: list[ModelCall]
) -> None:
    prepare(pytester)
    result = pytester.runpytest("-p", "no:xdist", "--judge-model", "openai/judge-1", "-k", "judged")
    result.assert_outcomes(passed=1)
    assert len(hits) == len(PAIRS) // 2


def test_what_the_host_does_not_have_is_not_set_where_it_would_be_a_choice(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for each in OTHERS.values() for name in each.addresses + each.keys if name in os.environ]:
        monkeypatch.delenv(name)
    keys = [key for each in OTHERS.values() for key in each.keys]
    choosing = [name for each in OTHERS.values() if each.chosen for name in each.addresses]
    pytester.makepyfile(agent=AGENT, test_free=f"KEYS, CHOOSING = {keys!r}, {choosing!r}\n{FREE}")
    result = pytester.runpytest("--tb=short", "-p", "no:xdist")
    result.assert_outcomes(passed=4, errors=1)


@pytest.mark.parametrize("env", ["false", "true"])
def test_a_copy_of_the_hosts_environment_leads_a_process_as_the_tests_own_does(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, env: str
) -> None:
    for name in [name for each in OTHERS.values() for name in each.addresses + each.keys if name in os.environ]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/host")
    for name in ("OPENAI_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GROQ_API_KEY"):
        monkeypatch.setenv(name, "real")
    pytester.makepyfile(test_copies=COPIES)
    options = ["--tb=short", "-p", "no:xdist", "-p", "no:randomly", "-o", f"passhat_env={env}"]
    chosen = "covered" if env == "true" else "covered or plain"
    pytester.runpytest(*options, "-k", chosen).assert_outcomes(passed=1 if env == "true" else 2)
    pytester.runpytest(*options, "-k", "live", "--trials", "1").assert_outcomes(passed=1)


def test_what_was_read_where_it_was_withheld_and_kept_is_refused_elsewhere_with_the_cause(
    pytester: pytest.Pytester, hits: list[str]
) -> None:
    pytester.makepyfile(test_kept=KEPT)
    options = ["--tb=short", "-p", "no:xdist", "-p", "no:randomly"]
    cause = "its settings were made, or read, there and kept, by a cache"
    result = pytester.runpytest(*options, "-k", "first or plain or out")
    result.assert_outcomes(passed=2, failed=1)
    shown = result.stdout.str()
    assert cause in shown
    assert "say --trials" not in shown
    assert len(hits) == 1  # of the test that cleared the cache
    result = pytester.runpytest(*options, "-k", "first or live", "--trials", "1")
    result.assert_outcomes(passed=1, errors=1)
    shown = result.stdout.str()
    assert cause in shown
    assert "say --trials" not in shown
    result = pytester.runpytest(*options, "-k", "asks", "--trials", "1")
    result.assert_outcomes(failed=1)
    assert "or ask it in a test that isn't simulated" in result.stdout.str()
    assert len(hits) == 1
