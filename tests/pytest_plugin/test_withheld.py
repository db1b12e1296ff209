"""An agent in a process of its own finds no key of a provider that isn't led, where nothing may be spent."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

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
OTHERS = {name: each for name, each in KNOWN.items() if name not in ("openai", "anthropic")}
PAIRS = [
    pair
    for each in OTHERS.values()
    for address in each.addresses
    for pair in (address, each.keys[0] if each.keys else "OPENAI_API_KEY")
]


class Provider(BaseHTTPRequestHandler):
    """Answers everything."""

    hits: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.hits.append(self.path)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hits(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What reaches a provider that the environment names for every one that isn't led."""
    Provider.hits.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Provider) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        for each in OTHERS.values():
            for address in each.addresses:
                monkeypatch.setenv(address, f"http://127.0.0.1:{server.server_port}/{address}")
            for key in each.keys:
                monkeypatch.setenv(key, "real")
        yield Provider.hits
        server.shutdown()


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
