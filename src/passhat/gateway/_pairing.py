"""Providers refuse a conversation in which a tool call has no result; a double that took it would hide the bug."""

from __future__ import annotations

from passhat.gateway._errors import BadRequest
from passhat.gateway._request import Request


def check_pairs(request: Request) -> None:
    """Raise the provider's `BadRequest` for a tool call without its result, or a result without its call.

    On chat and messages the results come right after the calls; on responses they may come anywhere later.
    """
    asked: set[str] = set()  # calls of the newest answer that has some
    open_calls: list[str] = []
    known: set[str] = set()
    for message in request.messages:
        if message.role == "tool":
            call_id = message.call_id or ""
            if call_id not in (known if request.wire == "responses" else asked):
                raise BadRequest(_no_call(request.wire, call_id))
            if call_id in open_calls:
                open_calls.remove(call_id)
        elif message.tool_calls:
            _check_answered(request.wire, open_calls)
            asked = {call.id for call in message.tool_calls}
            open_calls = [*open_calls, *(call.id for call in message.tool_calls)]
            known |= asked
        elif request.wire != "responses":
            _check_answered(request.wire, open_calls)
    if open_calls:
        raise BadRequest(_no_result(request.wire, open_calls))


def _check_answered(wire: str, open_calls: list[str]) -> None:
    if open_calls and wire != "responses":
        raise BadRequest(_no_result(wire, open_calls))


def _no_result(wire: str, calls: list[str]) -> str:
    if wire == "chat":
        return (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(calls)}"
        )
    if wire == "messages":
        return (
            f"`tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(calls)}. "
            "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
        )
    return f"No tool output found for function call {calls[0]}."


def _no_call(wire: str, call_id: str) -> str:
    if wire == "chat":
        return "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
    if wire == "messages":
        return f"unexpected `tool_use_id` found in `tool_result` blocks: {call_id}."
    return f"No tool call found for function call output with call_id {call_id}."
