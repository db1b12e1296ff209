"""A server that can start no further process says so to the runner, which ends in words."""

from __future__ import annotations

import errno
import os
import socket

import pytest

from passhat.isolation import IsolationError
from passhat.isolation._config import ServerConfig
from passhat.isolation._fork_server import ServerProcess
from passhat.isolation._frames import Framing, Kind
from passhat.isolation._server import Server


def test_a_supervisor_that_can_not_be_forked_is_a_limit_with_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses() -> int:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuses)
    with pytest.raises(IsolationError, match="ulimit -u"):
        Server._fork_supervisor(object.__new__(Server), -1)


@pytest.mark.asyncio
async def test_the_runner_hears_why_the_server_goes() -> None:
    process = ServerProcess(ServerConfig(runner=os.getpid()), {}, "")
    process._sock, server = socket.socketpair()
    process._sock.setblocking(False)
    server.send(Framing().pack(Kind.FAILED, b"IsolationError: no further process can be started"))
    with server, process._sock, pytest.raises(IsolationError, match="ended: IsolationError: no further process"):
        await process.slot()
