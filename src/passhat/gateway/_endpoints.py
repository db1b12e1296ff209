"""What a client may ask besides an answer: the list of models, a count of tokens. The rest is the provider's 404."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from passhat.gateway._errors import BadRequest
from passhat.gateway._http import HttpReply, HttpRequest
from passhat.gateway._tokens import prompt_text, tokens
from passhat.gateway._wires import WIRES, bare
from passhat.gateway._wires._errors import provider_error, speaks_anthropic
from passhat.gateway._wires._shape import encode

if TYPE_CHECKING:
    from passhat.gateway._session import Session

_COUNTS = {"/messages/count_tokens": "messages", "/responses/input_tokens": "responses"}
_FREE = ("GET", "HEAD", "DELETE", "OPTIONS")
_DEFAULT_MODEL = "faux-1"


def own_endpoint(http: HttpRequest) -> bool:
    """Whether the double can answer a request that isn't for the model."""
    path = bare(http.path)
    listing = http.method == "GET" and (path == "/models" or path.startswith("/models/"))
    return listing or (http.method == "POST" and path in _COUNTS)


def costs_nothing(http: HttpRequest) -> bool:
    """Whether no provider takes money for a request: it only looks something up, takes away or counts tokens.

    >>> costs_nothing(HttpRequest("GET", "/v1/batches/b1", {}, b""))
    True
    >>> costs_nothing(HttpRequest("POST", "/v1/embeddings", {}, b""))
    False
    """
    return http.method in _FREE or own_endpoint(http)


def side_endpoint(session: Session, http: HttpRequest) -> HttpReply:
    """Answer a request that isn't for the model."""
    path = bare(http.path)
    anthropic = speaks_anthropic(http.path, http.headers)
    request_id = session.new_id("req_")
    if path == "/models" and http.method == "GET":
        names = list(session.models) or [_DEFAULT_MODEL]
        return _json(_listing(names, anthropic), anthropic, request_id)
    if path.startswith("/models/") and http.method == "GET":
        return _json(_model(path.removeprefix("/models/"), anthropic), anthropic, request_id)
    if path in _COUNTS and http.method == "POST":
        return _count(session, http, _COUNTS[path], request_id)
    text = (
        f"Unknown request URL: {http.method} {http.path}. "
        "The model double speaks chat completions, responses and messages."
    )
    return provider_error(anthropic, 404, text, request_id=request_id)


def _count(session: Session, http: HttpRequest, name: str, request_id: str) -> HttpReply:
    anthropic = name == "messages"
    try:
        body = msgspec.json.decode(http.body)
        if not isinstance(body, dict):
            raise BadRequest("The body must be a JSON object.")
        lenient = {"max_tokens": 1, "model": _DEFAULT_MODEL, "input": "", **body}
        request = WIRES[name].parse(lenient, http.body, http.headers, session.history)
    except (BadRequest, msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        return provider_error(anthropic, 400, str(error), request_id=request_id)
    count = tokens(prompt_text(request.messages, request.tools))
    data = {"input_tokens": count} if anthropic else {"object": "response.input_tokens", "input_tokens": count}
    return _json(data, anthropic, request_id)


def _listing(names: list[str], anthropic: bool) -> dict[str, Any]:
    models = [_model(name, anthropic) for name in names]
    if anthropic:
        return {"data": models, "has_more": False, "first_id": names[0], "last_id": names[-1]}
    return {"object": "list", "data": models}


def _model(name: str, anthropic: bool) -> dict[str, Any]:
    if anthropic:
        return {"type": "model", "id": name, "display_name": name, "created_at": "2025-01-01T00:00:00Z"}
    return {"id": name, "object": "model", "created": 1735689600, "owned_by": "passhat"}


def _json(data: Any, anthropic: bool, request_id: str) -> HttpReply:
    name = "request-id" if anthropic else "x-request-id"
    return HttpReply(200, [("content-type", "application/json"), (name, request_id)], [encode(data)])
