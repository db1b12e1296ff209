"""A server whose jobs are this folder's entries, and proof that processes are gone."""

from __future__ import annotations

import contextlib
import os
import select
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from passhat.isolation import ForkServer, Job, ProcessLimits, ServerSpec, Slot, capabilities, trial_environ

ENTRIES = Path(__file__).parent / "entries"

if sys.platform != "linux":
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def spec() -> Callable[..., ServerSpec]:
    """Builds the specification of a server for the entries here."""

    def build(**changes: Any) -> ServerSpec:
        path = (str(ENTRIES), *changes.pop("sys_path", sys.path))
        changes.setdefault("entry_file", ENTRIES / "isolation_entries.py")
        return ServerSpec(**{"environ": trial_environ(), "sys_path": path, **changes})

    return build


@pytest.fixture(scope="session")
def job() -> Callable[..., Job]:
    """Builds a job: ``job("echo", payload, seconds=1)``."""
    environ = trial_environ()

    def build(name: str, payload: Any = None, *, seconds: float | None = 60.0, limits: Any = None, **more: Any) -> Job:
        bounds = ProcessLimits(**{"seconds": seconds, **(limits or {})})
        entry = name if ":" in name else f"isolation_entries:{name}"
        return Job(**{"entry": entry, "payload": payload, "environ": environ, "limits": bounds, **more})

    return build


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(spec: Callable[..., ServerSpec]) -> AsyncIterator[ForkServer]:
    """One server for the tests of a module."""
    assert capabilities().containment == "proved", capabilities().missing
    async with ForkServer(spec(slots=3)) as server:
        assert server.report.mode == "process", server.report
        yield server


@pytest_asyncio.fixture(loop_scope="module")
async def slot(server: ForkServer) -> AsyncIterator[Slot]:
    """A slot of its own for each test."""
    slot = await server.slot()
    yield slot
    await slot.close()


def gone(pids: Iterable[int], seconds: float = 20.0) -> list[int]:
    """The pids that still run, once all have had the time to go; a zombie has gone."""
    left = []
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            number = os.pidfd_open(pid)
            try:
                poller = select.poll()
                poller.register(number, select.POLLIN)
                if not poller.poll(seconds * 1000):
                    left.append(pid)
            finally:
                os.close(number)
    return left


def running(pids: Iterable[int]) -> list[int]:
    """The pids that run at this moment."""
    return gone(pids, 0.0)
