"""Whatever is sent, the gateway answers: a provider's error or a reply, never a crash, and others go on."""

from __future__ import annotations

import itertools
import json
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from passhat.facts import Limits
from passhat.gateway import Gateway, Script
from passhat.gateway._http import HttpReply, HttpRequest

PATHS = (
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/v1/responses/input_tokens",
)
GOOD: dict[str, Any] = {
    "model": "m",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "q"}],
    "input": "q",
}
ODD: list[Any] = [None, True, 3, -1.5, "x", "", [], {}, [[]], [None], [{}], [{"type": "x"}], {"type": "x"}, [1, "a"]]
FIELDS = (
    "model",
    "messages",
    "input",
    "max_tokens",
    "tools",
    "tool_choice",
    "stream",
    "stream_options",
    "response_format",
    "text",
    "system",
    "instructions",
    "output_config",
    "previous_response_id",
    "temperature",
    "metadata",
    "prompt_cache_key",
)
RAW = [
    b"",
    b"{",
    b"null",
    b"[]",
    b"3",
    b'"x"',
    b"\xff\xfe",
    b'{"model": "\\ud800"}',
    b"\xed\xa0\x80",
    b'{"model": NaN}',
    b'{"n": 1e999}',
    b'{"n": ' + b"9" * 400 + b"}",
    b"[" * 100_000,
    b'{"messages": ' * 2000,
    b"{" + b" " * 1_000_000,
    b'{"model":"m","model":"n","messages":[],"messages":3}',
    b"\x00" * 1000,
    json.dumps({**GOOD, "messages": [{"role": "user", "content": "x" * 3_000_000}]}).encode(),
]
CONTENT: list[Any] = [
    {"role": "user"},
    {"role": "nobody", "content": "q"},
    {"role": ["user"], "content": "q"},
    {"content": "q"},
    {"role": "tool", "content": "x"},
    {"role": "tool", "tool_call_id": 3, "content": "x"},
    {"role": "assistant", "content": None, "tool_calls": [{}]},
    {"role": "assistant", "content": None, "tool_calls": [{"id": 1, "function": 2}]},
    {"role": "assistant", "content": None, "tool_calls": "x"},
    {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{"}}]},
    {"role": "user", "content": [{"type": "text"}]},
    {"role": "user", "content": [{"type": "image_url", "image_url": 3}]},
    {"role": "user", "content": [{"type": ["image"], "source": {"data": 3}}]},
    {"role": "user", "content": [{"type": "image", "source": "x"}]},
    {"role": "user", "content": [{"type": "tool_result"}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": 3}]},
    {"role": "assistant", "content": [{"type": "tool_use", "input": 3}]},
    {"role": "assistant", "content": [{"type": "thinking"}, {"type": "redacted_thinking"}, {"type": None}]},
    {"type": "function_call"},
    {"type": "function_call", "arguments": {"a": 1}, "name": 3},
    {"type": "function_call_output"},
    {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_image", "image_url": 5}]},
    {"type": "reasoning", "summary": 3},
    {"type": "item_reference"},
    {"type": 5},
    {"type": "computer_call_output", "call_id": "x", "output": {}},
]


def bodies() -> list[bytes]:
    found = list(RAW)
    found += [json.dumps({**GOOD, field: odd}).encode() for field, odd in itertools.product(FIELDS, ODD)]
    found += [json.dumps({**GOOD, "messages": [item], "input": [item]}).encode() for item in CONTENT]
    return found


def well_answered(status: int, body: bytes, path: str) -> bool:
    """Whether an answer is a reply or an error in the provider's shape."""
    if status == 200:
        return True
    data = json.loads(body)
    message = data["error"]["message"]
    return (
        status in (400, 404)
        and isinstance(message, str)
        and bool(message)
        and ("request_id" in data) == ("messages" in path)
    )


@pytest.mark.parametrize("path", PATHS)
def test_hundreds_of_bad_bodies_are_answered(gateway: Gateway, path: str) -> None:
    script = Script(lambda request: "fine")
    session = gateway.open(script, limits=Limits(model_calls=None))
    other = gateway.open(Script(lambda request: "still here"), limits=Limits(model_calls=None))
    anthropic = {"anthropic-version": "2023-06-01"} if "messages" in path else {}
    headers = {"authorization": f"Bearer {session.key}", "content-type": "application/json", **anthropic}
    with httpx2.Client(base_url=gateway.base_url, timeout=30) as client:
        for number, body in enumerate(bodies()):
            answer = client.post(path, content=body, headers=headers)
            assert well_answered(answer.status_code, answer.content, path), (body[:200], answer.text)
            if number % 100 == 0:
                asked = {"authorization": f"Bearer {other.key}"}
                assert client.post("/v1/chat/completions", json=GOOD, headers=asked).status_code == 200
    assert len(bodies()) > 200


def test_broken_http_is_answered_or_closed_and_others_go_on(gateway: Gateway) -> None:
    import socket

    host, port = gateway.base_url.removeprefix("http://").split(":")
    for raw in (
        b"\x16\x03\x01",
        b"GET\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: 50\r\n\r\nab",
    ):
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(raw)
            connection.shutdown(socket.SHUT_WR)
    session = gateway.open(Script(["fine"]))
    answer = httpx2.post(
        f"{gateway.base_url}/v1/chat/completions", json=GOOD, headers={"authorization": f"Bearer {session.key}"}
    )
    assert answer.status_code == 200


NAMES = ("type", "role", "content", "text", "id", "name", "function", "arguments", "input", "output")
KINDS = ("message", "function_call", "function_call_output", "reasoning")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "role", "content", "text", "id", "name", "function", "arguments", "input", "output"]
            )
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
ITEM = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system"]) | JSON, "content": JSON},
    optional={
        "tool_calls": JSON,
        "tool_call_id": JSON,
        "type": st.sampled_from(["message", "function_call", "reasoning"]) | JSON,
    },
)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    path=st.sampled_from(PATHS),
    items=st.lists(ITEM, max_size=3) | JSON,
    more=st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4),
    streamed=st.booleans(),
)
def test_any_json_is_answered(path: str, items: Any, more: dict[str, Any], streamed: bool) -> None:
    gateway = Gateway()
    session = gateway.open(Script(["fine"]))
    body = json.dumps({**GOOD, "messages": items, "input": items, "stream": streamed, **more}).encode()
    headers = {"authorization": f"Bearer {session.key}"} | ({"anthropic-version": "x"} if "messages" in path else {})
    reply = gateway.receive(HttpRequest("POST", path, headers, body))
    assert isinstance(reply, HttpReply)
    assert well_answered(reply.status, b"".join(reply.chunks), path)


@settings(max_examples=200, deadline=None)
@given(path=st.sampled_from(PATHS), body=st.binary(max_size=60))
def test_any_bytes_are_answered(path: str, body: bytes) -> None:
    gateway = Gateway()
    session = gateway.open(Script(["fine"]))
    reply = gateway.receive(HttpRequest("POST", path, {"x-api-key": session.key}, body))
    assert isinstance(reply, HttpReply)
    assert well_answered(reply.status, b"".join(reply.chunks), path)
