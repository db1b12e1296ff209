"""The double refuses what its provider would: calls without results, results without calls."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from passhat.gateway import Gateway, Script

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ASKED = {"role": "assistant", "content": None, "tool_calls": [CALL, {**CALL, "id": "c2"}]}
USER = {"role": "user", "content": "q"}


def result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "r"}


def used(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": i, "name": "f", "input": {}} for i in ids]}


def results(*ids: str) -> dict[str, Any]:
    blocks = [{"type": "tool_result", "tool_use_id": i, "content": "r"} for i in ids]
    return {"role": "user", "content": [*blocks, {"type": "text", "text": "go on"}]}


def asked(call_id: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}"}


def output(call_id: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": "r"}


GOOD: list[tuple[str, list[Any]]] = [
    ("chat/completions", [USER, ASKED, result("c2"), result("c1")]),
    ("chat/completions", [USER, ASKED, result("c1"), result("c2"), USER, {"role": "assistant", "content": "x"}, USER]),
    ("messages", [USER, used("c1", "c2"), results("c1", "c2")]),
    ("responses", [USER, asked("c1"), asked("c2"), output("c1"), USER, output("c2")]),
]
BAD: list[tuple[str, list[Any], str]] = [
    ("chat/completions", [USER, ASKED, result("c1")], "did not have response messages: c2"),
    ("chat/completions", [USER, ASKED, USER, result("c1"), result("c2")], "did not have response messages: c1, c2"),
    ("chat/completions", [USER, result("c1")], "must be a response to a preceding message"),
    ("chat/completions", [USER, ASKED, result("c1"), result("c9")], "must be a response to a preceding message"),
    ("messages", [USER, used("c1", "c2"), results("c1")], "without `tool_result` blocks immediately after: c2"),
    ("messages", [USER, results("c1")], "unexpected `tool_use_id` found in `tool_result` blocks: c1"),
    ("responses", [USER, asked("c1"), USER], "No tool output found for function call c1"),
    ("responses", [USER, output("c1")], "No tool call found for function call output with call_id c1"),
]


def post(gateway: Gateway, path: str, conversation: list[Any]) -> tuple[httpx2.Response, Script]:
    script = Script(["fine"])
    headers = {"authorization": f"Bearer {gateway.open(script).key}"}
    body = {"model": "m", "max_tokens": 9, "messages": conversation, "input": conversation}
    return httpx2.post(f"{gateway.base_url}/v1/{path}", json=body, headers=headers), script


@pytest.mark.parametrize(("path", "conversation"), GOOD)
def test_answered_calls_are_taken(gateway: Gateway, path: str, conversation: list[Any]) -> None:
    assert post(gateway, path, conversation)[0].status_code == 200


@pytest.mark.parametrize(("path", "conversation", "problem"), BAD)
def test_unanswered_calls_are_refused_and_use_no_reply_up(
    gateway: Gateway, path: str, conversation: list[Any], problem: str
) -> None:
    answer, script = post(gateway, path, conversation)
    assert answer.status_code == 400
    assert problem in answer.json()["error"]["message"]
    assert script.pending == 1
