"""Breaking a connection on purpose, which ASGI has no words for."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

TRANSPORT = "passhat.transport"


class ResettingProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with the connection's transport within the application's reach."""

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self.scope["extensions"] = {TRANSPORT: self.transport}  # type: ignore[dict-item]


def reset(transport: asyncio.Transport) -> None:
    """Close a connection with a reset instead of an orderly end."""
    connection = transport.get_extra_info("socket")
    if connection is not None:
        with contextlib.suppress(OSError):  # the other side was faster
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
