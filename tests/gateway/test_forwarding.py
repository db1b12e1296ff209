"""Forwarding: raw bytes both ways, hygiene, metering, errors, other endpoints."""

from __future__ import annotations

import contextlib
import socket
from typing import Any

import httpx2
import openai
import pytest

from passhat.facts import Limits, ModelCall, Usage
from passhat.gateway import Fault, Forward, Gateway, Session, Upstream, UpstreamError, upstream_for, upstream_of_model

ASK: dict[str, Any] = {"model": "gpt-x", "messages": [{"role": "user", "content": "hello"}]}
WHOLE = (
    b'{ "id":"chatcmpl-1",  "object":"chat.completion","model":"gpt-x-2026","system_fingerprint":"fp_1","odd":1.0,'
    b'"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9,"prompt_tokens_details":{"cached_tokens":3}}}'
)
_HEAD = b'data: {"id":"c","object":"chat.completion.chunk","created":1,'
CHUNKS = [
    _HEAD + b'"model":"gpt-x-2026","choices":[{"index":0,"delta":{"content":"he"}}]}\n\n',
    _HEAD + b'"choices":[{"index":0,"delta":{"content":"y"},"finish_reason":"stop"}]}\n\n',
    _HEAD + b'"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}}\n\n',
    b"data: [DONE]\n\n",
]


def live(gateway: Gateway, provider: Any, **options: Any) -> tuple[Session, list[ModelCall]]:
    events: list[ModelCall] = []
    upstream = Upstream(
        "openai", provider.base_url, "sk-real", frozenset({"chat", "responses"}), options.pop("to", None)
    )
    return gateway.open(Forward(upstream), sink=events.append, **options), events


def client(session: Session, **options: Any) -> Any:
    return openai.OpenAI(**session.access.openai, max_retries=0, **options)


def test_bytes_pass_unchanged_both_ways_and_the_real_key_only_upstream(gateway: Gateway, provider: Any) -> None:
    more = "retry-after-ms: 5\r\nx-ratelimit-limit: 9\r\nset-cookie: a=b\r\nkeep-alive: timeout=5\r\n"
    provider.plays(lambda connection: connection.json(WHOLE, more=more))
    session, events = live(gateway, provider)
    body = (
        b'{"model": "gpt-x",   "messages": [{"role":"user","content":"hello"}], "temperature": 1.0, "new_field": 1e400}'
    )
    headers = {"authorization": f"Bearer {session.key}", "cookie": "c=1", "x-stainless-retry-count": "0", "x-mine": "y"}
    answer = httpx2.post(f"{session.access.openai['base_url']}/chat/completions?a=b", content=body, headers=headers)
    (request,) = provider.requests
    assert request.body == body
    assert request.line == "POST /v1/chat/completions?a=b HTTP/1.1"
    assert request.headers["authorization"] == "Bearer sk-real"
    assert request.headers["x-mine"] == "y"
    assert session.key not in str(request.headers)
    assert "cookie" not in request.headers
    assert answer.content == WHOLE
    assert (answer.headers["retry-after-ms"], answer.headers["x-ratelimit-limit"]) == ("5", "9")
    assert "set-cookie" not in answer.headers
    assert (events[0].model_reported, events[0].fingerprint, events[0].source) == ("gpt-x-2026", "fp_1", "live")
    assert events[0].usage == Usage(1, 7, 3, 2, None, None)
    assert session.usage().dollars is None, "an unknown price is not 0"


def test_usage_is_asked_for_and_hidden_again(gateway: Gateway, provider: Any) -> None:
    async def play(connection: Any) -> None:
        await connection.start_stream()
        data = b"".join(CHUNKS)
        for at in range(0, len(data), 50):
            await connection.chunk(data[at : at + 50])
        await connection.end_stream()

    provider.plays(play)
    for asked in (False, True):
        session, events = live(gateway, provider)
        more: dict[str, Any] = {"stream_options": {"include_usage": True}} if asked else {}
        with client(session) as openai_client:
            chunks = list(openai_client.chat.completions.create(**ASK, stream=True, **more))
        assert b'"stream_options":{"include_usage":true}' in provider.requests[-1].body
        assert [chunk.usage is not None for chunk in chunks] == [False, False, True][: 3 if asked else 2]
        assert "".join(chunk.choices[0].delta.content for chunk in chunks[:2]) == "hey"
        assert events[0].usage.tokens == 9
        assert events[0].reply is not None
        assert events[0].reply.text == "hey"
        assert events[0].first_token is not None
        assert session.last_failure is None


def test_another_model_is_asked_for_in_place_of_the_agents(gateway: Gateway, provider: Any) -> None:
    provider.plays(lambda connection: connection.json(WHOLE))
    session, events = live(gateway, provider, to="gpt-y")
    with client(session) as openai_client:
        openai_client.chat.completions.create(**ASK)
    assert b'"model":"gpt-y"' in provider.requests[0].body
    assert events[0].model == "gpt-x"


def test_an_agent_on_another_wire_is_told(gateway: Gateway, provider: Any) -> None:
    session = gateway.open(Forward(Upstream("anthropic", provider.base_url, "k", frozenset({"messages"}), "claude-x")))
    with client(session) as openai_client, pytest.raises(openai.BadRequestError) as caught:
        openai_client.chat.completions.create(**ASK)
    assert "asks on OpenAI chat completions, but anthropic/claude-x speaks Anthropic messages" in str(caught.value)
    assert provider.requests == []


def test_provider_errors_pass_through_and_are_remembered(gateway: Gateway, provider: Any) -> None:
    error = b'{"error": {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}}'
    provider.plays(lambda connection: connection.json(error, "429 Too Many Requests", "x-should-retry: false\r\n"))
    session, events = live(gateway, provider)
    with client(session) as openai_client, pytest.raises(openai.RateLimitError, match="slow down"):
        openai_client.chat.completions.create(**ASK)
    assert session.last_failure == "429: slow down"
    assert events[0].error == "slow down"


def test_a_provider_that_is_not_there_is_a_failure_of_the_provider(gateway: Gateway, provider: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    session = gateway.open(Forward(Upstream("openai", f"http://127.0.0.1:{port}/v1", "k")))
    with client(session) as openai_client, pytest.raises(openai.InternalServerError, match="can't be reached"):
        openai_client.chat.completions.create(**ASK)
    assert session.last_failure is not None
    assert session.usage().tokens is None


def test_a_providers_broken_stream_breaks_ours(gateway: Gateway, provider: Any) -> None:
    async def play(connection: Any) -> None:
        await connection.start_stream()
        await connection.chunk(CHUNKS[0])
        connection.writer.transport.abort()
        raise ConnectionError

    provider.plays(play)
    session, events = live(gateway, provider)
    with client(session) as openai_client, pytest.raises((openai.APIConnectionError, httpx2.HTTPError)):
        list(openai_client.chat.completions.create(**ASK, stream=True))
    assert events[0].reply is not None
    assert events[0].reply.text == "he"
    assert "broke off" in str(session.last_failure)


VECTOR = (
    b'{"object":"list","model":"e","data":[{"object":"embedding","index":0,"embedding":[1.0]}],'
    b'"usage":{"prompt_tokens":4,"total_tokens":4}}'
)


def test_other_endpoints_are_passed_on_and_count_unless_they_are_free(gateway: Gateway, provider: Any) -> None:
    provider.plays(lambda connection: connection.json(VECTOR if connection.body else b"{}"))
    session, events = live(gateway, provider)
    with client(session) as openai_client:
        assert openai_client.embeddings.create(model="e", input="x", encoding_format="float").data[0].embedding == [1.0]
        openai_client.models.list()
    assert [event.wire for event in events] == ["other", "other"]
    assert session.calls == session.usage().model_calls == 1
    assert [event.usage.model_calls for event in events] == [1, 0]
    assert session.usage().input_tokens == 4
    assert provider.requests[1].line == "GET /v1/models HTTP/1.1"


def test_the_limit_on_calls_is_one_for_all_that_a_provider_takes_money_for(gateway: Gateway, provider: Any) -> None:
    provider.plays(lambda connection: connection.json(VECTOR if "/embeddings" in connection.line else WHOLE))
    session, events = live(gateway, provider, limits=Limits(model_calls=3))
    with client(session) as openai_client:
        openai_client.chat.completions.create(**ASK)
        for _ in range(4):
            with contextlib.suppress(openai.BadRequestError):
                openai_client.embeddings.create(model="e", input="x", encoding_format="float")
        openai_client.models.list()
        with pytest.raises(openai.BadRequestError, match="limit of 3 model calls"):
            openai_client.chat.completions.create(**ASK)
    assert [connection.line.split()[1] for connection in provider.requests] == [
        "/v1/chat/completions",
        "/v1/embeddings",
        "/v1/embeddings",
        "/v1/models",
    ]
    assert session.limit_hit == "model_calls"
    refused = [event for event in events if event.refused is not None]
    assert [event.settings.get("request", event.wire) for event in refused] == [*["POST /v1/embeddings"] * 2, "chat"]
    assert sum(event.usage.model_calls for event in events) == session.usage().model_calls == 3  # none that was refused


def test_faults_are_numbered_by_the_questions_to_the_model(gateway: Gateway, provider: Any) -> None:
    provider.plays(lambda connection: connection.json(VECTOR if "/embeddings" in connection.line else WHOLE))
    session, _ = live(gateway, provider, faults=Fault(kind="server_error", calls=(1,)))
    with client(session) as openai_client:
        openai_client.embeddings.create(model="e", input="x", encoding_format="float")
        with pytest.raises(openai.InternalServerError):
            openai_client.chat.completions.create(**ASK)


def test_a_body_that_we_cannot_read_is_the_providers_to_refuse(gateway: Gateway, provider: Any) -> None:
    provider.plays(lambda connection: connection.json(b'{"error":{"message":"no"}}', "400 Bad Request"))
    session, events = live(gateway, provider)
    with client(session) as openai_client, pytest.raises(openai.BadRequestError, match="no"):
        openai_client.chat.completions.create(model="m", messages=[])
    assert events[0].http_status == 400


def test_a_limit_in_dollars_needs_a_price(gateway: Gateway, provider: Any) -> None:
    upstream = Upstream("openai", provider.base_url, "k", model="no-such-model")
    with pytest.raises(UpstreamError, match="no price is known for openai/no-such-model"):
        gateway.open(Forward(upstream), limits=Limits(dollars=0.5))
    session, _ = live(gateway, provider, limits=Limits(dollars=0.5))
    with client(session) as openai_client, pytest.raises(openai.BadRequestError, match="no price is known"):
        openai_client.chat.completions.create(model="no-such-model", messages=ASK["messages"])
    assert provider.requests == []


def test_a_known_price_is_charged_and_limits(gateway: Gateway, provider: Any) -> None:
    pytest.importorskip("genai_prices")
    provider.plays(lambda connection: connection.json(WHOLE.replace(b"gpt-x-2026", b"gpt-4o-2024-08-06")))
    session, events = live(gateway, provider, limits=Limits(dollars=1e-6))
    with client(session) as openai_client:
        openai_client.chat.completions.create(model="gpt-4o", messages=ASK["messages"])
        with pytest.raises(openai.BadRequestError, match="limit of 1e-06 dollars is reached"):
            openai_client.chat.completions.create(model="gpt-4o", messages=ASK["messages"])
    assert events[0].usage.dollars is not None
    assert session.limit_hit == "dollars"


def test_the_environment_names_providers() -> None:
    environ = {"OPENAI_API_KEY": "sk-1", "ANTHROPIC_API_KEY": "sk-2", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}
    assert upstream_for("openai", environ).base_url == "https://api.openai.com/v1"
    assert upstream_for("anthropic", environ).url("/messages", "") == "http://127.0.0.1:1/v1/messages"
    assert "sk-1" not in repr(upstream_for("openai", environ))
    assert upstream_of_model("openai/ft:gpt/4", environ).model == "ft:gpt/4"
    for name, problem in (
        ("gpt-5", "PROVIDER/NAME"),
        ("nobody/x", "unknown provider 'nobody'"),
        ("groq/x", "GROQ_API_KEY"),
    ):
        with pytest.raises(UpstreamError, match=problem):
            upstream_of_model(name, environ)
    with pytest.raises(UpstreamError, match="must begin with http"):
        Upstream("openai", "ftp://x")


def test_what_the_agent_asks_goes_where_the_host_says(gateway: Gateway, provider: Any) -> None:
    provider.plays(lambda connection: connection.json(WHOLE))
    environ = {"OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": provider.base_url}
    session = gateway.open(Forward.as_asked(environ))
    with client(session) as openai_client:
        assert openai_client.chat.completions.create(**ASK).choices[0].message.content == "hi"
    headers = {"x-api-key": session.key, "anthropic-version": "2023-06-01"}
    ask = {**ASK, "max_tokens": 9}
    answer = httpx2.post(f"{gateway.base_url}/v1/messages", json=ask, headers=headers)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith("anthropic needs a key: set ANTHROPIC_API_KEY")


def test_faults_go_into_forwarded_answers(gateway: Gateway, provider: Any) -> None:
    async def play(connection: Any) -> None:
        await connection.start_stream()
        await connection.chunk(b"".join(CHUNKS))
        await connection.end_stream()

    provider.plays(play)
    session, events = live(gateway, provider, faults=["unavailable calls=1", "ended_early calls=2", "empty calls=3"])
    with client(session) as openai_client:
        with pytest.raises(openai.InternalServerError):
            openai_client.chat.completions.create(**ASK, stream=True)
        assert provider.requests == []
        for wanted in ("hey", ""):
            chunks = list(openai_client.chat.completions.create(**ASK, stream=True))
            text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
            assert wanted.startswith(text)
    assert [event.fault for event in events] == ["unavailable", "ended_early", "empty"]
    assert [event.usage.tokens for event in events] == [0, 9, 9]


def anthropic_session(gateway: Gateway, provider: Any) -> tuple[Session, list[ModelCall]]:
    events: list[ModelCall] = []
    upstream = Upstream("anthropic", provider.base_url, "sk-real", frozenset({"messages"}))
    return gateway.open(Forward(upstream), sink=events.append), events


def streamed(*chunks: bytes, end: bool = True) -> Any:
    async def play(connection: Any) -> None:
        await connection.start_stream()
        for chunk in chunks:
            await connection.chunk(chunk)
        if end:
            await connection.end_stream()
        else:
            connection.writer.transport.abort()
            raise ConnectionError

    return play


MESSAGE = (
    b'event: message_start\r\ndata: {"type":"message_start","message":{"id":"msg_1","model":"claude-x-1","content":[],'
    b'"usage":{"input_tokens":5,"cache_read_input_tokens":20,"cache_creation_input_tokens":3,"output_tokens":1}}}\r\n\r\n'
    b'event: content_block_start\r\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use",'
    b'"id":"toolu_1","name":"look","input":{}}}\r\n\r\n'
    b'event: content_block_delta\r\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta",'
    b'"partial_json":"{\\"q\\":"}}\r\n\r\n'
    b'event: content_block_delta\r\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta",'
    b'"partial_json":"1}"}}\r\n\r\n'
    b'event: message_delta\r\ndata: {"type":"message_delta","delta":{"stop_reason":"tool_use"},'
    b'"usage":{"output_tokens":9}}\r\n\r\n'
    b'event: message_stop\r\ndata: {"type":"message_stop"}\r\n\r\n'
)


def test_anthropics_stream_is_read_as_it_passes(gateway: Gateway, provider: Any) -> None:
    provider.plays(streamed(MESSAGE[:333], MESSAGE[333:]))
    session, events = anthropic_session(gateway, provider)
    ask = {"model": "claude-x", "max_tokens": 9, "messages": ASK["messages"], "stream": True}
    answer = httpx2.post(f"{gateway.base_url}/v1/messages", json=ask, headers={"x-api-key": session.key})
    assert answer.content == MESSAGE
    assert provider.requests[0].line.startswith("POST /v1/messages")
    assert provider.requests[0].headers["x-api-key"] == "sk-real"
    (event,) = events
    assert event.usage == Usage(1, 28, 20, 9, None, None)
    assert event.reply is not None
    assert (event.reply.tool_calls[0].arguments, event.stop_reason) == ({"q": 1}, "tool_calls")


def test_what_came_of_a_broken_responses_stream_is_kept(gateway: Gateway, provider: Any) -> None:
    item = b'{"id":"i","type":"message","status":"in_progress","role":"assistant","content":[]}'
    events_sent = (
        b'data: {"type":"response.created","response":{"id":"resp_1","model":"gpt-x-1","output":[]}}\n\n'
        b'data: {"type":"response.output_item.added","output_index":0,"item":' + item + b"}\n\n"
        b'data: {"type":"response.output_text.delta","output_index":0,"item_id":"i","delta":"half"}\n\n'
        b'data: {"type":"response.output_text.delta","output_index":0,"item_id":"i","delta":" said"}\n\n'
    )
    provider.plays(streamed(events_sent, end=False))
    session, events = live(gateway, provider)
    headers = {"authorization": f"Bearer {session.key}"}
    with pytest.raises(httpx2.HTTPError):
        httpx2.post(
            f"{gateway.base_url}/v1/responses", json={"model": "m", "input": "q", "stream": True}, headers=headers
        )
    assert events[0].reply is not None
    assert (events[0].reply.text, events[0].usage.tokens) == ("half said", None)


def test_a_stream_that_the_provider_ends_early_is_said(gateway: Gateway, provider: Any) -> None:
    provider.plays(streamed(CHUNKS[0]))
    session, events = live(gateway, provider)
    with client(session) as openai_client:
        assert len(list(openai_client.chat.completions.create(**ASK, stream=True))) == 1
    assert events[0].error == "the answer ended before it was complete"


def test_an_answer_compressed_all_the_same_is_unpacked(gateway: Gateway, provider: Any) -> None:
    import gzip

    provider.plays(lambda connection: connection.json(gzip.compress(WHOLE), more="content-encoding: gzip\r\n"))
    session, events = live(gateway, provider)
    with client(session) as openai_client:
        assert openai_client.chat.completions.create(**ASK).choices[0].message.content == "hi"
    assert provider.requests[0].headers["accept-encoding"] == "identity"
    assert events[0].usage.tokens == 9


def test_redirects_loops_and_paths_out_of_the_api_are_refused(gateway: Gateway, provider: Any) -> None:
    provider.plays(lambda connection: connection.json(b"", "307 Temporary", "location: http://elsewhere.example/\r\n"))
    session, _ = live(gateway, provider)
    with (
        client(session) as openai_client,
        pytest.raises(openai.InternalServerError, match="redirect to http://elsewhere"),
    ):
        openai_client.chat.completions.create(**ASK)
    loop = gateway.open(Forward(Upstream("openai", f"{gateway.base_url}/v1", "k")))
    with client(loop) as openai_client, pytest.raises(openai.InternalServerError, match="this gateway itself"):
        openai_client.chat.completions.create(**ASK)
    before = len(provider.requests)
    host, port = gateway.base_url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as raw:
        raw.sendall(
            f"GET /v1/%2e%2e/admin HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {session.key}\r\n"
            "connection: close\r\n\r\n".encode()
        )
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    assert b"leaves the provider's API" in answer
    assert len(provider.requests) == before


def test_quoted_paths_reach_the_provider_as_they_were_sent(gateway: Gateway, provider: Any) -> None:
    session, events = live(gateway, provider)
    headers = {"authorization": f"Bearer {session.key}"}
    httpx2.get(f"{gateway.base_url}/v1/models/a%3Fb%2Fc?x=%20", headers=headers)
    assert provider.requests[0].line == "GET /v1/models/a%3Fb%2Fc?x=%20 HTTP/1.1"
    assert events[0].settings == {"request": "GET /v1/models/a?b/c"}


def test_a_token_limit_also_stops_other_requests(gateway: Gateway, provider: Any) -> None:
    provider.plays(lambda connection: connection.json(WHOLE))
    session, _ = live(gateway, provider, limits=Limits(tokens=5))
    with client(session) as openai_client:
        openai_client.chat.completions.create(**ASK)
        with pytest.raises(openai.BadRequestError, match="limit of 5 tokens"):
            openai_client.embeddings.create(model="e", input="x")
