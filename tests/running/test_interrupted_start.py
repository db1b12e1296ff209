"""A start of a run's processes that takes long says what it waits for; one that is interrupted ends without a word."""

from __future__ import annotations

import asyncio
import gc
import io
import re
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from passhat.isolation import ServerSpec
from passhat.reporting import ProgressLine
from passhat.running import Run, _process_server


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


def test_a_start_that_takes_long_says_what_it_waits_for_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    enough = threading.Event()

    class Patient:
        doing = "importing the suite"

        def __init__(self, spec: ServerSpec) -> None:
            pass

        async def start(self) -> str:
            await asyncio.to_thread(enough.wait)
            return "a report"

        async def close(self) -> None:
            pass

    def hear(what: str) -> None:
        told.append(what)
        if len(told) == 2:
            enough.set()

    fake: Any = Patient
    monkeypatch.setattr(_process_server, "ForkServer", fake)
    monkeypatch.setattr(_process_server, "_SILENCE", 0.01)
    spec: Any = None
    server = _process_server.ServerThread(spec, hear)
    report: Any = server.start()
    server.stop()
    assert report == "a report"
    assert told[:2] == ["importing the suite"] * 2


def test_what_is_waited_for_is_shown_to_whoever_watches_the_run(
    run_file: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_process_server, "_SILENCE", 0.01)
    shown = io.StringIO()
    watcher = ProgressLine(shown, live=False)
    run_file(
        """
        import time
        from passhat import Suite, Task
        time.sleep(0.3)
        suite = Suite("slow", tasks=[Task("a")], agent=lambda trial: 1, graders=[lambda trial: True], trials=1)
    """,
        progress=watcher,
    )
    lines = shown.getvalue().splitlines()
    assert [line for line in lines if re.fullmatch(r"not yet begun: importing .*eval_here\.py, for at most 10 s", line)]
    assert lines[-1].startswith("1/1 trials")
