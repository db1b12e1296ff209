"""The gateway: one loopback server for many trials, told apart by their keys."""

from __future__ import annotations

import asyncio
import atexit
import os
import secrets
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from passhat.facts import Limits, ModelCall
from passhat.gateway._begun import begin, beside, denied
from passhat.gateway._chunks import Chunking
from passhat.gateway._clock import Clock, SystemClock
from passhat.gateway._connections import MOST_AT_ONCE
from passhat.gateway._errors import CassetteError
from passhat.gateway._exchange import Pending
from passhat.gateway._faults import Faults
from passhat.gateway._http import HttpReply, HttpRequest
from passhat.gateway._modes import Mode
from passhat.gateway._relaying import Relaying
from passhat.gateway._session import Session, Workspace
from passhat.gateway._wires import PATHS, bare
from passhat.gateway._wires._shape import retry_count

if TYPE_CHECKING:
    from passhat.gateway._server import Server

_OURS = "sk-passhat-"  # how the keys begin that are made here
_ELSEWHERE = "/not-led/"
_RUNNING = "Requests must use the key of a running trial."
_KEPT = (
    "was kept by a client, a process, settings or a copy of the environment that outlived it: make them anew in each "
    "trial, or end them with it."
)
TOO_MANY = f"More than {MOST_AT_ONCE} requests of one trial at the same time; try again when some are answered."


def _nobody(event: ModelCall) -> None:
    """A sink for those who only want the replies."""


class Gateway:
    """A model double (and a meter before a real model) on loopback, used as a context manager.

    One server serves any number of sessions; ``open`` makes one, with a key of its own. ``base_url`` is the root,
    without ``/v1``.

    >>> from passhat.gateway import Gateway, Script
    >>> with Gateway() as gateway:
    ...     session = gateway.open(Script(["hello"]))
    ...     session.access.openai["base_url"] == gateway.base_url + "/v1"
    True
    """

    def __init__(
        self, *, clock: Clock | None = None, port: int = 0, welcome: Callable[[Gateway, str], Session] | None = None
    ) -> None:
        """``port`` 0 takes a free one. ``welcome`` opens a session for a key that nobody opened one for."""
        self.clock: Clock = clock or SystemClock()
        self.process_key = _new_key("process")
        self._port = port
        self._welcome = welcome
        self._server: Server | None = None
        self._lock = threading.Lock()
        self._sessions: dict[str, Session] = {}
        self._over: dict[str, str] = {}  # keys of sessions that are over, with what they were called
        self._routed: list[Session] = []
        self.otherwise: Callable[[], Session | None] = lambda: None
        """Says whose a request with the process's own key is while no session is routed; called in any thread."""
        self.stranger: Callable[[], Session | None] = lambda: None
        """Says whose a request with a key that isn't made here is; called in any thread."""
        self.elsewhere: Callable[[str], str] = lambda provider: f"no request to {provider} is passed on from here"
        """Says why a request to an address of `refusing` is refused; called in any thread."""

        self.late: Callable[[str], None] = lambda label: None
        """Told what the trial was called whose key a request has though it is over; called in any thread."""

    def start(self) -> Gateway:
        """Start the server, unless it runs."""
        with self._lock:
            if self._server is None:
                from passhat.gateway._server import Server  # the server's packages load when a server is wanted

                self._server = Server(self.receive, self.clock, self._port)
                self._server.start()
                atexit.register(self._close_at_exit, os.getpid())
        return self

    def close(self) -> None:
        """Revoke all sessions and stop the server; then raise what a cassette couldn't be written for, if any."""
        problems: list[CassetteError] = []
        for session in list(self._sessions.values()):
            try:
                session.revoke()
            except CassetteError as problem:
                problems.append(problem)
        with self._lock:
            server, self._server = self._server, None
            self._sessions.clear()
        if server is not None:
            atexit.unregister(self._close_at_exit)
            server.stop()
        if problems:
            raise problems[0]

    def _close_at_exit(self, process: int) -> None:
        """End the server's thread before the interpreter; a forked child has none."""
        if os.getpid() == process:
            self.close()

    def __enter__(self) -> Gateway:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def base_url(self) -> str:
        """The root of the server; started now if it wasn't."""
        self.start()
        assert self._server is not None
        return self._server.base_url

    def refusing(self, provider: str) -> str:
        """An address to give to the clients of a provider that nobody is to reach: every request there is refused."""
        return f"{self.base_url}{_ELSEWHERE}{provider}"

    def open(
        self,
        mode: Mode,
        *,
        sink: Callable[[ModelCall], None] = _nobody,
        now: Callable[[], float] | None = None,
        limits: Limits | None = None,
        seed: int = 0,
        label: str = "",
        workspace: Workspace = None,
        chunking: Chunking | None = None,
        model: str | None = None,
        faults: Any = None,
        key: str | None = None,
    ) -> Session:
        """Open a session for one trial (or one judge, or one simulated user).

        ``sink`` is given an event for every call, before the client sees the end of the answer. ``now`` says the
        seconds since the agent was started. ``workspace`` is the trial's directory, or a function that gives it (or
        None): its path doesn't count when requests are compared. ``faults`` are `Faults`, or what
        describes them; ``key`` one of your own choice. Raises `GatewayError` when the mode can't start.
        """
        if now is None:
            began = time.monotonic()

            def now() -> float:
                return time.monotonic() - began

        session = Session(
            self,
            _new_key("trial") if key is None else key,
            mode,
            sink=sink,
            now=now,
            limits=limits or Limits(),
            seed=seed,
            label=label,
            workspace=workspace,
            chunking=chunking or Chunking(),
            model=model,
            faults=Faults.of(faults),
        )
        with self._lock:
            self._sessions[session.key] = session
        return session

    @contextmanager
    def route(self, session: Session) -> Iterator[Session]:
        """Lead requests with the process's own key (`process_key`) to a session, for agents that read the environment.

        While two sessions are routed nobody can tell whose request one with that key is: it is refused.
        """
        with self._lock:
            self._routed.append(session)
        try:
            yield session
        finally:
            self.unroute(session)

    def forget(self, session: Session) -> None:
        """Let go of a session that is over; its key stays known as one whose trial is over."""
        with self._lock:
            self._sessions.pop(session.key, None)
            self._over[session.key] = session.label
        self.unroute(session)

    def gave(self, key: str) -> bool:
        """Whether a key is one of this gateway's: its own, or a session's that is open or over."""
        return key in self._sessions or key in self._over or key == self.process_key

    def unroute(self, session: Session) -> None:
        """Stop leading the process's key to a session; nothing happens when it isn't led there."""
        with self._lock:
            self._routed = [other for other in self._routed if other is not session]

    def run_on_loop(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine on the server's loop, and wait for its result in this thread."""
        self.start()
        assert self._server is not None
        assert self._server.loop is not None
        return asyncio.run_coroutine_threadsafe(work, self._server.loop).result()

    def receive(self, http: HttpRequest) -> HttpReply | Pending | Relaying:
        """Answer a request, or say what must be done first. No I/O is done here."""
        if http.path.startswith(_ELSEWHERE):
            provider = http.path.removeprefix(_ELSEWHERE).partition("/")[0]
            return denied(http, 400, self.elsewhere(provider), "passhat_refused")
        session = self._session(http)
        if isinstance(session, HttpReply):
            return session
        if http.crowded:
            session.crowded += 1
            return denied(http, 429, TOO_MANY, "passhat_too_many_requests", {"connection": "close"})
        wire = PATHS.get(bare(http.path)) if http.method == "POST" else None
        if wire is None:
            return beside(session, http)
        return begin(session, wire, http)

    def _session(self, http: HttpRequest) -> Session | HttpReply:
        key = _key(http.headers)
        session = self._sessions.get(key)
        if session is not None and session.open:
            return session
        over = session is not None or key in self._over
        if not over and key == self.process_key:
            return self._shared(http)
        if not over and self._welcome is not None:
            return self._welcome(self, key)
        if not over and not key.startswith(_OURS) and (session := self.stranger()) is not None and session.open:
            return session
        if not over:
            return denied(http, 401, f"Incorrect API key provided: it belongs to no trial. {_RUNNING}", "passhat_key")
        label = (self._over.get(key, "") if session is None else session.label)[:200]
        if not retry_count(http.headers):  # else what is retried came in time
            self.late(label)
        kept = f"It was that of {label!r}, and " if label and label != key else "It "
        text = f"This key's trial is over. {_RUNNING} {kept}{_KEPT}"
        return denied(http, 401, text, "passhat_key")

    def _shared(self, http: HttpRequest) -> Session | HttpReply:
        with self._lock:
            routed = list(self._routed)
        if len(routed) == 1:
            return routed[0]
        if not routed and (session := self.otherwise()) is not None and session.open:
            return session
        if not routed:
            text = "This is the process's own key and no trial is running: a model was asked outside of a trial."
            return denied(http, 401, text, "passhat_outside")
        text = (
            f"{len(routed)} trials run at once in this process and this request has the process's own key, so it can't "
            "be told whose it is. Make the client inside the agent with the trial's key, as in "
            "OpenAI(**trial.model.openai), or run with concurrency=1 or isolation by process."
        )
        return denied(http, 400, text, "passhat_shared_key")


def _key(headers: Mapping[str, str]) -> str:
    """The key a request came with: a bearer token, or the value of ``x-api-key``."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    return headers.get("x-api-key", "")


def _new_key(kind: str) -> str:
    return f"{_OURS}{kind}-{secrets.token_hex(16)}"
