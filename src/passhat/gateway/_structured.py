"""Structured data is answered the way the request asks: as JSON text, or as a call of the output tool."""

from __future__ import annotations

from typing import Any

import msgspec

from passhat.facts import ToolCall, ToolOffer
from passhat.gateway._reply import Reply
from passhat.gateway._request import Request

_OUTPUT_TOOL = "final_result"


def as_asked(reply: Reply, request: Request) -> Reply:
    """The reply with its ``structured`` data put where the client will look for it."""
    if reply.structured is msgspec.UNSET:
        return reply
    tool = None if request.response_format is not None else output_tool(request, reply.structured)
    if tool is None:
        text = reply.text + msgspec.json.encode(reply.structured).decode()
        return msgspec.structs.replace(reply, structured=msgspec.UNSET, text=text)
    call = ToolCall("", tool, reply.structured)
    return msgspec.structs.replace(reply, structured=msgspec.UNSET, tool_calls=(*reply.tool_calls, call))


def output_tool(request: Request, data: Any) -> str | None:
    """The tool that a request wants its output given to; None when it wants plain text.

    A named tool choice says it. Where some tool is required, or one is called ``final_result``, it is that one, else
    the offered tool whose required properties fit the data, else the last one offered.
    """
    offered = [tool.name for tool in request.tools]
    if request.tool_choice not in ("auto", "none", "required"):
        return request.tool_choice
    if request.tool_choice != "none" and _OUTPUT_TOOL in offered:
        return _OUTPUT_TOOL
    if request.tool_choice != "required" or not offered:
        return None
    fitting = [tool.name for tool in request.tools if _fits(tool, data)]
    return (fitting or offered)[-1]


def _fits(tool: ToolOffer, data: Any) -> bool:
    schema = tool.parameters
    if not isinstance(schema, dict) or not isinstance(data, dict):
        return False
    needed, known = schema.get("required") or (), schema.get("properties") or {}
    return set(needed) <= set(data) <= set(known)
