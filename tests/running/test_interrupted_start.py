"""A run that is interrupted while its processes start ends without a word of tasks that nobody waited for."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
from typing import Any

import pytest

from passhat.isolation import ServerSpec
from passhat.running import _process_server


class SlowServer:
    """A server that is interrupted while it starts, and that waits while it cleans up."""

    cleaned = closed = False

    def __init__(self, spec: ServerSpec) -> None:
        pass

    async def start(self) -> None:
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            SlowServer.cleaned = True

    async def close(self) -> None:
        assert SlowServer.cleaned
        SlowServer.closed = True


def test_an_interrupt_while_the_server_starts_lets_it_clean_up_first(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fake: Any = SlowServer
    monkeypatch.setattr(_process_server, "ForkServer", fake)
    spec: Any = None
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            _process_server.ServerThread(spec).start()
    finally:
        signal.signal(signal.SIGINT, before)
    gc.collect()
    assert SlowServer.closed
    assert [record.message for record in caplog.records if record.name == "asyncio"] == []
