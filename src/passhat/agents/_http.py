"""An agent behind HTTP: a server of each trial's own, or one that runs elsewhere."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urljoin, urlsplit

from passhat.agents._absent import program_absent, search_path
from passhat.agents._command import task_input
from passhat.agents._errors import AdapterError, HttpFailed
from passhat.agents._exchange import Answer, Exchange, NoAnswer, NoConnection, checked_url
from passhat.agents._outputs import excerpt
from passhat.agents._places import (
    arguments,
    as_text,
    callable_or_none,
    checked_text,
    filled,
    folder_here,
    is_number,
    most,
    several,
    variables,
)
from passhat.agents._server import answers_well, free_port, listens, serving
from passhat.facts import AgentUnavailable
from passhat.trial import Trial

_LATE = 0.25  # seconds after the deadline, for whoever runs a trial and doesn't cancel it


class Http:
    """An agent that is asked over HTTP: one request a trial, answered with the output.

    ``body`` is a function of the trial, by default its input: text goes out as text, anything else as JSON. The output
    is the answer's body, parsed where its content type says that it is JSON, else text; ``output`` is a function of
    that. A status of 300 or more is the agent's failure.

    With ``server=[…]`` each trial has a server of its own: a command in which ``{port}`` stands for a free port, as in
    ``url`` (and in the variable PORT), ``{here}`` for the folder of the calling file and ``{workspace}`` for the
    trial's directory, where it runs with the trial's variables, so that its clients reach the trial's model. It is
    ready when it listens, or when ``ready`` (a path) is answered well, within ``ready_seconds``; the end of the trial
    kills it.

    A server that runs elsewhere must be told which trial a request belongs to: ``propagate`` are headers in which
    ``{key}`` and ``{base_url}`` stand for the trial's key and the gateway's root, for the agent to hand to its client.
    Without them its model calls can't be seen; the transcript then says so, and the run is *unseen*.

    Raises `HttpFailed`, `AgentUnavailable` when nobody listens or the server doesn't start, and `AdapterError` for
    arguments that make no sense.

    >>> Http("http://127.0.0.1:{port}/ask", server=["python", "{here}/serve.py", "{port}"])
    Http('http://127.0.0.1:{port}/ask')
    """

    def __init__(
        self,
        url: str,
        *,
        body: Callable[[Trial], Any] = task_input,
        output: Callable[[Any], Any] | None = None,
        method: str = "POST",
        headers: Mapping[str, str] | None = None,
        propagate: Mapping[str, str] | None = None,
        server: Sequence[str | os.PathLike[str]] | None = None,
        ready: str | None = None,
        ready_seconds: float = 30.0,
        env: Mapping[str, str] | None = None,
        pass_env: Sequence[str] = (),
        here: str | os.PathLike[str] | None = None,
        most_bytes: int = 10_000_000,
    ) -> None:
        self.here = folder_here(here)
        self.url = checked_url(url, "url")
        self._body, self._output = body, output
        self._method = checked_text(method, "method").upper()
        self._headers = variables(headers, "headers")
        self._propagate = variables(propagate, "propagate")
        self._server = None if server is None else arguments(server, "server", ("here", "workspace", "port"))
        self._ready, self._ready_seconds = ready, ready_seconds
        self._env = variables(env, "env")
        self._pass_env = several(pass_env, "pass_env")
        self._most = most(most_bytes)
        self.__name__ = (urlsplit(url).hostname or "http") if server is None else PurePosixPath(str(server[0])).name
        self._check()

    def _check(self) -> None:
        if not callable(self._body):
            raise AdapterError(
                f"body={self._body!r:.100}: must be a function of the trial; lambda trial: … for a value"
            )
        callable_or_none(self._output, "output")
        if not (is_number(self._ready_seconds) and self._ready_seconds > 0):
            raise AdapterError(f"ready_seconds={self._ready_seconds!r}: must be a number above 0")
        if self._ready is not None:
            checked_text(self._ready, "ready")
        placed = "{port}" in self.url
        if placed and self._server is None:
            raise AdapterError(f"url={self.url!r}: {{port}} is that of server=[…], which isn't given")
        if self._server is not None and not placed:
            raise AdapterError(f"url={self.url!r}: with server=[…] its port must be {{port}}, one for each trial")
        if self._server is None and (self._ready is not None or self._env or self._pass_env):
            raise AdapterError("ready, env and pass_env are for server=[…], which isn't given")
        for name, text in self._propagate.items():
            if "{key}" not in text and "{base_url}" not in text:
                raise AdapterError(f"propagate: {name}={text!r} holds neither {{key}} nor {{base_url}}; see headers=")

    def __repr__(self) -> str:
        return f"Http({self.url!r})"

    def __call__(self, trial: Trial) -> Any:
        """Ask the agent and return its output."""
        if self._server is None:
            return self._result(self._ask(trial, self.url, self._remote_headers(trial)))
        with free_port() as port:
            return self._result(self._ask_own(trial, self._server, port))

    def absent(self, task_input: Any, variables: Mapping[str, str]) -> bool:
        """Whether it may not be there, as a runner sees it: an agent elsewhere, or a server that can't be started."""
        if self._server is None:
            return True
        return program_absent(self._server, here=self.here, cwd=None, path=search_path(variables, self._env))

    def _ask_own(self, trial: Trial, server: Sequence[str], port: int) -> Answer:
        """Ask a server of this trial's own, started now."""
        url = filled(self.url, {"port": str(port)})
        health = None if self._ready is None else urljoin(url, self._ready)
        with serving(
            trial,
            server,
            port,
            lambda: listens(port) if health is None else answers_well(health),
            here=self.here,
            env=self._env,
            pass_env=self._pass_env,
            seconds=self._ready_seconds,
        ):
            return self._ask(trial, url, self._headers)

    def _remote_headers(self, trial: Trial) -> dict[str, str]:
        try:
            model = trial.model
        except RuntimeError:  # a trial without a gateway
            model = None
        if model is None or not self._propagate:
            why = "the request doesn't carry the trial's key (see propagate=)" if model else "this run has no gateway"
            trial.event(
                "unseen", "model calls", f"the agent at {self.url} calls its model unseen: {why}", author="seen"
            )
            return self._headers
        places = {"key": model.api_key, "base_url": model.base_url}
        return {**self._headers, **{name: filled(text, places) for name, text in self._propagate.items()}}

    def _ask(self, trial: Trial, url: str, headers: Mapping[str, str]) -> Answer:
        data = self._body(trial)
        kind = "text/plain; charset=utf-8" if isinstance(data, str) else "application/json"
        remaining = trial.remaining()
        exchange = Exchange(url, seconds=None if remaining is None else remaining + _LATE)
        body = None if self._method in ("GET", "HEAD") else as_text(data).encode()
        sent = {**({} if body is None else {"content-type": kind}), **headers}
        try:
            with trial.at_cancel(exchange.stop):
                answer = exchange.send(self._method, sent, body, self._most)
        except NoConnection as error:
            trial.check()
            raise AgentUnavailable(f"nobody answers at {url}: {error}; start the agent, or give server=[…]") from None
        except NoAnswer as error:
            trial.check()
            raise HttpFailed(f"{self._method} {url}: no whole answer: {error}", None) from None
        if answer.status >= 300:
            words = f": {excerpt(answer.text)}" if answer.text.strip() else ""
            raise HttpFailed(f"{self._method} {url} was answered with status {answer.status}{words}", answer.status)
        return answer

    def _result(self, answer: Answer) -> Any:
        value: Any = answer.text
        if answer.is_json:
            try:
                value = json.loads(answer.body)
            except (ValueError, RecursionError) as error:
                message = f"the answer of {self.url} says it is JSON and isn't ({error}): {excerpt(answer.text)}"
                raise HttpFailed(message, answer.status) from None
        if self._output is None:
            return value
        try:
            return self._output(value)
        except Exception as error:
            if answer.is_json or not _reads_as_json(answer.text):
                raise
            kind = f"its content type is {answer.content_type!r}" if answer.content_type else "it has no content type"
            message = (
                f"output= raised {type(error).__name__}: {error}. The answer of {self.url} looks like JSON and came as "
                f"text, because {kind}: have the server send application/json, or parse it in output= (json.loads)"
            )
            raise HttpFailed(message, answer.status) from error


def _reads_as_json(text: str) -> bool:
    """Whether a body is a JSON object or list."""
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False
