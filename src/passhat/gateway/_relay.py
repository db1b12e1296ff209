"""Passing a request on: a pump moves the bytes, a watch waits for the client to leave; the first to end ends both."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2

from passhat.facts import Usage
from passhat.gateway._clock import Clock
from passhat.gateway._denied import Denied
from passhat.gateway._exchange import reply_of
from passhat.gateway._faults import needs_whole
from passhat.gateway._http import HttpReply
from passhat.gateway._relaying import Relaying
from passhat.gateway._reset import TRANSPORT
from passhat.gateway._tap import Tap, decode_event
from passhat.gateway._wires import bare
from passhat.gateway._wires._errors import NO_RETRY, provider_error
from passhat.gateway._wires._shape import Observed, part, text_of, whole_number

_HOP = {
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
_NOT_SENT = _HOP | {"host", "authorization", "x-api-key", "api-key", "content-length", "cookie", "expect"}
_NOT_SENT |= {"accept-encoding"}
_NOT_RETURNED = _HOP | {"content-length", "set-cookie", "date", "server"}
_TIMEOUT = httpx2.Timeout(600.0, connect=10.0)
_NO_LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
_CANCELLED = 499  # nobody is there to see it; the usual number for a client that left


class Relay:
    """Passes requests on, on the server's loop. Upstream clients are made on first use."""

    def __init__(self, clock: Clock, own_url: str) -> None:
        self._clock = clock
        self._own_url = own_url
        self._clients: dict[bool, httpx2.AsyncClient] = {}

    async def close(self) -> None:
        """Close the connections to providers."""
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()

    async def run(self, job: Relaying, scope: Any, receive: Any, send: Any) -> HttpReply | None:
        """Pass one request on and its answer back; an answer to send is returned where a fault goes into it."""
        loop = asyncio.get_running_loop()
        line = _Line(job, scope, send)
        pump = asyncio.create_task(self._pump(job, line))
        watch = asyncio.create_task(_left(receive))

        def cancel() -> None:
            loop.call_soon_threadsafe(pump.cancel)

        job.session.started(cancel)
        try:
            await asyncio.wait({pump, watch}, return_when=asyncio.FIRST_COMPLETED)
            left = not pump.done()
            pump.cancel()
            result = (await asyncio.gather(pump, return_exceptions=True))[0]
            if isinstance(result, asyncio.CancelledError):
                await line.cancelled("the client closed the connection" if left else "the trial is over", left)
            elif isinstance(result, BaseException):
                raise result
            if line.broken:
                await watch
            return line.spoiled
        finally:
            job.session.stopped(cancel)
            pump.cancel()
            watch.cancel()
            await asyncio.gather(pump, watch, return_exceptions=True)

    async def _pump(self, job: Relaying, line: _Line) -> None:
        upstream = job.remote.upstream
        fault = job.exchange.fault if job.exchange is not None else None
        if fault is not None and fault.kind == "slow_start":
            await self._clock.sleep_async(fault.seconds)
        headers = {name: value for name, value in job.http.headers.items() if name not in _NOT_SENT}
        headers |= {"accept-encoding": "identity", **upstream.auth()}
        client = self._client(upstream.local)
        url = upstream.url(bare(job.http.raw_path or job.http.path), job.http.query)
        if url.startswith(self._own_url + "/"):
            await line.unreachable(ValueError("that is this gateway itself, not a provider"))
            return
        try:
            request = client.build_request(job.http.method, url, headers=headers, content=job.remote.body)
            response = await client.send(request, stream=True)
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
            await line.unreachable(error)
            return
        try:
            kind = response.headers.get("content-type", "")
            if response.is_redirect:
                await line.unreachable(ValueError(f"it answered with a redirect to {response.headers.get('location')}"))
            elif kind.startswith("text/event-stream") and job.wire is not None and not needs_whole(fault):
                await line.stream(response)
            else:
                await line.whole(response)
        except httpx2.HTTPError as error:
            await line.broke(error)
        finally:
            await response.aclose()

    def _client(self, local: bool) -> httpx2.AsyncClient:
        if local not in self._clients:
            self._clients[local] = httpx2.AsyncClient(timeout=_TIMEOUT, limits=_NO_LIMITS, trust_env=not local)
        return self._clients[local]


class _Line:
    """The way back to the client: what was sent so far, and what was seen of the answer."""

    def __init__(self, job: Relaying, scope: Any, send: Any) -> None:
        self.broken = False
        self.spoiled: HttpReply | None = None
        self._job = job
        self._scope = scope
        self._send = send
        self._status: int | None = None
        self._tap: Tap | None = None
        self._first: float | None = None
        self._recorded = False

    async def stream(self, response: httpx2.Response) -> None:
        """Pass an event stream on as it comes."""
        job, wire = self._job, self._job.wire
        assert wire is not None
        keep = job.remote.keep is not None
        tap = self._tap = Tap(wire.watch(), hide_usage=job.remote.hide_usage, keep=keep)
        await self._start(response.status_code, _returned(response))
        async for raw in _bytes_of(response):
            if self._first is None:
                self._first = job.session.now() - job.at
            out = tap.feed(raw)
            if tap.watch.seen.complete:
                self._record_stream(tap)
            if out:
                await self._send({"type": "http.response.body", "body": out, "more_body": True})
        out = tap.rest()
        self._record_stream(tap)
        await self._send({"type": "http.response.body", "body": out, "more_body": False})

    async def whole(self, response: httpx2.Response) -> None:
        """Pass an answer on that is complete before its end matters to anyone."""
        job = self._job
        raw = b"".join([piece async for piece in _bytes_of(response)])
        streamed = response.headers.get("content-type", "").startswith("text/event-stream")
        reply = HttpReply(response.status_code, _returned(response), [raw], streamed=streamed)
        seen, error, events = self._read(reply, raw)
        if job.exchange is not None and needs_whole(job.exchange.fault) and seen.complete:
            self._recorded = True
            self.spoiled = job.exchange.answer(reply_of(job.priced(seen)))
            return
        if job.exchange is not None and needs_whole(job.exchange.fault):
            job.exchange.fault = None  # an error of the provider's own is left as it is
        if job.remote.keep is not None and (reply.status != 200 or seen.complete):
            job.remote.keep(reply.status, None if events is not None else decode_event(raw), events)
        self._record(seen, status=reply.status, error=error)
        if job.exchange is not None and reply.status >= 400:
            job.session.denied = Denied.of(job.remote.upstream, reply.status, decode_event(raw))
        await self._start(reply.status, reply.all_headers())
        await self._send({"type": "http.response.body", "body": raw, "more_body": False})

    def _read(self, reply: HttpReply, raw: bytes) -> tuple[Observed, str | None, list[Any] | None]:
        """What a complete answer says, its error, and its events if it has any."""
        wire = self._job.wire
        if reply.streamed and wire is not None:
            tap = Tap(wire.watch(), keep=True)
            tap.feed(raw)
            tap.rest()
            tap.watch.partial()
            return tap.watch.seen, tap.watch.seen.error, tap.events
        body = decode_event(raw)
        if reply.status >= 400:
            problem = part(body, "error")
            text = text_of(part(problem, "message") or problem or body)[:500]
            return Observed(usage=_nothing(reply.status)), text or f"status {reply.status}", None
        if wire is not None:
            return wire.read(body), None, None
        return _other(body), None, None

    async def unreachable(self, error: Exception) -> None:
        """Nothing came back from the provider."""
        upstream = self._job.remote.upstream
        text = f"{upstream.provider} at {upstream.base_url} can't be reached: {type(error).__name__}: {error}"
        self._record(Observed(usage=_nothing(502)), status=502, error=text)
        await self._error(502, text, {})

    async def broke(self, error: Exception) -> None:
        """The provider's answer broke off: so does ours."""
        text = f"the provider's answer broke off: {type(error).__name__}: {error}"
        self._record(self._partial(), status=502, error=text)
        if self._status is None:
            await self._error(502, text, {})
        else:
            self.broken = True
            self._scope["extensions"][TRANSPORT].close()

    async def cancelled(self, reason: str, left: bool) -> None:
        """The client or the trial ended first; what was used so far is unknown."""
        self._record(self._partial(), status=self._status or _CANCELLED, error=reason)
        if left:
            return
        if self._status is None:
            await self._error(401, f"{reason}: the call was cancelled", NO_RETRY)
        else:
            self.broken = True
            self._scope["extensions"][TRANSPORT].close()

    def _partial(self) -> Observed:
        if self._tap is None:
            return Observed()
        self._tap.watch.partial()
        seen = self._tap.watch.seen
        seen.usage = Usage()
        return seen

    def _record_stream(self, tap: Tap) -> None:
        if self._recorded:
            return
        tap.watch.partial()
        seen = tap.watch.seen
        keep = self._job.remote.keep
        if keep is not None and seen.complete:
            keep(self._status or 200, None, tap.events)
        error = seen.error if seen.complete or seen.error else "the answer ended before it was complete"
        self._record(seen, status=self._status or 200, error=error, first_token=self._first)

    def _record(self, seen: Observed, **details: Any) -> None:
        if not self._recorded:
            self._recorded = True
            self._job.record(seen, **details)

    async def _start(self, status: int, headers: list[tuple[str, str]]) -> None:
        self._status = status
        pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        await self._send({"type": "http.response.start", "status": status, "headers": pairs})

    async def _error(self, status: int, text: str, headers: dict[str, str]) -> None:
        request_id = self._job.session.new_id("req_")
        reply = provider_error(self._job.anthropic, status, text, request_id=request_id, headers=headers)
        await self._start(status, reply.all_headers())
        await self._send({"type": "http.response.body", "body": b"".join(reply.chunks), "more_body": False})


async def _left(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _bytes_of(response: httpx2.Response) -> Any:
    """The raw bytes; decoded where the provider compressed them although it was asked not to."""
    return response.aiter_bytes() if "content-encoding" in response.headers else response.aiter_raw()


def _returned(response: httpx2.Response) -> list[tuple[str, str]]:
    dropped = _NOT_RETURNED | {"content-encoding"}
    return [(name, value) for name, value in response.headers.multi_items() if name.lower() not in dropped]


def _nothing(status: int) -> Usage:
    """A refused call used nothing; of one that failed nobody knows."""
    return Usage(0, 0, 0, 0, 0) if 400 <= status < 500 else Usage()


def _other(body: Any) -> Observed:
    """Model and tokens of an answer that isn't a model's reply, such as embeddings."""
    usage = part(body, "usage")
    sent = whole_number(part(usage, "prompt_tokens")) or whole_number(part(usage, "input_tokens"))
    made = whole_number(part(usage, "completion_tokens")) or whole_number(part(usage, "output_tokens"))
    known = Usage(0, sent, None, made or 0) if sent is not None else Usage()
    model = part(body, "model")
    return Observed(model=model if isinstance(model, str) else None, usage=known, complete=True)
