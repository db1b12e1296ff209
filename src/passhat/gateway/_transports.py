"""The double without a socket: transports for httpx2 and httpx, plain and async, over the same core as the server.

Scripts, simulations and replays only: what must reach a provider needs the server's loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from passhat.gateway._errors import GatewayError
from passhat.gateway._exchange import Pending
from passhat.gateway._http import HttpReply, HttpRequest

if TYPE_CHECKING:
    from passhat.gateway._clock import Clock

T = TypeVar("T")
Core = Callable[[HttpRequest], Any]
OnLoop = Callable[[Coroutine[Any, Any, T]], T]
_LEFT = "the client closed the connection before the answer was complete"


def sync_transport(library: str, core: Core, key: str, clock: Clock, on_loop: OnLoop[Any]) -> Any:
    """A ``BaseTransport`` of the library ("httpx2" or "httpx")."""
    module = _module(library)

    class Stream(module.SyncByteStream):  # type: ignore[misc, name-defined]
        def __init__(self, reply: HttpReply) -> None:
            self._reply = reply
            self._chunks = _paced(reply)

        def __iter__(self) -> Iterator[bytes]:
            for seconds, chunk in self._chunks:
                if seconds:
                    clock.sleep(seconds)
                yield chunk
            _end(module, self._reply)

        def close(self) -> None:
            self._reply.finish(None, _LEFT)

    class Transport(module.BaseTransport):  # type: ignore[misc, name-defined]
        def handle_request(self, request: Any) -> Any:
            step = core(_request(request, request.read(), key))
            if isinstance(step, Pending):
                step = _computed(step, on_loop)
            reply = _checked(module, step)
            return module.Response(reply.status, headers=reply.all_headers(), stream=Stream(reply))

    return Transport()


def async_transport(library: str, core: Core, key: str, clock: Clock) -> Any:
    """An ``AsyncBaseTransport`` of the library ("httpx2" or "httpx")."""
    module = _module(library)

    class Stream(module.AsyncByteStream):  # type: ignore[misc, name-defined]
        def __init__(self, reply: HttpReply) -> None:
            self._reply = reply
            self._chunks = _paced(reply)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for seconds, chunk in self._chunks:
                if seconds:
                    await clock.sleep_async(seconds)
                yield chunk
            _end(module, self._reply)

        async def aclose(self) -> None:
            self._reply.finish(None, _LEFT)

    class Transport(module.AsyncBaseTransport):  # type: ignore[misc, name-defined]
        async def handle_async_request(self, request: Any) -> Any:
            step = core(_request(request, await request.aread(), key))
            if isinstance(step, Pending):
                step = await computed_async(step)
            reply = _checked(module, step)
            return module.Response(reply.status, headers=reply.all_headers(), stream=Stream(reply))

    return Transport()


async def computed_async(step: Pending) -> HttpReply:
    """The answer of a script's function: awaited here when async, else run in a thread so that no one waits for it."""
    try:
        if step.work.asynchronous:
            return step.value(await step.work.call())
        return step.value(await _in_thread(step.work.call))
    except Exception as error:
        return step.error(error)


async def _in_thread(function: Callable[[], T]) -> T:
    """Call a function in a thread of its own: however many are slow, no one waits, and none keeps the process alive."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)  # type: ignore[arg-type]  # None is what the function returned

    def run() -> None:
        value: T | None = None
        problem: BaseException | None = None
        try:
            value = function()
        except BaseException as error:  # handed to who waits
            problem = error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__}: {error}")
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(settle, value, problem)

    threading.Thread(target=run, name="passhat-script", daemon=True).start()
    return await future


def _computed(step: Pending, on_loop: OnLoop[Any]) -> HttpReply:
    if step.work.asynchronous:
        reply: HttpReply = on_loop(computed_async(step))
        return reply
    try:
        return step.value(step.work.call())
    except Exception as error:
        return step.error(error)


def _module(library: str) -> Any:
    if library not in ("httpx2", "httpx"):
        raise ValueError(f"library={library!r}: transports are made for 'httpx2' and 'httpx'")
    return importlib.import_module(library)


def _request(request: Any, body: bytes, key: str) -> HttpRequest:
    """The client's request; whatever key it has, the transport's session is meant."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    headers.pop("x-api-key", None)
    headers["authorization"] = f"Bearer {key}"
    return HttpRequest(request.method, request.url.path, headers, body, request.url.query.decode("latin-1"))


def _checked(module: Any, step: Any) -> HttpReply:
    if not isinstance(step, HttpReply):
        raise GatewayError(
            "a transport can't forward to a provider: give the client session.access instead, which leads to the server"
        )
    if step.ending == "reset" and not step.chunks:
        step.finish(None, None)
        raise module.ReadError("[Errno 104] Connection reset by peer")
    return step


def _paced(reply: HttpReply) -> Iterator[tuple[float, bytes]]:
    """The chunks, each with the seconds to wait before it; an iterator, so that a second pass ends at once."""
    last = len(reply.chunks) - 1
    for index, chunk in enumerate(reply.chunks):
        if index == last:
            reply.finish(reply.first_delay if reply.streamed else None)
        yield (reply.gap if index else reply.first_delay), chunk


def _end(module: Any, reply: HttpReply) -> None:
    if reply.ending == "broken":
        raise module.RemoteProtocolError(
            "peer closed connection without sending complete message body (incomplete chunked read)"
        )
    if reply.ending == "reset":
        raise module.ReadError("[Errno 104] Connection reset by peer")
