"""How many connections there may be: what one client opens must not be what nobody else can have."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Protocol

MOST_AT_ONCE = 256
"""Requests of one key that are being answered at the same time; one more is refused, and can be tried again."""

_MOST = 4096
_FEWEST = 64


class Connection(Protocol):
    """A client's connection. One that is idle has no request that is being answered."""

    @property
    def idle(self) -> bool: ...

    def drop(self) -> None:
        """End it at once."""


def descriptors() -> int:
    """How many files this process may have open."""
    try:
        import resource
    except ImportError:  # Windows, whose sockets aren't files
        return 2 * _MOST
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 2 * _MOST if soft == resource.RLIM_INFINITY else int(soft)


class Connections:
    """The open connections of a server, in the order in which they were last used, and the requests on them by key."""

    def __init__(self, files: int | None = None) -> None:
        """``files`` is how many the process may have open: half of them is left for everything else."""
        files = descriptors() if files is None else files
        self.most = max(_FEWEST, min(_MOST, files // 2))
        self.at_once = max(_FEWEST, min(2 * _MOST, files // 8))  # that may be accepted before the first is counted
        self._open: dict[Connection, None] = {}
        self._running: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._open)

    def opened(self, connection: Connection) -> None:
        """Count a new connection. Where there are too many, the one that was idle for longest is dropped: itself, if
        all others are being answered."""
        self._open[connection] = None
        if len(self._open) > self.most:
            idle = next((each for each in self._open if each.idle), connection)
            self.closed(idle)
            idle.drop()

    def used(self, connection: Connection) -> None:
        """A request has come on a connection."""
        if connection in self._open:
            del self._open[connection]
            self._open[connection] = None

    def closed(self, connection: Connection) -> None:
        """Count it no longer."""
        self._open.pop(connection, None)

    @contextlib.contextmanager
    def request(self, key: str) -> Iterator[bool]:
        """While a request with this key is answered; False when there are too many of it."""
        self._running[key] += 1
        try:
            yield self._running[key] <= MOST_AT_ONCE
        finally:
            self._running[key] -= 1
            if not self._running[key]:
                del self._running[key]
