"""Errors in the shape of the provider that the agent thinks it talks to."""

from __future__ import annotations

from collections.abc import Mapping

from passhat.gateway._http import HttpReply
from passhat.gateway._wires._shape import encode

_OPENAI = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "invalid_request_error",
    422: "invalid_request_error",
    429: "rate_limit_error",
}
_ANTHROPIC = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    422: "invalid_request_error",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_OPENAI_CODE = {401: "invalid_api_key", 429: "rate_limit_exceeded"}
NO_RETRY = {"x-should-retry": "false"}


def speaks_anthropic(path: str, headers: Mapping[str, str]) -> bool:
    """Whether a request that fits no wire comes from Anthropic's client."""
    return "anthropic-version" in headers or "/messages" in path


def provider_error(
    anthropic: bool,
    status: int,
    message: str,
    *,
    request_id: str,
    kind: str | None = None,
    code: str | None = None,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> HttpReply:
    """An error answer. ``kind`` and ``code`` default to what the provider sends with that status."""
    if anthropic:
        kind = kind or _ANTHROPIC.get(status, "api_error")
        body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": request_id}
    else:
        kind = kind or _OPENAI.get(status, "server_error" if status >= 500 else "invalid_request_error")
        detail = {"message": message, "type": kind, "param": param, "code": code or _OPENAI_CODE.get(status)}
        body = {"error": detail}
    names = [
        ("content-type", "application/json"),
        ("request-id" if anthropic else "x-request-id", request_id),
        *((name.lower(), value) for name, value in (headers or {}).items()),
    ]
    return HttpReply(status, names, [encode(body)])
