"""A result that says in its own words that the call failed, and those that don't, wherever that matters."""

import warnings
from typing import Any

import pytest

from passhat.graders import run_grader, trace
from passhat.graders.trace._errors import reads_as_error

BAD = [
    '{"success": false, "reason": "no"}',
    '{"ok": false}',
    '{"success": "false"}',
    '{"status": "error", "message": "no such order"}',
    '{"status": "Failed"}',
    '{"status": "failure"}',
    '{"errors": ["no such order"]}',
    '{"error": {"message": "no such order"}}',
    '{"isError": true, "content": []}',
    "{'success': False, 'id': '123e4567', 'note': 'it\\'s'}",
    '"Error: quoted once more"',
    "<error>no such order</error>",
    '<?xml version="1.0"?>\n<error code="4"><text>no</text></error>',
    "<tool_use_error>no such order</tool_use_error>",
    "Tool call failed: timeout",
    "Tool get_order failed: timeout",
    'Function "get" raised ValueError',
    "Tool nuke not found",
    "Tool execution was blocked",
    'Validation failed for tool "get":',
    "ValueError: no",
    "KeyError: 0",
    "Error: no such order",
    '{"error": "no"}',
    '[{"type": "text", "text": "Error: no such order"}]',
    "[{'type': 'text', 'text': 'Error: no such order'}]",
    '[{"type": "text", "text": "{\\"success\\": false}"}]',
    '[{"error": "no such order"}]',
    "Tool error: no such order",
    "tool_error: no",
    "MCP error -32602: Invalid",
    "McpError: no",
    "Error!",
    "error",
    "Error executing tool get: no",
    "Error code: 404 - not found",
    "Error 404",
    "Failed to get the order",
    "Blocked by policy",
    "Traceback (most recent call last):",
    '{"error": true}',
    '{"error": {"code": 5, "message": "no"}}',
    '{"is_error": 1}',
]
GOOD = [
    '{"error": null, "id": 3}',
    '{"errors": []}',
    '{"error": ""}',
    '{"error": "none"}',
    '{"error": {"code": 0, "message": ""}}',
    '{"errors": {"email": []}}',
    '{"status": "failed_over"}',
    '{"status": "ok", "last_error": "x"}',
    '{"success": true}',
    '{"ok": 0}',
    '{"order": {"status": "failed"}}',
    '["error"]',
    "{'error': None}",
    "<error></error>",
    "<error/>",
    "<errors>0</errors>",
    "Errors: 0",
    "Failed: 0, passed: 3",
    "Failed orders: none",
    "Error: none",
    "Refunded. No tool call failed.",
    "Tools of the trade",
    "{" * 5000,
    "3",
    '{"error": 0.02, "metric": "mse"}',
    '{"error": 0.0}',
    '{"error": NaN}',
    '{"error": "No error"}',
    '{"error": "n/a"}',
    '{"error": {"code": 0, "message": "OK"}}',
    '{"error": {"code": "0"}}',
    '{"errors": 3, "passed": 7}',
    '[{"error": 0.1}]',
    '[{"error": "x"}, {"id": 3}]',
    '[{"status": "failed"}]',
    '[{"type": "text", "text": "Error rate: 2%"}]',
    "Error rate: 2%",
    "Error handling in Python (book)",
    "Failed payments this month: 3",
    "Failed deliveries are retried",
    "Blocked users: bob",
    "Denied Boarding policy: you get 250 EUR",
    "Refused parcels can be returned",
    "Tool calls failed: 0",
    "Validation failed: 0 of 10",
    "Exception to policy granted.",
    "{1is",
    "{'a': '\\d', 'success': False}",
]


@pytest.mark.parametrize("result", BAD)
def test_a_result_that_says_it_failed_is_an_error_in_every_check(talk: Any, result: str) -> None:
    talk.offer("get", "refund").model("", "get").results(result).model("", "refund").results("ok").model("done")
    assert run_grader(trace.before("get", "refund"), talk.trial()).passed is False
    assert run_grader(trace.before("get", "refund", succeeded=False), talk.trial()).passed is True
    assert run_grader(trace.returned_error("get"), talk.trial()).passed is True
    moved = type(talk)().offer("move").model("", "move").results(result).model("sorry")
    assert run_grader(trace.handed_off(tool="move"), moved.trial()).passed is False


@pytest.mark.parametrize("result", GOOD, ids=lambda result: result[:40])
def test_a_result_that_only_speaks_of_errors_is_none(talk: Any, result: str) -> None:
    talk.offer("get", "refund").model("", "get").results(result).model("", "refund").results("ok").model("done")
    assert run_grader(trace.before("get", "refund"), talk.trial()).passed is True
    assert run_grader(trace.returned_error("get"), talk.trial()).passed is False


@pytest.mark.parametrize("result", ["{'a': '\\d', 'success': False}", "{1is", "{'a': 0x1for x"])
def test_text_that_only_looks_like_python_makes_no_warning(result: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert not reads_as_error(result)
    assert not caught


def test_a_recorded_result_is_read_as_the_value_it_is(talk: Any) -> None:
    talk.offer("get", "refund").model("", "get").run("get", call=1, result={"success": False}).model("", "refund")
    talk.run("refund", call=2)
    assert run_grader(trace.before("get", "refund", evidence="executed"), talk.trial()).passed is False
    said = type(talk)().offer("get").model("", "get").run("get", call=1, result={"ok": False}).results("see above")
    assert run_grader(trace.returned_error("get"), said.model("done").trial()).passed is True
    for value in ({"success": True}, [{"success": False}], 0, False, None):
        assert not reads_as_error(value)


def test_a_mark_on_the_wire_counts_whatever_the_agent_recorded(talk: Any) -> None:
    talk.offer("get", "refund").model("", "get").run("get", call=1).results("try later", error=True)
    talk.model("", "refund").results("ok").model("done")
    assert run_grader(trace.before("get", "refund"), talk.trial()).passed is False


@pytest.mark.parametrize("depth", [100, 500])
def test_a_result_is_read_however_deep_it_goes(depth: int) -> None:
    assert not reads_as_error('{"error": ' * depth + "0" + "}" * depth)
    assert reads_as_error('{"error": ' + "[" * depth + "1" + "]" * depth + "}")


def test_a_result_deeper_than_anything_that_is_read_is_no_fault_of_the_check() -> None:
    assert reads_as_error('{"error": ' * 50_000 + "1" + "}" * 50_000) in (True, False)
