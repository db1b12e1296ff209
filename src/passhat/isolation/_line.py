"""The runner's end of a line to a supervisor, on the event loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from passhat.isolation._frames import BadFrame, Framing, Kind


class Line(asyncio.Protocol):
    """Cuts what arrives into messages and hands them on; tells once when the other end is gone."""

    def __init__(self, on_message: Callable[[Kind, bytes], None], on_lost: Callable[[], None]) -> None:
        self._on_message = on_message
        self._on_lost = on_lost
        self._framing = Framing()
        self._transport: asyncio.Transport | None = None
        self.lost = False

    @classmethod
    async def open(
        cls, sock: socket.socket, on_message: Callable[[Kind, bytes], None], on_lost: Callable[[], None]
    ) -> Line:
        """Use a connected stream socket, which belongs to the line from now on."""
        loop = asyncio.get_running_loop()
        _, line = await loop.create_unix_connection(lambda: cls(on_message, on_lost), sock=sock)
        return line

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        try:
            for kind, body in self._framing.feed(data):
                self._on_message(kind, body)
        except BadFrame:
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.lost:
            self.lost = True
            self._on_lost()

    def send(self, kind: Kind, body: bytes = b"") -> None:
        """Queue a message."""
        if self._transport is not None and not self.lost:
            self._transport.write(self._framing.pack(kind, body))

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()
