"""A mock below an HTTP library answers in a covered test; what it lets through is stopped as it would be without it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from passhat.facts import ModelCall

MOCKS = """
import asyncio, contextlib, os, socket
from unittest import mock
import {core} as core
import {web} as web
import pytest

URL, KEY = os.environ["OPENAI_BASE_URL"] + "/chat/completions", os.environ["OPENAI_API_KEY"]
SENT = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
AUTH = {"Authorization": f"Bearer {KEY}"}

def by_pool(answers):
    # as respx does
    return both(core.ConnectionPool, core.AsyncConnectionPool, answers, lambda: core.Response(200, content=b"mocked"))

def by_transport(answers):
    # as pytest-httpx does
    return both(web.HTTPTransport, web.AsyncHTTPTransport, answers, lambda: web.Response(200, content=b"mocked"))

@contextlib.contextmanager
def both(owner, asynchronous, answers, made):
    below, below_async = owner.handle_request, asynchronous.handle_async_request
    def handle_request(self, request):
        return made() if answers else below(self, request)
    async def handle_async_request(self, request):
        return made() if answers else await below_async(self, request)
    with mock.patch.object(owner, "handle_request", handle_request):
        with mock.patch.object(asynchronous, "handle_async_request", handle_async_request):
            yield

def post():
    return web.post(URL, json=SENT, headers=AUTH).text

def post_async():
    async def go():
        async with web.AsyncClient() as client:
            return (await client.post(URL, json=SENT, headers=AUTH)).text
    return asyncio.run(go())

ways = pytest.mark.parametrize("way", [post, post_async])
mocks = pytest.mark.parametrize("mocks", [by_pool, by_transport])
"""
ANSWERED = """
@pytest.fixture
def early(mocks):
    with mocks(answers=True):
        yield

@ways
@mocks
def test_answered(trial, way, mocks):
    with mocks(answers=True):
        assert way() == "mocked"
    assert trial.transcript.events == ()

@ways
@mocks
@pytest.mark.trials(2, simulated=True)
def test_repeated(early, way, mocks):
    assert way() == "mocked"
"""
LET_THROUGH = """
@ways
@mocks
def test_let_through(trial, way, mocks):
    with mocks(answers=False):
        with pytest.raises(Exception, match="went past the gateway and was stopped"):
            way()

@mocks
def test_through_a_proxy(trial, mocks):
    with socket.create_server(("127.0.0.1", 0)) as server, mocks(answers=False):
        with web.Client(proxy=f"http://127.0.0.1:{server.getsockname()[1]}") as client:
            with pytest.raises(Exception, match="went past the gateway and was stopped"):
                client.post(URL, json=SENT, headers=AUTH)

@ways
@mocks
def test_over(trial, way, mocks):
    with mocks(answers=True):
        way()
    with pytest.raises(Exception, match="went past the gateway and was stopped"):
        way()
"""
AT_IMPORT = """
mocked = by_transport(answers=True)
mocked.__enter__()

@ways
def test_plain(way):
    assert way() == "mocked"

@ways
def test_answered(trial, way):
    assert way() == "mocked"
"""
LIBRARIES = pytest.mark.parametrize(("web", "core"), [("httpx", "httpcore"), ("httpx2", "httpcore2")])


def write(path: Path, web: str, core: str, body: str) -> None:
    (path / "test_mocks.py").write_text(MOCKS.replace("{web}", web).replace("{core}", core) + body)


@LIBRARIES
def test_what_a_mock_answers_goes_nowhere_and_is_left_alone(
    pytester: pytest.Pytester, paid: list[ModelCall], web: str, core: str
) -> None:
    write(pytester.path, web, core, ANSWERED)
    pytester.runpytest("-p", "no:xdist", "--tb=short").assert_outcomes(passed=8)
    assert paid == []


@LIBRARIES
def test_a_mock_that_is_there_before_any_covered_test_answers_too(
    pytester: pytest.Pytester, paid: list[ModelCall], web: str, core: str
) -> None:
    write(pytester.path, web, core, AT_IMPORT)
    pytester.runpytest_subprocess("-p", "no:xdist", "--tb=short").assert_outcomes(passed=4)
    assert paid == []


@LIBRARIES
def test_what_a_mock_lets_through_is_stopped(
    pytester: pytest.Pytester, paid: list[ModelCall], web: str, core: str
) -> None:
    write(pytester.path, web, core, LET_THROUGH)
    pytester.runpytest("-p", "no:xdist", "--tb=short").assert_outcomes(passed=10, errors=10)
    assert paid == []


COUNTED = """
@pytest.mark.trials(1, gate=None)
def test_counted(trial):
    with by_pool(answers=False), by_transport(answers=False):
        web.post(os.environ["AZURE_OPENAI_ENDPOINT"] + "/chat/completions", json=SENT, headers=AUTH)
    web.post(os.environ["AZURE_OPENAI_ENDPOINT"] + "/chat/completions", json=SENT, headers=AUTH)
    assert trial.session.calls == 2
"""


@LIBRARIES
def test_a_request_that_may_leave_is_counted_once_with_a_mock_or_without(
    pytester: pytest.Pytester, paid: list[ModelCall], monkeypatch: pytest.MonkeyPatch, web: str, core: str
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", os.environ["OPENAI_BASE_URL"])
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE", *(name for name in os.environ if name.startswith("ANTHROPIC_"))):
        monkeypatch.setenv(name, "http://127.0.0.1:9/v1")
    write(pytester.path, web, core, COUNTED)
    pytester.runpytest("-p", "no:xdist", "--tb=short", "--trials", "1").assert_outcomes(passed=1)
    assert len(paid) == 2
