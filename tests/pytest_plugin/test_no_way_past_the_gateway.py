"""What a covered test reaches a provider by, it reaches through the gateway: whenever, and by whatever library."""

from __future__ import annotations

import asyncio
import http.client
import importlib
import sys
import threading
from collections.abc import Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path

import httpx2
import pytest
from tests.pytest_plugin.conftest import Elsewhere

from passhat.facts import ModelCall, Usage
from passhat.pytest_plugin._libraries import Libraries
from passhat.records import RunReader, find_run

ASK = """
import os, sys, threading
import pytest
from openai import OpenAI
from passhat.graders import grader
from passhat.scripting import say

SENT = [{"role": "user", "content": "hi"}]

def ask(client=None):
    client = client or OpenAI(max_retries=0)
    return client.chat.completions.create(model="m", messages=SENT).choices[0].message.content

def swallowed(client=None):
    try:
        return ask(client)
    except Exception as error:
        return str(error)
"""

LAZILY = """
import os, sys
import pytest

URL, KEY = os.environ["OPENAI_BASE_URL"] + "/chat/completions", os.environ["OPENAI_API_KEY"]
SENT = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
AUTH = {"Authorization": f"Bearer {KEY}"}

def by_httpx():
    assert "httpx" not in sys.modules
    import httpx
    return httpx.post(URL, json=SENT, headers=AUTH).status_code

def by_httpx_async():
    import asyncio, httpx
    async def post():
        async with httpx.AsyncClient() as client:
            return (await client.post(URL, json=SENT, headers=AUTH)).status_code
    return asyncio.run(post())

def by_requests():
    assert "requests" not in sys.modules and "urllib3" not in sys.modules
    import requests
    return requests.post(URL, json=SENT, headers=AUTH).status_code

def by_urllib():
    import json
    from urllib.request import Request, urlopen
    headers = {**AUTH, "content-type": "application/json"}
    return urlopen(Request(URL, data=json.dumps(SENT).encode(), headers=headers)).status

def by_a_proxy():
    import http.client
    from urllib.parse import urlsplit
    connection = http.client.HTTPConnection("127.0.0.1", 9)  # never reached
    connection.request("POST", URL)

def by_a_tunnel():
    import http.client
    from urllib.parse import urlsplit
    connection = http.client.HTTPConnection("127.0.0.1", 9)
    connection.set_tunnel("127.0.0.1", urlsplit(URL).port)
    connection.putrequest("POST", "/v1/chat/completions")

WAYS = [by_httpx, by_httpx_async, by_requests, by_urllib, by_a_proxy, by_a_tunnel]

@pytest.mark.parametrize("way", WAYS)
def test_way(trial, way):
    with pytest.raises(Exception, match="went past the gateway and was stopped"):
        way()

@pytest.mark.parametrize("way", [by_httpx, by_requests, by_urllib])
def test_plain(way):
    sys.modules.pop("httpx", None), sys.modules.pop("requests", None), sys.modules.pop("urllib3", None)
    assert way() == 200
"""


def test_a_library_that_is_loaded_in_the_test_is_seen_too(pytester: pytest.Pytester, paid: list[ModelCall]) -> None:
    pytester.makepyfile(test_lazily=LAZILY)
    result = pytester.runpytest_subprocess("--tb=short", "-p", "no:xdist", "-p", "no:asyncio", "-p", "no:anyio")
    assert len(paid) == 3  # what plain tests ask is their own affair
    result.assert_outcomes(passed=6 + 3, errors=6)  # a request that was stopped fails its test, however it was met


ASYNC_LIBRARY = """
class ClientRequest:
    def __init__(self, url, headers):
        self.url, self.headers = url, headers
    async def send(self, conn):
        return conn
"""


def test_a_library_is_looked_at_when_it_is_loaded_and_left_as_it_was(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Looks:
        def __init__(self) -> None:
            self.places: list[tuple[str, int]] = []

        def check(self, host: str, port: int) -> None:
            self.places.append((host, port))

        def rekeyed(self, value: str) -> str:
            return value.replace("wrong", "right")

    (tmp_path / "aiohttp.py").write_text(ASYNC_LIBRARY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    monkeypatch.delitem(sys.modules, "aiohttp")
    looks, finders = Looks(), list(sys.meta_path)
    around, libraries = Libraries(Looks()), Libraries(looks)  # a session within another has its own
    around.install()
    libraries.install()
    loaded = importlib.import_module("aiohttp")
    assert loaded.__spec__ is not None
    assert loaded.__loader__ is loaded.__spec__.loader  # its own, as if nobody had looked
    assert isinstance(loaded.__loader__, SourceFileLoader)
    request = loaded.ClientRequest(httpx2.URL("http://example.test:81/v1"), {"authorization": "Bearer wrong"})
    assert asyncio.run(request.send("sent")) == "sent"
    assert looks.places == [("example.test", 81)]
    assert request.headers == {"authorization": "Bearer right"}
    libraries.remove()
    asyncio.run(request.send("sent"))
    assert len(looks.places) == 1
    around.remove()
    assert sys.meta_path == finders


def test_nothing_is_left_in_place_when_the_session_is_over(pytester: pytest.Pytester, paid: list[ModelCall]) -> None:
    def state() -> Sequence[object]:
        patched = (httpx2.HTTPTransport.handle_request, http.client.HTTPConnection.putheader, threading.Thread.start)
        return [*patched, *sys.meta_path]

    before = state()
    pytester.makepyfile("import sys\ndef test_a(faux):\n    assert type(sys.meta_path[0]).__name__ == 'Libraries'")
    pytester.runpytest("-p", "no:xdist").assert_outcomes(passed=1)
    assert state() == before


SHARED = (
    ASK
    + """
imported = OpenAI(max_retries=0)
REAL = os.environ["OPENAI_BASE_URL"]
said = []

@pytest.fixture(scope="session")
def store():
    yield 1
    said.append(swallowed())
    said.append(swallowed(imported))
    assert os.environ["OPENAI_BASE_URL"] != REAL

@pytest.fixture(scope="module")
def inner(request):
    request.getfixturevalue("store")
    assert os.environ["OPENAI_BASE_URL"] != REAL
    yield 2
    said.append(swallowed())

@pytest.fixture(scope="session")
def asked_for():
    yield 3
    said.append(swallowed())

@pytest.fixture(scope="session")
def plain():
    yield 4
    assert os.environ["OPENAI_BASE_URL"] == REAL

def test_plain_first(plain, inner):
    assert os.environ["OPENAI_BASE_URL"] == REAL

def test_covered(trial, inner):
    pass

def test_asks_for_it(trial, request):
    request.getfixturevalue("asked_for")

def test_plain_last(plain, inner):
    assert os.environ["OPENAI_BASE_URL"] == REAL
"""
)
SAID = """
def pytest_sessionfinish():
    import test_shared
    assert len(test_shared.said) == 4, test_shared.said
    assert sum("went past the gateway" in each for each in test_shared.said) == 1, test_shared.said
    assert sum("no model answers this test" in each for each in test_shared.said) == 3, test_shared.said
"""


def test_a_shared_fixture_is_led_to_the_end_of_its_tear_down_also_after_other_tests(
    pytester: pytest.Pytester, paid: list[ModelCall]
) -> None:
    pytester.makepyfile(test_shared=SHARED)
    pytester.makeconftest(SAID)
    result = pytester.runpytest("--tb=short", "-p", "no:xdist")
    result.assert_outcomes(passed=4)
    assert result.ret == 0
    assert paid == []


THREADS = (
    ASK
    + """
go, done = threading.Event(), threading.Event()
said = []

def later():
    go.wait(30)
    inner = threading.Thread(target=lambda: said.append(swallowed()))
    inner.start()
    inner.join()
    done.set()

@pytest.fixture(scope="module")
def background():
    threads = [threading.Thread(target=later)]
    threads[0].start()
    yield
    threads[0].join()

def test_plain_first(background):
    pass

def test_covered(trial, {fixture}):
    if "{fixture}" == "tmp_path":
        threading.Thread(target=later).start()

def test_plain_last():
    go.set()
    assert done.wait(30)
    (text,) = said
    assert "the thread that made it was started in a test with trials" in text
    assert ask() == "live"
    own = threading.Thread(target=lambda: said.append(ask()))
    own.start()
    own.join()
    assert said[1:] == ["live"]
"""
)


@pytest.mark.parametrize("options", [(), ("--trials", "2")])
@pytest.mark.parametrize("fixture", ["tmp_path", "background"])
def test_a_thread_that_outlives_its_covered_test_reaches_no_provider(
    pytester: pytest.Pytester, paid: list[ModelCall], fixture: str, options: Sequence[str]
) -> None:
    text = THREADS.replace("{fixture}", fixture)
    if fixture == "tmp_path":
        text = text.replace("def test_plain_first(background)", "def test_plain_first()")
    pytester.makepyfile(text)
    result = pytester.runpytest("--tb=short", "-p", "no:xdist", *options)
    result.assert_outcomes(passed=3)
    assert len(paid) == 2  # the plain test's own


JUDGED = (
    ASK
    + """
import json
from urllib.request import Request, urlopen

looking, asked = threading.Event(), threading.Event()
shared = []
said = []

def by_urllib():
    url, key = os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]
    headers = {"Authorization": f"Bearer {key}", "content-type": "application/json"}
    sent = json.dumps({"model": "m", "messages": SENT}).encode()
    try:
        with urlopen(Request(f"{url}/chat/completions", data=sent, headers=headers)) as answer:
            return json.load(answer)["choices"][0]["message"]["content"]
    except Exception as error:
        return error.read().decode()

def agent():
    looking.wait(30)
    said.extend([swallowed(), by_urllib()])
    asked.set()

@grader
def slow(trial):
    assert ask() == ask(shared[0]) == by_urllib() == "live"
    own = []
    thread = threading.Thread(target=lambda: own.append(ask()))
    thread.start()
    thread.join()
    looking.set()
    assert asked.wait(30)
    assert ask() == "live"
    return 1.0 if own == ["live"] else 0.0

@pytest.mark.trials(1, gate=None, judges=[slow], threshold=1.0, {marker})
def test_judged(trial):
    shared.append(OpenAI(max_retries=0))
    threading.Thread(target=agent).start()
"""
)
BY_JUDGE = 5


@pytest.mark.parametrize(
    ("marker", "says"),
    [
        ("simulation=lambda request, rng: say('simulated')", "simulated"),
        ("simulated=True", "its marker says simulated=True"),
    ],
)
def test_while_judges_look_a_thread_of_the_agent_asks_what_the_agent_may_ask(
    pytester: pytest.Pytester, paid: list[ModelCall], marker: str, says: str
) -> None:
    pytester.makepyfile(test_judged=JUDGED.replace("{marker}", marker))
    pytester.makeconftest(
        f"def pytest_sessionfinish():\n    import test_judged\n"
        f"    assert [{says!r} in each for each in test_judged.said] == [True, True], test_judged.said"
    )
    result = pytester.runpytest("--tb=short", "-p", "no:xdist", "--judge-model", "openai/judge-1")
    assert len(paid) == BY_JUDGE
    result.assert_outcomes(**{"passed" if says == "simulated" else "errors": 1})


def test_what_a_thread_of_the_agent_asks_while_judges_look_is_counted_as_the_agents(
    pytester: pytest.Pytester, paid: list[ModelCall]
) -> None:
    pytester.makepyfile(test_judged=JUDGED.replace("{marker}", ""))
    result = pytester.runpytest("--tb=short", "-p", "no:xdist", "--trials", "1")
    result.assert_outcomes(passed=1)
    assert len(paid) == BY_JUDGE + 2
    shown = pytester.run(sys.executable, "-m", "passhat", "report").stdout.str()
    assert "2 model calls" in shown


def test_a_client_made_before_the_fixture_was_asked_for_is_stopped(
    pytester: pytest.Pytester, paid: list[ModelCall]
) -> None:
    pytester.makepyfile(
        ASK
        + """
@pytest.mark.parametrize("name", ["faux", "trial"])
def test_later(request, name):
    client = OpenAI(max_retries=0)
    request.getfixturevalue(name)
    assert "went past the gateway" in swallowed(client)
"""
    )
    result = pytester.runpytest("--tb=short", "-p", "no:xdist")
    assert paid == []
    result.assert_outcomes(passed=2, errors=2)
    result.stdout.fnmatch_lines(["*or before the fixture was asked for*passhat_env = true*"])


IMPORTED = (
    ASK
    + """
from passhat import Limits, Suite, Task
from passhat.graders import exact
from passhat.pytest_plugin import suite_tests

client = OpenAI(max_retries=0)

@pytest.mark.trials(2, limits=Limits(model_calls=3))
def test_marked(trial):
    for _ in range(5):
        swallowed(client)

def test_unmarked(trial):
    swallowed(client)

tasks = [Task("a", input=1, expected="live")]
test_suite = suite_tests(Suite("s", tasks=tasks, agent=lambda trial: swallowed(client), graders=[exact()], trials=2))
"""
)


@pytest.mark.parametrize("options", [("--trials", "2"), ("--model", "openai/m")])
def test_a_client_made_at_import_is_stopped_where_models_are_asked_for_too(
    pytester: pytest.Pytester, paid: list[ModelCall], options: Sequence[str]
) -> None:
    pytester.makepyfile(IMPORTED)
    result = pytester.runpytest("--tb=short", "-p", "no:xdist", *options)
    assert paid == []
    result.assert_outcomes(passed=1, errors=3)  # the unmarked one's is at its tear-down
    broken = "*the test itself is broken: a request to 127.0.0.1 went past the gateway*passhat_env = true*"
    result.stdout.fnmatch_lines([broken, broken])


def test_with_passhat_env_it_is_counted_and_bounded(pytester: pytest.Pytester, paid: list[ModelCall]) -> None:
    pytester.makeini("[pytest]\npasshat_env = true\nasyncio_default_fixture_loop_scope = function")
    pytester.makepyfile(IMPORTED)
    result = pytester.runpytest("--tb=short", "-p", "no:xdist", "--trials", "2", "-k", "test_marked or test_unmarked")
    assert len(paid) == 2 * 3 + 1
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*limit of 3 model calls is reached*"])


@pytest.fixture
def hits(elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What reaches such a provider, which the environment names."""
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", elsewhere.url)
    return elsewhere.hits


ELSEWHERE = """
import os
import httpx2, pytest
from passhat import Limits
from passhat.graders import grader
from passhat.scripting import say

def post():
    return httpx2.post(os.environ["AZURE_OPENAI_ENDPOINT"] + "/x", json={}).status_code

def swallowed():
    try:
        return post()
    except Exception as error:
        return str(error)

def test_unmarked(trial):
    swallowed()

@pytest.mark.trials(2, limits=Limits(model_calls=3))
def test_marked(trial):
    for _ in range(5):
        swallowed()

@pytest.mark.trials(2, simulated=True)
def test_simulated(trial):
    swallowed()

@grader
def judge(trial):
    return post() == 200

@pytest.mark.trials(2, simulated=True, judges=[judge], threshold=1.0)
def test_judged(trial):
    pass

def test_plain():
    assert post() == 200
"""


def test_a_provider_whose_clients_cannot_be_led_is_reached_where_it_is_asked_for_and_counted(
    pytester: pytest.Pytester, hits: list[str]
) -> None:
    pytester.makepyfile(ELSEWHERE)
    result = pytester.runpytest("--tb=short", "-p", "no:xdist", "-rs")
    assert len(hits) == 1  # the plain test's own
    result.assert_outcomes(passed=2, failed=1, errors=2, skipped=1)
    result.stdout.fnmatch_lines(["*nobody asked for one in this test*can't be led to a double*--trials N*"])
    hits.clear()
    result = pytester.runpytest("--tb=short", "-p", "no:xdist", "--trials", "2", "-k", "not test_simulated")
    assert len(hits) == 1 + 2 * 3 + 2 + 1
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*limit of 3 model calls is reached*"])
    run = RunReader(find_run("last", pytester.path / ".passhat"))
    (marked, *_, last) = [record for record in run.trials() if "test_marked" in record.task]
    assert marked.usage == last.usage == Usage(3)  # tokens are unknown


TASKS = (
    ASK
    + """
import asyncio
from openai import AsyncOpenAI

loop = asyncio.new_event_loop()
go = asyncio.Event()
said, left = [], []

async def ask_async(client=None):
    async with client or AsyncOpenAI(max_retries=0) as client:
        return (await client.chat.completions.create(model="m", messages=SENT)).choices[0].message.content

async def later(client=None):
    await go.wait()
    try:
        said.append(await asyncio.create_task(ask_async(client)))
    except Exception as error:
        said.append(str(error))

async def leave():
    left.append(asyncio.create_task(later()))
    left.append(asyncio.create_task(later(AsyncOpenAI(max_retries=0))))

def test_covered(trial):
    loop.run_until_complete(leave())

async def find():
    go.set()
    await asyncio.gather(*left)
    return await ask_async(), await asyncio.create_task(ask_async())

def test_plain():
    assert loop.run_until_complete(find()) == ("live", "live")
    assert sum("the thread that made it was started in a test with trials" in each for each in said) == 1, said
    assert sum("This key's trial is over" in each for each in said) == 1, said
    loop.close()
"""
)


@pytest.mark.parametrize("options", [(), ("--trials", "2")])
def test_a_task_of_a_shared_loop_that_outlives_its_covered_test_reaches_no_provider(
    pytester: pytest.Pytester, paid: list[ModelCall], options: Sequence[str]
) -> None:
    before = asyncio.BaseEventLoop.create_task
    pytester.makepyfile(TASKS)
    result = pytester.runpytest("--tb=short", "-p", "no:xdist", *options)
    result.assert_outcomes(passed=2)
    assert len(paid) == 2  # the plain test's own
    assert asyncio.BaseEventLoop.create_task is before
