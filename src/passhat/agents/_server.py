"""A server of an agent's own for each trial: started, waited for, and ended with the trial."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from passhat.agents._exchange import Exchange, NoAnswer, NoConnection
from passhat.agents._outputs import excerpt
from passhat.agents._places import environment_of, filled
from passhat.agents._process import GroupedProcess, ends_with
from passhat.facts import AgentUnavailable
from passhat.trial import Trial

_PRINTED = 10_000_000
_AGAIN = 0.02  # seconds between looks, unless the server ends first


_lock = threading.Lock()
_given: set[int] = set()  # ports of this process's trials: each is free until its server listens


@contextmanager
def free_port() -> Iterator[int]:
    """A port of the loopback interface that nobody uses now, and that no other trial of this process gets."""
    with _lock:
        port = _unused()
        while port in _given:
            port = _unused()
        _given.add(port)
    try:
        yield port
    finally:
        with _lock:
            _given.discard(port)


def _unused() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(
    trial: Trial,
    args: Sequence[str],
    port: int,
    ready: Callable[[], bool],
    *,
    here: Path,
    env: Mapping[str, str],
    pass_env: Sequence[str],
    seconds: float,
) -> Iterator[None]:
    """Run a server in the trial's workspace, with the trial's variables and PORT, from when it is ready to the end."""
    places = {"here": str(here), "workspace": str(trial.workspace), "port": str(port)}
    command = [filled(argument, places) for argument in args]
    variables = {**environment_of(trial, env, pass_env), "PORT": str(port), "PWD": str(trial.workspace)}
    process = GroupedProcess(trial, command, cwd=trial.workspace, env=variables, stdin=None, most=_PRINTED)
    with ends_with(trial, process):
        exited = process.exited()
        _wait_until(ready, trial, process, exited, command[0], seconds)
        yield
        if exited.is_set() and not trial.cancelled:
            raise AgentUnavailable(
                f"the agent's server {command[0]} had ended when the answer came, so somebody else may have answered "
                f"on port {port}{_printed(process)}; it must stay until it is killed"
            )


def _wait_until(
    ready: Callable[[], bool],
    trial: Trial,
    process: GroupedProcess,
    exited: threading.Event,
    name: str,
    seconds: float,
) -> None:
    """Look until it is ready; the end of the server, and of the trial, is noticed at once."""
    give_up = time.monotonic() + seconds
    while not ready():
        trial.check()
        ended = exited.is_set()
        if ended or time.monotonic() > give_up:
            process.close()
            why = "ended before it answered" if ended else f"didn't answer within {seconds:g} seconds"
            raise AgentUnavailable(f"the agent's server {name} {why}{_printed(process)}")
        exited.wait(_AGAIN)


def _printed(process: GroupedProcess) -> str:
    said = process.stderr.text or process.stdout.text
    return f"; it printed {excerpt(said)}" if said.strip() else ""


def listens(port: int) -> bool:
    """Whether somebody accepts connections there."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def answers_well(url: str) -> bool:
    """Whether a GET of ``url`` is answered with a status below 400."""
    try:
        return Exchange(url, seconds=5).send("GET", {}, None, 1_000_000).status < 400
    except (NoConnection, NoAnswer):
        return False
