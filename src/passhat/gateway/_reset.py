"""A client's connection: counted, and broken on purpose, which ASGI has no words for."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from functools import partial
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from passhat.gateway._connections import Connections

TRANSPORT = "passhat.transport"


class ResettingProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with the connection's transport within the application's reach; it counts itself."""

    def __init__(self, *args: Any, counted: Connections, **options: Any) -> None:
        super().__init__(*args, **options)
        self.access_log = False
        self._counted = counted

    @classmethod
    def counted_in(cls, connections: Connections) -> Any:
        """The protocol for a server."""
        return partial(cls, counted=connections)

    @property
    def idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def drop(self) -> None:
        """End the connection at once."""
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to count."""
        super().connection_made(transport)
        self._counted.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Count no longer."""
        self._counted.closed(self)
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._counted.used(self)
        self.scope["extensions"] = {TRANSPORT: self.transport}  # type: ignore[dict-item]


def reset(transport: asyncio.Transport) -> None:
    """Close a connection with a reset instead of an orderly end."""
    connection = transport.get_extra_info("socket")
    if connection is not None:
        with contextlib.suppress(OSError):  # the other side was faster
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
