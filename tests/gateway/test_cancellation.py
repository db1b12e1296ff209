"""However an agent ends, its provider learns of it: before, after and between the headers and the chunks."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import threading
from typing import Any

import openai
import pytest

from passhat.facts import ModelCall, Usage
from passhat.gateway import Forward, Gateway, Session, Upstream

ASK: dict[str, Any] = {"model": "gpt-x", "messages": [{"role": "user", "content": "hello"}]}
CHUNK = b'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"he"}}]}\n\n'


def forwarded(gateway: Gateway, provider: Any) -> tuple[Session, list[ModelCall]]:
    events: list[ModelCall] = []
    return gateway.open(Forward(Upstream("openai", provider.base_url, "sk-real")), sink=events.append), events


PHASES = ("before the headers", "after the headers", "between chunks")
SCRIPT = """
import sys, httpx2
url, key, stream = sys.argv[1:]
body = {"model": "m", "messages": [{"role": "user", "content": "q"}], "stream": stream == "1"}
httpx2.post(url + "/v1/chat/completions", json=body, headers={"authorization": "Bearer " + key}, timeout=None)
"""


def phase(name: str) -> Any:
    async def play(connection: Any) -> None:
        if name != PHASES[0]:
            await connection.start_stream()
        if name == PHASES[2]:
            await connection.chunk(CHUNK)
        await connection.until_left()
        raise ConnectionError

    return play


@pytest.mark.parametrize("name", PHASES)
@pytest.mark.parametrize("end", ["close", "kill", "cancel", "revoke"])
def test_the_agents_end_reaches_the_provider(gateway: Gateway, provider: Any, name: str, end: str) -> None:
    provider.plays(phase(name))
    session, events = forwarded(gateway, provider)
    done = threading.Event()
    stopper = _start(gateway, session, end, stream=name != PHASES[0], done=done)
    assert provider.arrived.wait(10)
    _settle(gateway, provider)
    provider.seen.append("agent ended")
    stopper()
    assert provider.left.wait(10)
    assert provider.seen == ["agent ended", "upstream saw the end"]
    done.wait(10)
    gateway.run_on_loop(asyncio.sleep(0))
    assert [event.usage for event in events] == [Usage(1)], "what a cancelled call used is unknown"
    assert session.usage().tokens is None
    assert events[0].error in ("the client closed the connection", "the trial is over")


def _settle(gateway: Gateway, provider: Any) -> None:
    """Let both loops turn, so that what the phase has sent is passed on."""
    for _ in range(20):
        provider._call(asyncio.sleep(0))
        gateway.run_on_loop(asyncio.sleep(0))


def _start(gateway: Gateway, session: Session, end: str, *, stream: bool, done: threading.Event) -> Any:
    """An agent of the kind, and a function that ends it."""
    if end == "kill":
        flag = "1" if stream else "0"
        process = subprocess.Popen([sys.executable, "-c", SCRIPT, gateway.base_url, session.key, flag])

        def kill() -> None:
            process.send_signal(signal.SIGKILL)
            process.wait()
            done.set()

        return kill
    if end == "close":
        host, port = gateway.base_url.removeprefix("http://").split(":")
        connection = socket.create_connection((host, int(port)))
        body = b'{"model":"m","messages":[{"role":"user","content":"q"}],"stream":true}'
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {session.key}\r\n"
        connection.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)

        def close() -> None:
            connection.close()
            done.set()

        return close
    loop = asyncio.new_event_loop()
    task: list[asyncio.Task[Any]] = []

    async def ask() -> None:
        async with openai.AsyncOpenAI(**session.access.openai, max_retries=0) as agent:
            answer: Any = await agent.chat.completions.create(**ASK, stream=stream)
            async for _ in answer:
                pass

    def run() -> None:
        try:
            task.append(loop.create_task(ask()))
            loop.run_until_complete(asyncio.gather(*task, return_exceptions=True))
        finally:
            loop.close()
            done.set()

    threading.Thread(target=run, daemon=True).start()
    if end == "revoke":
        return session.revoke
    return lambda: loop.call_soon_threadsafe(task[0].cancel)


def test_a_client_that_reads_nothing_holds_the_provider_back(gateway: Gateway, provider: Any) -> None:
    sent: list[int] = []
    chunk = b"data: " + b'"' + b"x" * 32_000 + b'"\n\n'

    async def play(connection: Any) -> None:
        await connection.start_stream()
        for number in range(2000):
            await connection.chunk(chunk)
            sent.append(number)

    provider.plays(play)
    session, _ = forwarded(gateway, provider)
    host, port = gateway.base_url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        body = b'{"model":"m","messages":[{"role":"user","content":"q"}],"stream":true}'
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {session.key}\r\n"
        connection.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        assert provider.arrived.wait(10)
        before, still = -1, 0
        while still < 5 and len(sent) < 2000:  # until it has stood still for a while
            provider._call(asyncio.sleep(0.05))
            still = still + 1 if len(sent) == before else 0
            before = len(sent)
    assert len(sent) < 1500
