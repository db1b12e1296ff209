"""One gateway for a file of tests, and a provider made of a bare socket that does whatever a test wants."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from passhat.gateway import Gateway

Play = Callable[["Connection"], Awaitable[None]]


class Connection:
    """One request at the provider, and the events around it in the order in which they happened."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seen: list[str]) -> None:
        self.reader = reader
        self.writer = writer
        self.seen = seen
        self.line = ""
        self.headers: dict[str, str] = {}
        self.body = b""

    async def read(self) -> None:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        self.line = head[0]
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        self.body = await self.reader.readexactly(int(self.headers.get("content-length", "0")))

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def json(self, body: bytes, status: str = "200 OK", more: str = "") -> None:
        head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{more}content-length: {len(body)}\r\n\r\n"
        await self.send(head.encode() + body)

    async def start_stream(self) -> None:
        await self.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")

    async def chunk(self, data: bytes) -> None:
        await self.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    async def end_stream(self) -> None:
        await self.send(b"0\r\n\r\n")

    async def until_left(self) -> None:
        """Wait until the other side has closed, and note it."""
        with contextlib.suppress(ConnectionError):
            await self.reader.read(1)
        self.seen.append("upstream saw the end")


class Provider:
    """Serves ``play`` on loopback, one connection after the other; ``requests`` are those that arrived."""

    def __init__(self) -> None:
        self.requests: list[Connection] = []
        self.seen: list[str] = []
        self.arrived = threading.Event()
        self.left = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._play: Play = lambda connection: connection.json(b"{}")
        self._server = self._call(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.base_url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    def plays(self, play: Play) -> Provider:
        self._play = play
        return self

    def _call(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                connection = Connection(reader, writer, self.seen)
                try:
                    await connection.read()
                except (asyncio.IncompleteReadError, ConnectionError):
                    return
                self.requests.append(connection)
                self.arrived.set()
                await self._play(connection)
        except (ConnectionError, asyncio.CancelledError):
            pass  # the other side has left, or the test is over
        finally:
            if "upstream saw the end" in self.seen:
                self.left.set()
            writer.transport.abort()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._server.close)
        self._call(_cancel_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


async def _cancel_all() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    with Gateway() as gateway:
        yield gateway


@pytest.fixture
def socket_provider(provider_maker: Callable[[], Provider]) -> Provider:
    """The same under a name of its own, where a test has another provider."""
    return provider_maker()


@pytest.fixture
def provider_maker() -> Iterator[Callable[[], Provider]]:
    made: list[Provider] = []

    def make() -> Provider:
        made.append(Provider())
        return made[-1]

    yield make
    for provider in made:
        provider.stop()


@pytest.fixture
def provider(provider_maker: Callable[[], Provider]) -> Provider:
    return provider_maker()
