"""What the runner tells the fork server at its start, and what the server answers."""

from __future__ import annotations

from typing import Literal

import msgspec

from passhat.isolation._certain import Certain
from passhat.isolation._snapshot import Snapshot, UserModule


class ServerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a fork server needs; it never reads the user's files.

    With ``certain`` it isn't known yet what the user's code imports: the server has ready what is certain, and gets a
    whole configuration once a fork of it has imported that code.
    """

    runner: int  # pid
    mode: Literal["fork", "spawn"] = "fork"
    sys_path: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    warm_up: str = ""
    certain: Certain | None = None
    installed: tuple[str, ...] = ()
    user: tuple[UserModule, ...] = ()
    since: int = 0  # when it was learned what the user's code is, in nanoseconds since the epoch; 0: not yet
    then: dict[str, dict[str, str]] = {}  # what could be imported at that time: `Importable`
    suspect: bool = False
    sentinels: dict[str, str] = {}
    slots: int = 1
    processors: tuple[int, ...] = ()  # that the run may use; empty: whatever it has
    scratch: str = ""
    import_seconds: float = 60.0

    def snapshot(self) -> Snapshot:
        """The user's code, compiled."""
        own = (self.scratch,) if self.scratch else ()
        return Snapshot(self.user, since=self.since, own=own, path=self.sys_path, then=self.then)


class ServerReady(msgspec.Struct, frozen=True, kw_only=True):
    """The server is up. ``dirty`` says why it must not be forked after all."""

    modules: int = 0
    left_out: dict[str, str] = {}
    dirty: tuple[str, ...] = ()
    overlay: dict[str, str | None] = {}
