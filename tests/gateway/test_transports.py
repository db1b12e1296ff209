"""The double without a socket: transports of httpx2 and httpx, plain and async."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import httpx
import httpx2
import openai
import pytest

from passhat.facts import ModelCall
from passhat.gateway import Forward, Gateway, GatewayError, ImmediateClock, Script, Session, Upstream
from passhat.scripting import fail, reply, say

ASK: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
LIBRARIES: dict[str, Any] = {"httpx2": httpx2, "httpx": httpx}
TEXT = "one two three four five six seven eight nine ten"


def plain(session: Session, library: str) -> Any:
    client = LIBRARIES[library].Client(transport=session.transport(library))
    return openai.OpenAI(api_key="-", base_url="http://double/v1", http_client=client)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_plain_client_needs_no_server(library: str) -> None:
    gateway = Gateway()
    session = gateway.open(Script([say("hi"), lambda request: request.user, say(TEXT), fail(404, "gone")]))
    with plain(session, library) as client:
        assert client.chat.completions.create(**ASK).choices[0].message.content == "hi"
        assert client.chat.completions.create(**ASK).choices[0].message.content == "hello"
        chunks = list(client.chat.completions.create(**ASK, stream=True))
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == TEXT
        with pytest.raises(openai.NotFoundError, match="gone"):
            client.chat.completions.create(**ASK)
    assert gateway._server is None


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_async_client_streams(library: str) -> None:
    async def scenario() -> None:
        session = Gateway().open(Script([say(TEXT), slow]))
        http = LIBRARIES[library].AsyncClient(transport=session.async_transport(library))
        async with openai.AsyncOpenAI(api_key="-", base_url="http://double/v1", http_client=http) as client:
            stream = await client.chat.completions.create(**ASK, stream=True)
            assert "".join([chunk.choices[0].delta.content or "" async for chunk in stream]) == TEXT
            assert (await client.chat.completions.create(**ASK)).choices[0].message.content == "later"

    async def slow(request: object) -> str:
        await asyncio.sleep(0)
        return "later"

    asyncio.run(scenario())


def test_an_async_function_answers_a_plain_client_even_inside_a_running_loop() -> None:
    async def later(request: object) -> str:
        await asyncio.sleep(0)
        return "later"

    async def scenario(session: Session) -> Any:
        with plain(session, "httpx2") as client:
            return client.chat.completions.create(**ASK).choices[0].message.content

    with Gateway() as gateway:
        assert asyncio.run(scenario(gateway.open(Script([later])))) == "later"


def test_anthropics_client_takes_the_transport() -> None:
    session = Gateway().open(Script(["hi"]))
    http = httpx2.Client(transport=session.transport())
    with anthropic.Anthropic(api_key="-", base_url="http://double", http_client=http) as client:
        answer: Any = client.messages.create(**ASK, max_tokens=9)
    assert answer.content[0].text == "hi"


def test_pacing_waits_on_the_gateways_clock_and_is_recorded() -> None:
    clock = ImmediateClock()
    events: list[ModelCall] = []
    paced = reply(say(TEXT), first_token=2.0, tokens_per_second=1.0)
    session = Gateway(clock=clock).open(Script([paced, paced]), sink=events.append)
    with plain(session, "httpx2") as client:
        list(client.chat.completions.create(**ASK, stream=True))
        streamed = list(clock.waited)
        client.chat.completions.create(**ASK)
    tokens = (len(TEXT) + 3) // 4
    assert streamed[0] == 2.0
    assert sum(streamed) == pytest.approx(2.0 + tokens)
    assert clock.waited[-1] == pytest.approx(2.0 + tokens)
    assert [event.first_token for event in events] == [2.0, None]


def test_a_client_that_leaves_a_paced_stream_is_recorded() -> None:
    events: list[ModelCall] = []
    paced = reply(say(TEXT), tokens_per_second=1.0)
    session = Gateway(clock=ImmediateClock()).open(Script([paced]), sink=events.append)
    with plain(session, "httpx2") as client:
        stream = client.chat.completions.create(**ASK, stream=True)
        next(iter(stream))
        stream.close()
    assert [event.error for event in events] == ["the client closed the connection before the answer was complete"]


def test_forwarding_needs_the_server() -> None:
    session = Gateway().open(Forward(Upstream("openai", "http://127.0.0.1:9/v1")))
    with (
        httpx2.Client(transport=session.transport()) as http,
        pytest.raises(GatewayError, match=r"session\.access"),
    ):
        http.post("http://double/v1/chat/completions", json=ASK)


def test_an_unknown_library_is_named() -> None:
    with pytest.raises(ValueError, match="'requests'"):
        Gateway().open(Script([])).transport("requests")
