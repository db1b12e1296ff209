"""A server of the user's own on loopback, to which a fixture leads clients, stands in whatever runs first."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from passhat.facts import ModelCall

TESTS = """
import os
import pytest
from openai import OpenAI
from passhat.scripting import say

SENT = [{"role": "user", "content": "hi"}]

def ask():
    with OpenAI(max_retries=0) as client:
        return client.chat.completions.create(model="m", messages=SENT).choices[0].message.content

@pytest.fixture{autouse}
def own(monkeypatch{before}):
    monkeypatch.setenv("OPENAI_BASE_URL", os.environ["STAND_IN"])
    monkeypatch.setenv("OPENAI_API_KEY", "key of the stand-in")

"""
ORDERS = {
    "autouse": ("(autouse=True)", "", "trial"),
    "before": ("", "", "own, trial"),
    "after": ("", ", trial", "trial, own"),
}


class StandIn(BaseHTTPRequestHandler):
    """Answers as a model does, and keeps the keys that it was sent."""

    keys: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.keys.append(self.headers["authorization"])
        reply = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "own"}, "finish_reason": "stop"}]}
        body = json.dumps({"id": "1", "object": "chat.completion", "created": 0, "model": "m", **reply}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch, paid: list[ModelCall]) -> Iterator[list[str]]:
    """Those that reach a stand-in at ``STAND_IN``, beside a provider that the environment names."""
    StandIn.keys.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), StandIn) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("REAL_ANTHROPIC", os.environ["ANTHROPIC_BASE_URL"])
        monkeypatch.setenv("STAND_IN", f"http://localhost:{server.server_port}/v1")
        yield StandIn.keys
        server.shutdown()


def text_of(order: str, body: str) -> str:
    autouse, before, names = ORDERS[order]
    return (TESTS + body).replace("{autouse}", autouse).replace("{before}", before).replace("{names}", names)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("options", [(), ("--model", "openai/m"), ("-o", "passhat_env=true")])
def test_a_stand_in_is_reached_whichever_fixture_runs_first(
    pytester: pytest.Pytester, paid: list[ModelCall], keys: list[str], order: str, options: tuple[str, ...]
) -> None:
    pytester.makepyfile(
        text_of(
            order,
            """
def test_own({names}):
    assert ask() == "own"
    assert os.environ["ANTHROPIC_BASE_URL"] != os.environ["REAL_ANTHROPIC"]

@pytest.mark.trials(2, simulated=True)
def test_repeated({names}):
    assert ask() == "own"
""",
        )
    )
    pytester.runpytest("-p", "no:xdist", *options).assert_outcomes(passed=2)
    assert keys == ["Bearer key of the stand-in"] * 3
    assert paid == []


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("address", ["REAL", "https://api.openai.com/v1", "http://mock.test:8080/v1"])
def test_an_address_that_may_cost_money_is_none_of_a_stand_in(
    pytester: pytest.Pytester, paid: list[ModelCall], monkeypatch: pytest.MonkeyPatch, order: str, address: str
) -> None:
    monkeypatch.setenv("STAND_IN", os.environ["OPENAI_BASE_URL"] if address == "REAL" else address)
    pytester.makepyfile(text_of(order, "def test_own({names}):\n    ask()\n"))
    result = pytester.runpytest("-p", "no:xdist", "--tb=short")
    assert paid == []
    result.assert_outcomes(failed=1)
    told = result.stdout.str()
    if order == "after":
        assert "OPENAI_BASE_URL was set to it by a fixture or the test, and only a server on loopback" in told
    elif address == "REAL":  # as the session's own, it says nothing
        assert "no model answers this test" in told
    else:
        assert f"OPENAI_BASE_URL was set to {address.split('/')[2].split(':')[0]}, and led here all the same" in told


def test_the_hosts_key_is_no_key_of_a_stand_in(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, keys: list[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-host")
    pytester.makepyfile(
        TESTS.replace("{autouse}", "").replace("{before}", "").replace('"key of the stand-in"', '"sk-of-the-host"')
        + """
def test_own(own, trial):
    assert ask() == "own"
"""
    )
    pytester.runpytest("-p", "no:xdist").assert_outcomes(passed=1)
    assert len(keys) == 1
    assert "sk-of-the-host" not in keys[0]


def test_a_script_takes_the_place_of_a_stand_in_that_is_set_for_all_tests(
    pytester: pytest.Pytester, keys: list[str]
) -> None:
    body = """
@pytest.fixture
def mine(monkeypatch, faux):
    monkeypatch.setenv("OPENAI_BASE_URL", os.environ["STAND_IN"])

def test_scripted({names}, faux):
    faux.script(say("scripted"))
    assert ask() == "scripted"

def test_led_away_on_purpose(faux, mine):
    assert ask() == "own"
"""
    pytester.makepyfile(text_of("autouse", body))
    pytester.runpytest("-p", "no:xdist").assert_outcomes(passed=2)
    assert len(keys) == 1


def test_the_environment_is_as_it_was_after_a_test_with_a_stand_in(pytester: pytest.Pytester, keys: list[str]) -> None:
    before = os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]
    body = f"""
def test_own({{names}}):
    assert ask() == "own"

def test_plain():
    assert (os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]) == {before!r}
"""
    pytester.makepyfile(text_of("before", body))
    pytester.runpytest("-p", "no:xdist").assert_outcomes(passed=2)
    assert (os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]) == before
