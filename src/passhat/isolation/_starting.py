"""From the user's file to a server of trials: what its import does is learned first, in a process thrown away.

Mostly one interpreter is enough: the server has ready what the file is certain to import, and a fork of it imports the
file and tells what else that took. Where that doesn't work, for whatever reason, a fresh interpreter imports the file,
and a server is started with what it has told, package by package if need be; where even that can't be forked, each
job gets a fresh interpreter.
"""

from __future__ import annotations

import os
import secrets
import sys
import time
from functools import cached_property
from typing import Any, Literal, NamedTuple

import msgspec

from passhat.isolation._capabilities import IsolationError
from passhat.isolation._certain import Certain, certain_imports
from passhat.isolation._config import ServerConfig, ServerReady
from passhat.isolation._contract import Ended, Job, ProcessLimits
from passhat.isolation._environ import MARKER
from passhat.isolation._fork_server import ServerProcess
from passhat.isolation._importable import hashed, list_importable, united
from passhat.isolation._probe import Probe
from passhat.isolation._processors import processors
from passhat.isolation._slot import Slot
from passhat.isolation._snapshot import ModuleKinds
from passhat.isolation._spec import ImportFailed, ServerReport, ServerSpec


class Started(NamedTuple):
    """A server that runs, what it is started with again should it die, and a slot that is ready for use, if any."""

    process: ServerProcess
    config: ServerConfig
    report: ServerReport
    spare: Slot | None = None


class _Unfit(Exception):
    """This way leads to no server that can be forked; the message says why. ``ready`` is what the server said last."""

    def __init__(self, reason: str, ready: ServerReady | None = None, *, dirty: bool = False) -> None:
        super().__init__(reason)
        self.ready = ready or ServerReady()
        self.dirty = dirty


class Start:
    """One start of a server. What doesn't come to be used is ended before a call returns."""

    def __init__(self, spec: ServerSpec, marker: str, scratch: str) -> None:
        self._spec = spec
        self._marker = marker
        self._scratch = scratch
        self._process: ServerProcess | None = None
        self._then: dict[str, dict[str, str]] | None = None
        self.doing = "starting a process for the suite"

    async def proved(self) -> Started:
        """Raises `ImportFailed` when the user's code can't be imported, `IsolationError` when no server starts."""
        try:
            dirty = False
            if self._spec.mode != "spawn":
                try:
                    return await self._at_once()
                except (_Unfit, IsolationError) as error:
                    dirty = isinstance(error, _Unfit) and error.dirty
                    await self._stop()
            return await self._after_a_probe(suspect=dirty)
        except BaseException:
            await self._stop()
            raise

    async def again(self, config: ServerConfig) -> ServerProcess:
        """A server like one that has died."""
        process = ServerProcess(config, self.environ, self._marker)
        await process.start(self._patience(config))
        return process

    # ---- one interpreter

    async def _at_once(self) -> Started:
        config = self.configured("fork", certain=certain_imports(self._spec.entry_file, self._path))
        process, ready = await self._launch(config)
        if ready.dirty:
            raise _Unfit("; ".join(ready.dirty), dirty=True)
        seconds = min(self._spec.rehearsal_seconds, self._spec.import_seconds)
        seen = _probed(await self._try_out(await process.slot(), seconds))
        if isinstance(seen, str):
            raise _Unfit(seen)
        config = self.configured("fork", seen)
        self.doing = "importing the packages that the suite needs, in the server of processes"
        ready = await process.complete(config, self._patience(config))
        if ready.dirty:
            raise _Unfit("; ".join(ready.dirty), dirty=True)
        return await self._rehearsed(process, config, ready, seen)

    # ---- a probe, then a server

    async def _after_a_probe(self, *, suspect: bool) -> Started:
        process, _ = await self._launch(self.configured("spawn"))
        ended = await self._try_out(await process.slot(), self._spec.import_seconds)
        await self._stop()
        seen = _probed(ended)
        if isinstance(seen, str):
            if ended.kind == "returned":  # the user's code has sent something in its place
                raise ImportFailed(f"what importing the suite has told can't be read: {seen}", ended)
            what = os.fspath(self._spec.entry_file or "the suite")
            raise ImportFailed(f"{what} can't be imported in a fresh interpreter: {seen}", ended)
        report = _report(seen, "spawn", reason="asked for", then=self.then(seen))
        if self._spec.mode != "spawn":
            try:
                return await self._warm(seen, suspect=suspect or seen.suspect)
            except (_Unfit, IsolationError) as error:
                await self._stop()
                if self._spec.mode == "fork":
                    why = f"a warm server can't be forked: {error}"
                    raise IsolationError(f"{why}; use mode='auto' or 'spawn'") from None
                left_out = error.ready.left_out if isinstance(error, _Unfit) else {}
                report = msgspec.structs.replace(report, reason=str(error), left_out=left_out)
        config = self.configured("spawn", seen)
        process, _ = await self._launch(config)
        return Started(process, config, report)

    async def _warm(self, seen: Probe, *, suspect: bool) -> Started:
        ready = ServerReady()
        for careful in (True,) if suspect else (False, True):
            config = msgspec.structs.replace(self.configured("fork", seen), suspect=careful)
            process, ready = await self._launch(config)
            if not ready.dirty:
                return await self._rehearsed(process, config, ready, seen)
            await self._stop()
        raise _Unfit("the server holds " + "; ".join(ready.dirty), ready)

    async def _rehearsed(
        self, process: ServerProcess, config: ServerConfig, ready: ServerReady, seen: Probe
    ) -> Started:
        """The server with its first slot, in which the user's code has been imported once more."""
        self.doing = "importing the suite once more, in a fork"
        slot = await process.slot()
        ended = await slot.run(self._job(self._spec.loader, self._load_payload, self._spec.rehearsal_seconds))
        if ended.kind != "returned":
            await slot.close()
            raise _Unfit(f"importing the suite in a fork of the warm server failed ({ended.reason})", ready)
        report = _report(seen, "process", left_out=ready.left_out, modules=ready.modules, then=self.then(seen))
        return Started(process, config, report, slot)

    # ---- processes

    async def _launch(self, config: ServerConfig) -> tuple[ServerProcess, ServerReady]:
        self.doing = f"starting a server of processes, for at most {self._patience(config):g} s"
        process = self._process = ServerProcess(config, self.environ, self._marker)
        return process, await process.start(self._patience(config))

    async def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await process.close()

    async def _try_out(self, slot: Slot, seconds: float) -> Ended:
        """Import the user's code, and look around."""
        self.doing = f"importing {os.fspath(self._spec.entry_file or 'the suite')}, for at most {seconds:g} s"
        payload = {
            "loader": self._spec.loader,
            "payload": self._load_payload,
            "sentinels": self._sentinels,
            "since": self._spec.since,
        }
        try:
            return await slot.run(self._job("passhat.isolation._probe:probe", payload, seconds))
        finally:
            await slot.close()

    def _job(self, entry: str, payload: Any, seconds: float) -> Job:
        limits = ProcessLimits(seconds=seconds, output_bytes=1 << 30)
        return Job(entry=entry, payload=payload, environ=self.environ, limits=limits)

    def _patience(self, config: ServerConfig) -> float:
        """Seconds that the server may take to import; where it sends scouts, each package may take that long."""
        packages = len({name.partition(".")[0] for name in config.installed})
        return config.import_seconds * (1 + (packages if config.suspect else 0))

    # ---- what they are started with

    @cached_property
    def environ(self) -> dict[str, str]:
        """The environment of the server and of imports."""
        return {**self._spec.environ, **self._sentinels, MARKER: self._marker}

    @cached_property
    def _sentinels(self) -> dict[str, str]:
        return {name: f"passhat-sentinel-{secrets.token_hex(8)}" for name in self._spec.sentinels}

    @cached_property
    def _processors(self) -> tuple[int, ...]:
        return processors()  # once: a server that is started again is not to inherit what a trial may have done

    @cached_property
    def _since(self) -> int:
        return self._spec.since or time.time_ns()

    def then(self, seen: Probe | None = None) -> dict[str, dict[str, str]]:
        """What could be imported when the run began: taken down once, before its first trial."""
        if self._then is None:
            entry = self._spec.entry_file
            own = [] if entry is None else [os.path.dirname(os.path.abspath(entry))]
            kinds = ModuleKinds()
            roots = [
                place
                for place in (*self._path, *(() if seen is None else seen.path))
                if not kinds.is_installed(os.path.join(place, ""))
            ]
            self._then = united(hashed(list_importable([*own, *roots]), self._spec.since), self._spec.then)
        return self._then

    @cached_property
    def _path(self) -> tuple[str, ...]:
        path = sys.path if self._spec.sys_path is None else self._spec.sys_path
        return tuple(ModuleKinds().stdlib_first([os.path.abspath(entry) for entry in path]))

    @cached_property
    def _load_payload(self) -> Any:
        if self._spec.load_payload is not None:
            return self._spec.load_payload
        return {"file": None if self._spec.entry_file is None else os.path.abspath(self._spec.entry_file)}

    def configured(
        self, mode: Literal["fork", "spawn"], seen: Probe | None = None, *, certain: Certain | None = None
    ) -> ServerConfig:
        """What a server is told, with what was seen of the import so far."""
        loaded = seen.loaded if seen is not None else None
        fork = mode == "fork"
        return ServerConfig(
            runner=os.getpid(),
            mode=mode,
            sys_path=self._path,
            preload=self._spec.preload if fork else (),
            warm_up=self._spec.warm_up if fork else "",
            certain=certain,
            installed=loaded.installed if loaded is not None and fork else (),
            user=loaded.user if loaded is not None else (),
            since=self._since if seen is not None else 0,
            then=self.then(seen) if seen is not None else {},
            suspect=seen is not None and seen.suspect,
            sentinels=self._sentinels,
            slots=self._spec.slots,
            processors=self._processors,
            scratch=self._scratch,
            import_seconds=min(self._spec.import_seconds, 60.0) if fork else self._spec.import_seconds,
        )


def _probed(ended: Ended) -> Probe | str:
    """What was seen, or why nothing was."""
    if ended.kind != "returned":
        return ended.reason
    try:
        return msgspec.convert(ended.result, Probe)
    except ValueError as error:
        return str(error)


def _report(seen: Probe, mode: Literal["process", "spawn"], **more: Any) -> ServerReport:
    loaded = seen.loaded
    return ServerReport(mode=mode, files=loaded.files, unreadable=loaded.unreadable, hazards=seen.hazards, **more)
