"""Process isolation as the runner uses it: start a server for the user's code, keep it, hand out slots."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
import time
from types import TracebackType
from typing import Self

import msgspec

from passhat.facts import name_in_text
from passhat.isolation._capabilities import Capabilities, IsolationError, IsolationUnavailable, capabilities
from passhat.isolation._config import ServerConfig
from passhat.isolation._fork_server import ServerProcess
from passhat.isolation._leftovers import make_scratch, remove_scratch, runner_marker
from passhat.isolation._portable import PortableServer
from passhat.isolation._slot import Slot
from passhat.isolation._spec import ServerReport, ServerSpec
from passhat.isolation._starting import Start

_RESTARTS = 20  # of a server that dies; more of it is no accident


class ForkServer:
    """Runs jobs in processes of their own. ``async with ForkServer(spec) as server: slot = await server.slot()``.

    Starting it imports the user's code once, in a process that is thrown away. Raises `IsolationUnavailable` where
    there is no process isolation, `ImportFailed` when that import fails, `IsolationError` when no server starts.
    A server that dies is started again at the next `slot`, up to 20 times.
    """

    def __init__(self, spec: ServerSpec) -> None:
        self._spec = spec
        self._marker = ""
        self._process: ServerProcess | PortableServer | None = None
        self._start: Start | None = None
        self._config: ServerConfig | None = None
        self._spare: Slot | None = None
        self._slots: list[Slot] = []
        self._restarts = 0
        self._scratch: str | None = None
        self._starting = asyncio.Lock()
        self._report: ServerReport | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def report(self) -> ServerReport:
        """What kind of isolation this is; RuntimeError before `start`."""
        if self._report is None:
            raise RuntimeError("the server hasn't been started")
        return self._report

    @property
    def pid(self) -> int | None:
        """The server's process."""
        return None if self._process is None else self._process.pid

    @property
    def doing(self) -> str:
        """What its start waits for."""
        return "starting" if self._start is None else self._start.doing

    async def start(self) -> ServerReport:
        """Learn what the user's code imports, and start the server that fits it."""
        began = time.monotonic()
        able = capabilities()
        if able.containment == "none":
            raise IsolationUnavailable(_why_none(able))
        self._check_texts()
        self._marker = runner_marker()
        self._scratch = make_scratch()
        start = self._start = Start(self._spec, self._marker, self._scratch)
        try:
            if self._spec.mode == "portable" or able.containment != "proved":
                since, then = self._spec.since or time.time_ns(), start.then()
                config = msgspec.structs.replace(start.configured("spawn"), since=since, then=then)
                self._process = PortableServer(config, start.environ, self._marker)
                reason = "; ".join(able.missing) or "asked for"
                report = ServerReport(mode="spawn", containment="best effort", reason=reason, then=then)
            else:
                self._process, self._config, report, self._spare = await start.proved()
        except BaseException:
            await self.close()
            raise
        seconds = time.monotonic() - began
        guard = able.guard and report.containment == "proved"
        self._report = msgspec.structs.replace(report, start_seconds=seconds, guard=guard, seccomp=able.seccomp)
        return self._report

    async def slot(self) -> Slot:
        """A supervisor for one job at a time. Starts the server again when it has died."""
        async with self._starting:
            if self._spare is not None and self._spare.alive:
                slot, self._spare = self._spare, None
                self._slots.append(slot)
                return slot
            if self._process is None or self._report is None:
                raise IsolationError("the server isn't running")
            try:
                slot = await self._process.slot()
            except IsolationError:
                if isinstance(self._process, PortableServer):
                    raise
                slot = await (await self._restart()).slot()
            for old in [old for old in self._slots if not old.alive]:
                self._slots.remove(old)
                await old.close()
            self._slots.append(slot)
            return slot

    async def close(self) -> None:
        """End all jobs, slots and the server; returns when they are gone."""
        for slot in [*self._slots, *([self._spare] if self._spare is not None else [])]:
            await slot.close()
        self._slots, self._spare = [], None
        if self._process is not None:
            await self._process.close()
            self._process = None
        if self._scratch is not None:
            with contextlib.suppress(OSError):
                await asyncio.to_thread(remove_scratch, self._scratch)
            self._scratch = None

    def _check_texts(self) -> None:
        """Refuse what no message to another process can hold."""
        entry = [] if self._spec.entry_file is None else [os.fspath(self._spec.entry_file)]
        path = sys.path if self._spec.sys_path is None else self._spec.sys_path
        places = [*entry, *path, tempfile.gettempdir()]
        given = [("the path", place) for place in places]
        given += [(f"{name}=", value) for name, value in self._spec.environ.items()]
        for what, text in given:
            try:
                text.encode()
            except UnicodeEncodeError:
                raise IsolationError(
                    f"{what} {name_in_text(text)!r} isn't UTF-8, and can't be told to the process of a trial: rename "
                    "it, leave it out, or use --isolation inline"
                ) from None

    async def _restart(self) -> ServerProcess:
        if self._start is None or self._config is None or self._restarts >= _RESTARTS:
            raise IsolationError(f"the server died again after {self._restarts} restarts; the run can't go on")
        self._restarts += 1
        if self._process is not None:
            await self._process.close()
            self._process = None
        process = self._process = await self._start.again(self._config)
        return process


def _why_none(able: Capabilities) -> str:
    if able.platform == "linux":
        return (
            "process isolation finds processes in /proc, which isn't mounted here: mount it, or use --isolation inline"
        )
    return (
        f"process isolation needs Linux or macOS, and this is {able.platform}: use --isolation inline, "
        "or run passhat in WSL or in a container"
    )
