"""The loopback server: a thread with an event loop, and a bare ASGI shell over the core."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import uvicorn

from passhat.gateway._clock import Clock
from passhat.gateway._connections import Connections
from passhat.gateway._errors import GatewayError
from passhat.gateway._exchange import Pending
from passhat.gateway._http import HttpReply, HttpRequest
from passhat.gateway._relay import Relay
from passhat.gateway._relaying import Relaying
from passhat.gateway._reset import TRANSPORT, ResettingProtocol, reset
from passhat.gateway._server_thread import ServerThread
from passhat.gateway._transports import computed_async

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Core = Callable[[HttpRequest], HttpReply | Pending | Relaying]
_START = "http.response.start"
_BODY = "http.response.body"
_IDLE_SECONDS = 75  # well over what clients keep a connection for, so that they close it and not we


class Server:
    """Serves a core on 127.0.0.1, on a thread of its own. ``port`` 0 takes a free one."""

    def __init__(self, core: Core, clock: Clock, port: int = 0) -> None:
        self._core = core
        self._clock = clock
        self._socket = _listen(port)
        self.base_url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._relay = Relay(clock, self.base_url)
        self._connections = Connections()
        self._thread = ServerThread(target=self._run, name="passhat-gateway", daemon=True)
        self._ready = threading.Event()
        self._server: _Uvicorn | None = None
        self._failure: BaseException | None = None
        self.loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Start, and return when requests are answered."""
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            raise GatewayError(f"the gateway's server didn't start: {self._failure}") from self._failure

    def stop(self) -> None:
        """Stop and join the thread; requests in flight are cancelled."""
        loop, server = self.loop, self._server
        if loop is not None and server is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended by itself
                loop.call_soon_threadsafe(server.end.set)
        self._thread.join(timeout=10)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # reported by start()
            self._failure = error
        finally:
            self._ready.set()
            self._socket.close()

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        config = uvicorn.Config(
            self._app,
            http=ResettingProtocol.counted_in(self._connections),
            backlog=self._connections.at_once,
            ws="none",
            lifespan="off",
            log_config=None,
            interface="asgi3",
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=_IDLE_SECONDS,
        )
        self._server = _Uvicorn(config, self._ready)
        try:
            await self._server.live([self._socket])
        finally:
            await self._relay.close()

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            with self._connections.request(_identity(scope)) as there_is_room:
                await self._answer(scope, receive, send, crowded=not there_is_room)
        except asyncio.CancelledError:  # only when the server stops
            scope["extensions"][TRANSPORT].abort()
            await asyncio.sleep(0)  # uvicorn learns that the connection is gone, and doesn't miss an answer

    async def _answer(self, scope: Scope, receive: Receive, send: Send, *, crowded: bool) -> None:
        body = b"" if crowded else await _read_body(receive)
        if body is None:
            return
        http = HttpRequest(
            scope["method"],
            scope["path"],
            {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]},
            body,
            scope["query_string"].decode("latin-1"),
            scope["raw_path"].decode("latin-1"),
            crowded,
        )
        step = self._core(http)
        if isinstance(step, Pending):
            step = await computed_async(step)
        elif isinstance(step, Relaying):
            spoiled = await self._relay.run(step, scope, receive, send)
            if spoiled is None:
                return
            step = spoiled
        if step.ending == "clean" and not step.paced:
            await _send_at_once(step, send)
        else:
            await _send_paced(step, scope, receive, send, self._clock)


class _Uvicorn(uvicorn.Server):
    """uvicorn's server, told to end by an event instead of looking for it ten times a second.

    It says nothing of its life: whoever configures uvicorn's loggers does it for a server of their own.
    """

    def __init__(self, config: uvicorn.Config, ready: threading.Event) -> None:
        super().__init__(config)
        self.end = asyncio.Event()
        self._ready = ready

    async def live(self, sockets: list[socket.socket]) -> None:
        """Serve, from the first step to the last."""
        self.config.load()
        self.lifespan = self.config.lifespan_class(self.config)
        await self.startup(sockets=sockets)
        self._ready.set()
        await self.end.wait()
        await self.shutdown(sockets=sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close everything now: whoever stops the gateway has revoked its sessions."""
        for server in self.servers:
            server.close()
        for task in list(self.server_state.tasks):
            task.cancel()
        if self.server_state.tasks:
            await asyncio.wait(list(self.server_state.tasks), timeout=2)
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await asyncio.sleep(0)
        for connection in list(self.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()
        for listening in sockets or []:
            listening.close()
        await asyncio.sleep(0)


def _identity(scope: Scope) -> str:
    """What tells the clients of a request apart: the key that it came with, however it is written."""
    given = {name: value for name, value in scope["headers"] if name in (b"authorization", b"x-api-key")}
    return (given.get(b"authorization") or given.get(b"x-api-key") or b"").decode("latin-1")


def _listen(port: int) -> socket.socket:
    # asyncio sets TCP_NODELAY only where the protocol is named: without it every answer waits for a delayed ACK
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
    except OSError as error:
        listening.close()
        raise GatewayError(f"can't listen on 127.0.0.1:{port}: {error.strerror}; use another port, or 0") from error
    listening.listen(2048)
    return listening


async def _read_body(receive: Receive) -> bytes | None:
    """The whole body; None when the client left before it was sent."""
    message = await receive()
    if message["type"] != "http.request":
        return None
    if not message.get("more_body"):
        return message.get("body", b"")  # type: ignore[no-any-return]
    pieces = [message.get("body", b"")]
    while message.get("more_body"):
        message = await receive()
        if message["type"] != "http.request":
            return None
        pieces.append(message.get("body", b""))
    return b"".join(pieces)


def _head(reply: HttpReply) -> dict[str, Any]:
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in reply.all_headers()]
    return {"type": _START, "status": reply.status, "headers": headers}


async def _send_at_once(reply: HttpReply, send: Send) -> None:
    await send(_head(reply))
    await send({"type": _BODY, "body": b"".join(reply.chunks), "more_body": False})
    reply.finish()


async def _send_paced(reply: HttpReply, scope: Scope, receive: Receive, send: Send, clock: Clock) -> None:
    """Send in time, and stop when the client leaves."""
    leave = asyncio.create_task(_left(receive))
    pump = asyncio.create_task(_pump(reply, scope, send, clock))
    try:
        await asyncio.wait({leave, pump}, return_when=asyncio.FIRST_COMPLETED)
        if not pump.done():
            reply.finish(None, "the client closed the connection before the answer was complete")
        elif reply.ending != "clean":
            await leave
    finally:
        for task in (leave, pump):
            task.cancel()
        await asyncio.gather(leave, pump, return_exceptions=True)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _pump(reply: HttpReply, scope: Scope, send: Send, clock: Clock) -> None:
    waited = 0.0
    if reply.first_delay:
        await clock.sleep_async(reply.first_delay)
        waited = reply.first_delay
    if reply.ending == "reset" and not reply.chunks:
        reply.finish(None, None)
        reset(scope["extensions"][TRANSPORT])
        return
    await send(_head(reply))
    last = len(reply.chunks) - 1
    for index, chunk in enumerate(reply.chunks):
        if index and reply.gap:
            await clock.sleep_async(reply.gap)
        if index == last and reply.ending == "clean":
            reply.finish(waited if reply.streamed else None)
        await send({"type": _BODY, "body": chunk, "more_body": True})
    if reply.ending == "clean":
        reply.finish(waited if reply.streamed else None)
        await send({"type": _BODY, "body": b"", "more_body": False})
        return
    reply.finish(waited if reply.streamed else None)
    transport = scope["extensions"][TRANSPORT]
    if reply.ending == "reset":
        reset(transport)
    else:
        transport.close()
