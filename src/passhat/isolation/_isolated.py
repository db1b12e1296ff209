"""Process isolation as the runner uses it: probe the user's code, keep a server, hand out slots."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Literal, Self

import msgspec

from passhat.facts import ErrorInfo, name_in_text
from passhat.isolation._capabilities import IsolationError, IsolationUnavailable, capabilities
from passhat.isolation._config import ServerConfig, ServerReady
from passhat.isolation._contract import Ended, Job, ProcessLimits
from passhat.isolation._environ import MARKER
from passhat.isolation._fork_server import ServerProcess
from passhat.isolation._leftovers import make_scratch, runner_marker
from passhat.isolation._portable import PortableServer
from passhat.isolation._probe import Probe
from passhat.isolation._removal import remove_tree
from passhat.isolation._slot import Slot

_RESTARTS = 20  # of a server that dies; more of it is no accident


class ImportFailed(IsolationError):
    """The user's code can't be imported in a fresh interpreter; ``ended`` says how the attempt went."""

    def __init__(self, message: str, ended: Ended) -> None:
        super().__init__(message)
        self.ended = ended

    @property
    def error(self) -> ErrorInfo | None:
        """What the import raised, if it raised."""
        return self.ended.error


class ServerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What a server is for. The user's code is imported by ``loader`` ("module:function" of passhat's own, called as
    ``loader(load_payload, channel)``); without one, ``entry_file`` is imported with its folder on ``sys.path``.

    ``environ`` is the complete environment under which code is imported (see `trial_environ`); ``sentinels`` names the
    variables whose values differ from job to job: a package that keeps one at import is not kept warm. ``preload``
    names modules of passhat's own to have ready; ``warm_up`` ("module:function") is called with a directory in a
    server that will be forked, once all is imported. ``slots`` is how many will run at once. ``mode`` "auto" forks
    where that is safe, else starts a fresh interpreter a job. Times are in seconds.
    """

    entry_file: str | os.PathLike[str] | None = None
    loader: str = "passhat.isolation._load:import_file"
    load_payload: Any = None
    preload: tuple[str, ...] = ()
    warm_up: str = ""
    environ: Mapping[str, str] = {}
    sentinels: tuple[str, ...] = ()
    sys_path: tuple[str, ...] | None = None
    slots: int = 1
    mode: Literal["auto", "fork", "spawn", "portable"] = "auto"
    import_seconds: float = 120.0
    rehearsal_seconds: float = 10.0


class ServerReport(msgspec.Struct, frozen=True, kw_only=True):
    """What kind of isolation came about: ``mode`` is "process" (forks of a warm server) or "spawn", and the ``reason``.

    ``files`` maps the user's files in the snapshot to their SHA-256. ``left_out`` are the installed packages that each
    job imports anew, with the reason; ``unreadable`` user modules without Python source. ``containment`` and ``guard``
    are for the manifest. ``probe_seconds`` is how long a fresh import takes, ``start_seconds`` the whole start.
    """

    mode: Literal["process", "spawn"]
    reason: str = ""
    containment: str = "proved"
    guard: bool = False
    files: dict[str, str] = {}
    left_out: dict[str, str] = {}
    unreadable: tuple[str, ...] = ()
    hazards: tuple[str, ...] = ()
    modules: int = 0
    probe_seconds: float = 0.0
    start_seconds: float = 0.0


class ForkServer:
    """Runs jobs in processes of their own. ``async with ForkServer(spec) as server: slot = await server.slot()``.

    Starting it imports the user's code once, in an interpreter that is thrown away. Raises `IsolationUnavailable` where
    there is no process isolation, `ImportFailed` when that import fails, `IsolationError` when no server starts.
    A server that dies is started again at the next `slot`, up to 20 times.
    """

    def __init__(self, spec: ServerSpec) -> None:
        self._spec = spec
        self._marker = runner_marker()
        self._process: ServerProcess | PortableServer | None = None
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

    async def start(self) -> ServerReport:
        """Probe the user's code and start the server that fits it."""
        began = time.monotonic()
        able = capabilities()
        if able.containment == "none":
            raise IsolationUnavailable(
                f"process isolation needs Linux or macOS, and this is {able.platform}: use --isolation inline, "
                "or run passhat in WSL or in a container"
            )
        self._check_texts()
        self._scratch = make_scratch()
        try:
            if self._spec.mode == "portable" or able.containment != "proved":
                report = await self._start_portable(able.missing)
            else:
                report = await self._start_proved()
        except BaseException:
            await self.close()
            raise
        seconds = time.monotonic() - began
        guard = able.guard and report.containment == "proved"
        self._report = msgspec.structs.replace(report, start_seconds=seconds, guard=guard)
        return self._report

    async def slot(self) -> Slot:
        """A supervisor for one job at a time. Starts the server again when it has died."""
        async with self._starting:
            if self._spare is not None and self._spare.alive:
                slot, self._spare = self._spare, None
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
                await asyncio.to_thread(remove_tree, self._scratch)
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

    # ---- starting

    async def _start_proved(self) -> ServerReport:
        seen, seconds = await self._probe()
        loaded = seen.loaded
        report = ServerReport(
            mode="spawn",
            files=loaded.files,
            unreadable=loaded.unreadable,
            hazards=seen.hazards,
            probe_seconds=seconds,
            reason="asked for",
        )
        if self._spec.mode != "spawn":
            ready, reason = await self._start_warm(seen)
            if not reason:
                return msgspec.structs.replace(
                    report, mode="process", reason="", left_out=ready.left_out, modules=ready.modules
                )
            if self._spec.mode == "fork":
                raise IsolationError(f"a warm server can't be forked: {reason}; use mode='auto' or 'spawn'")
            report = msgspec.structs.replace(report, reason=reason, left_out=ready.left_out)
        self._config = self._configure("spawn", seen)
        await self._launch(self._config)
        return report

    async def _probe(self) -> tuple[Probe, float]:
        """Import the user's code in a fresh interpreter under a supervisor."""
        await self._launch(self._configure("spawn", None))
        slot = await self._process_slot()
        payload = {"loader": self._spec.loader, "payload": self._load_payload(), "sentinels": self._sentinels()}
        job = self._import_job("passhat.isolation._probe:probe", payload, self._spec.import_seconds)
        began = time.monotonic()
        ended = await slot.run(job)
        await slot.close()
        await self._stop_process()
        if ended.kind != "returned":
            what = self._spec.entry_file or "the suite"
            raise ImportFailed(f"{os.fspath(what)} can't be imported in a fresh interpreter: {ended.reason}", ended)
        try:
            return msgspec.convert(ended.result, Probe), time.monotonic() - began
        except ValueError as error:  # the user's code has sent something in its place
            raise ImportFailed(f"what importing the suite has told can't be read: {error}", ended) from error

    async def _start_warm(self, seen: Probe) -> tuple[ServerReady, str]:
        """A warm server that has passed the rehearsal, or the reason why there is none."""
        ready = ServerReady()
        for suspect in (True,) if seen.suspect else (False, True):
            self._config = msgspec.structs.replace(self._configure("fork", seen), suspect=suspect)
            try:
                ready = await self._launch(self._config)
            except IsolationError as error:
                return ready, str(error)
            if not ready.dirty:
                break
            await self._stop_process()
        else:
            return ready, "the server holds " + "; ".join(ready.dirty)
        slot = await self._process_slot()
        job = self._import_job(self._spec.loader, self._load_payload(), self._spec.rehearsal_seconds)
        ended = await slot.run(job)
        if ended.kind == "returned":
            self._spare = slot
            return ready, ""
        await slot.close()
        await self._stop_process()
        return ready, f"importing the suite in a fork of the warm server failed ({ended.reason})"

    async def _start_portable(self, missing: tuple[str, ...]) -> ServerReport:
        config = self._configure("spawn", None)
        self._process = PortableServer(config, self._import_environ(), self._marker)
        reason = "; ".join(missing) or "asked for"
        return ServerReport(mode="spawn", containment="best effort", reason=reason)

    async def _restart(self) -> ServerProcess:
        if self._config is None or self._restarts >= _RESTARTS:
            raise IsolationError(f"the server died again after {self._restarts} restarts; the run can't go on")
        self._restarts += 1
        await self._stop_process()
        process = self._process = self._server_process(self._config)
        await process.start(self._patience(self._config))
        return process

    def _server_process(self, config: ServerConfig) -> ServerProcess:
        return ServerProcess(config, self._import_environ(), self._marker)

    async def _launch(self, config: ServerConfig) -> ServerReady:
        process = self._process = self._server_process(config)
        return await process.start(self._patience(config))

    def _patience(self, config: ServerConfig) -> float:
        """Seconds that the server may take to import; where it sends scouts, each package may take that long."""
        packages = len({name.partition(".")[0] for name in config.installed})
        return config.import_seconds * (1 + (packages if config.suspect else 0))

    async def _process_slot(self) -> Slot:
        assert self._process is not None
        slot = await self._process.slot()
        self._slots.append(slot)
        return slot

    async def _stop_process(self) -> None:
        if self._process is not None:
            await self._process.close()
            self._process = None

    # ---- what it is started with

    def _configure(self, mode: Literal["fork", "spawn"], seen: Probe | None) -> ServerConfig:
        loaded = seen.loaded if seen is not None else None
        fork = mode == "fork"
        path = sys.path if self._spec.sys_path is None else self._spec.sys_path
        return ServerConfig(
            runner=os.getpid(),
            mode=mode,
            sys_path=tuple(os.path.abspath(entry) for entry in path),
            preload=self._spec.preload if fork else (),
            warm_up=self._spec.warm_up if fork else "",
            installed=loaded.installed if loaded is not None and fork else (),
            user=loaded.user if loaded is not None else (),
            sentinels=self._sentinels(),
            slots=self._spec.slots,
            scratch=self._scratch or "",
            import_seconds=min(self._spec.import_seconds, 60.0) if fork else self._spec.import_seconds,
        )

    def _load_payload(self) -> Any:
        if self._spec.load_payload is not None:
            return self._spec.load_payload
        return {"file": None if self._spec.entry_file is None else os.path.abspath(self._spec.entry_file)}

    def _sentinels(self) -> dict[str, str]:
        if not hasattr(self, "_values"):
            self._values = {name: f"passhat-sentinel-{secrets.token_hex(8)}" for name in self._spec.sentinels}
        return self._values

    def _import_environ(self) -> dict[str, str]:
        return {**self._spec.environ, **self._sentinels(), MARKER: self._marker}

    def _import_job(self, entry: str, payload: Any, seconds: float) -> Job:
        limits = ProcessLimits(seconds=seconds, output_bytes=1 << 30)
        return Job(entry=entry, payload=payload, environ=self._import_environ(), limits=limits)
