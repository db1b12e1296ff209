"""What a fork server is asked for, and what came of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from passhat.facts import ErrorInfo
from passhat.isolation._capabilities import IsolationError
from passhat.isolation._contract import Ended


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
    where that is safe, else starts a fresh interpreter a job. ``since``, if given, is when the code began
    to count as it is, in nanoseconds since the epoch (see `LateImports`), else the start; ``then`` is what could be
    imported at that time (see `Importable`), beside what can be at the start. Other times are in seconds.
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
    since: int = 0
    then: dict[str, dict[str, str]] = {}
    import_seconds: float = 120.0
    rehearsal_seconds: float = 10.0


class ServerReport(msgspec.Struct, frozen=True, kw_only=True):
    """What kind of isolation came about: ``mode`` is "process" (forks of a warm server) or "spawn", and the ``reason``.

    ``files`` maps the user's files in the snapshot to their SHA-256, ``then`` has all that could be imported (see
    `Importable`). ``left_out`` are the installed packages that each
    job imports anew, with the reason; ``unreadable`` user modules without Python source. ``containment`` and ``guard``
    are for the manifest; ``seccomp`` is what it is in `Capabilities`. ``start_seconds`` is how long the start took.
    """

    mode: Literal["process", "spawn"]
    reason: str = ""
    containment: str = "proved"
    guard: bool = False
    seccomp: bool = False
    files: dict[str, str] = {}
    then: dict[str, dict[str, str]] = {}
    left_out: dict[str, str] = {}
    unreadable: tuple[str, ...] = ()
    hazards: tuple[str, ...] = ()
    modules: int = 0
    start_seconds: float = 0.0
