"""Speed of the scripted, recorded gateway against a starlette handler, and of cancellation when forwarding.

    python scripts/bench_gateway.py            prints both and exits with 1 when a bound isn't kept

The bar is a starlette route that parses the same request and encodes the same reply, on the same server (uvicorn,
httptools) in the same run: the gateway must reach 60 % of its throughput with a p99 of at most 5 times its p99,
medians of alternating rounds. A client's close must reach the provider within 250 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

CONNECTIONS = 50
TOOL = {
    "type": "function",
    "function": {
        "name": "refund",
        "description": "Refunds an order.",
        "parameters": {
            "type": "object",
            "properties": {"order": {"type": "string"}, "amount": {"type": "integer"}},
            "required": ["order", "amount"],
        },
    },
}
ASK = {
    "model": "gpt-x",
    "temperature": 0.0,
    "messages": [
        {"role": "system", "content": "You are a support agent of a small shop. Be brief and polite."},
        {"role": "user", "content": "Please refund order A1, it arrived broken and I want my 20 euros back."},
    ],
    "tools": [TOOL],
}


def serve_gateway(replies: int) -> None:
    """A gateway with one scripted session, every call recorded as bytes in a file."""
    from passhat.facts import Limits, ModelCall
    from passhat.gateway import Gateway, Script
    from passhat.scripting import call

    encode = msgspec.json.encode
    with tempfile.TemporaryFile("wb") as file, Gateway() as gateway:

        def record(event: ModelCall) -> None:
            file.write(encode(event))

        session = gateway.open(
            Script([call("refund", {"order": "A1", "amount": 20})] * replies),
            sink=record,
            limits=Limits(model_calls=None),
        )
        print(json.dumps({"url": gateway.base_url, "key": session.key}), flush=True)
        sys.stdin.read()


def serve_starlette() -> None:
    """The bar: a starlette route on uvicorn that parses the request and encodes the reply."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    reply = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-x",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }

    async def answer(request: Request) -> JSONResponse:
        body = await request.json()
        return JSONResponse({**reply, "model": body["model"], "echo": body["messages"]})

    app = Starlette(routes=[Route("/v1/chat/completions", answer, methods=["POST"])])
    config = uvicorn.Config(app, port=0, log_level="error", access_log=False, http="httptools", loop="asyncio")
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen(2048)
    print(json.dumps({"url": f"http://127.0.0.1:{listening.getsockname()[1]}", "key": "-"}), flush=True)
    uvicorn.Server(config).run(sockets=[listening])


class Caller(asyncio.Protocol):
    """Asks again as soon as it is answered."""

    def __init__(self, request: bytes, times: list[float], until: float) -> None:
        self.request = request
        self.times = times
        self.until = until
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        self.rest = b""
        self.began = time.perf_counter()
        self.transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        self.rest += data
        head, found, body = self.rest.partition(b"\r\n\r\n")
        if not found:
            return
        if not head.startswith(b"HTTP/1.1 200"):
            self.done.set_exception(RuntimeError(self.rest.decode()))
            self.transport.close()
            return
        at = head.lower().index(b"content-length: ") + 16
        if len(body) < int(head[at : (head.find(b"\r\n", at) + 1 or len(head) + 1) - 1]):
            return
        now = time.perf_counter()
        self.times.append(now - self.began)
        if now < self.until:
            self.ask()
        else:
            self.transport.close()
            self.done.set_result(None)


async def load(url: str, key: str, seconds: float) -> tuple[float, float]:
    """(requests a second, p99 in seconds) of 50 connections."""
    host, port = url.removeprefix("http://").split(":")
    body = msgspec.json.encode(ASK)
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {key}\r\n"
    request = f"{head}content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body
    times: list[float] = []
    until = time.perf_counter() + seconds
    loop = asyncio.get_running_loop()
    callers = [
        (await loop.create_connection(lambda: Caller(request, times, until), host, int(port)))[1]
        for _ in range(CONNECTIONS)
    ]
    await asyncio.gather(*(caller.done for caller in callers))
    return len(times) / seconds, statistics.quantiles(times, n=100)[98]


@contextmanager
def served(kind: str) -> Iterator[tuple[str, str]]:
    process = subprocess.Popen(
        [sys.executable, __file__, "--serve", kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        place = json.loads(process.stdout.readline())
        yield place["url"], place["key"]
    finally:
        process.kill()
        process.wait()


def throughput(rounds: int, seconds: float) -> bool:
    rows: dict[str, list[tuple[float, float]]] = {"starlette": [], "gateway": []}
    for _ in range(rounds):
        for kind, found in rows.items():
            with served(kind) as (url, key):
                asyncio.run(load(url, key, 0.5))  # warm
                found.append(asyncio.run(load(url, key, seconds)))
    medians = {kind: [statistics.median(column) for column in zip(*found, strict=True)] for kind, found in rows.items()}
    for kind, (rate, p99) in medians.items():
        print(f"{kind:10} {rate:9,.0f} requests/s   p99 {1000 * p99:6.2f} ms")
    ratio = medians["gateway"][0] / medians["starlette"][0]
    slower = medians["gateway"][1] / medians["starlette"][1]
    print(f"gateway / starlette: {ratio:.0%} of the throughput (>= 60 %), {slower:.1f} x the p99 (<= 5)")
    return bool(ratio >= 0.6 and slower <= 5)


async def one_close(url: str, key: str, streamed: bool, seen: asyncio.Queue[str]) -> float:
    """Seconds from a client's close to the provider's end of connection."""
    host, port = url.removeprefix("http://").split(":")
    body = b'{"model":"m","messages":[{"role":"user","content":"q"}],"stream":true}'
    _, writer = await asyncio.open_connection(host, int(port))
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n"
    writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
    assert await seen.get() == "arrived"
    await asyncio.sleep(0.02)
    began = time.perf_counter()
    writer.close()
    assert await seen.get() == "left"
    return time.perf_counter() - began


async def cancellation(rounds: int) -> bool:
    from passhat.facts import Limits
    from passhat.gateway import Forward, Gateway, Upstream

    good = True
    chunk = b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    phases = {
        "before headers": b"",
        "after headers": head,
        "chunks flowing": head + b"%x\r\n%s\r\n" % (len(chunk), chunk),
    }
    for phase, sent in phases.items():
        seen: asyncio.Queue[str] = asyncio.Queue()

        async def provider(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: bytes = sent, seen: Any = seen
        ) -> None:
            await reader.readuntil(b'"stream":true,"stream_options":{"include_usage":true}}')
            writer.write(sent)
            await writer.drain()
            seen.put_nowait("arrived")
            await reader.read(1)
            seen.put_nowait("left")
            writer.close()

        server = await asyncio.start_server(provider, "127.0.0.1", 0)
        base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        with Gateway() as gateway:
            session = gateway.open(Forward(Upstream("openai", base)), limits=Limits(model_calls=None))
            times = [await one_close(gateway.base_url, session.key, bool(sent), seen) for _ in range(rounds)]
        server.close()
        print(f"close reaches the provider, {phase:15}: worst of {rounds} {1000 * max(times):6.1f} ms (<= 250)")
        good = good and max(times) <= 0.25
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve", choices=["gateway", "starlette"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    if options.serve == "gateway":
        serve_gateway(400_000)
    elif options.serve == "starlette":
        serve_starlette()
    else:
        fast = throughput(options.rounds, options.seconds)
        prompt = asyncio.run(cancellation(20))
        return 0 if fast and prompt else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
