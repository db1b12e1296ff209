"""What every test of the plugin needs."""

import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

import numpy  # noqa: F401 - loaded before pytester saves the modules: it can't be loaded twice in one process
import openai.resources.chat  # noqa: F401 - slow to load, and so loaded once
import pytest
import scipy.special  # noqa: F401

import passhat.gateway
import passhat.pytest_plugin._deciding
import passhat.pytest_plugin._doubles
import passhat.pytest_plugin._running  # noqa: F401
from passhat.facts import Limits, ModelCall
from passhat.gateway import Gateway, Request, Simulate
from passhat.scripting import say


@pytest.fixture(autouse=True)
def little_sessions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The little sessions have a setting that pytest-asyncio asks for, and no plugins but those that they name."""
    if "pytester" in request.fixturenames:
        for name, module in sys.modules.copy().items():  # in one step: the collector may import
            if "/examples/" in (getattr(module, "__file__", None) or ""):
                monkeypatch.delitem(sys.modules, name)  # an example's `agent` must not stand in for a little one
        pytester: pytest.Pytester = request.getfixturevalue("pytester")
        pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
        monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:randomly -p no:rerunfailures -p no:cov -p no:hypothesispytest")


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


class Elsewhere(NamedTuple):
    """A provider whose clients the variables don't lead: it answers everything."""

    url: str
    hits: list[str]  # paths that were asked for


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    """Such a provider, which nothing names yet."""
    hits: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            hits.append(self.path)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield Elsewhere(f"http://127.0.0.1:{server.server_port}", hits)
        server.shutdown()
