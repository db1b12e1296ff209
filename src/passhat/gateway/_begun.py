"""What answers a request of a session: counted, read, and given to the mode, or refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from passhat.gateway._cassette_modes import Stored
from passhat.gateway._endpoints import costs_nothing, side_endpoint
from passhat.gateway._errors import BadRequest, CassetteError, GatewayError, LimitReached, UpstreamError
from passhat.gateway._exchange import NOTHING, Exchange, Pending
from passhat.gateway._faults import instead
from passhat.gateway._forward import Remote
from passhat.gateway._http import HttpReply, HttpRequest
from passhat.gateway._modes import Compute
from passhat.gateway._pairing import check_pairs
from passhat.gateway._relaying import Relaying
from passhat.gateway._reply import Reply
from passhat.gateway._request import Request
from passhat.gateway._session import Session
from passhat.gateway._wires import Wire
from passhat.gateway._wires._errors import NO_RETRY, provider_error, speaks_anthropic
from passhat.gateway._wires._shape import Observed, retry_count

_decode = msgspec.json.Decoder().decode


def beside(session: Session, http: HttpRequest) -> HttpReply | Relaying:
    """Answer, replay or pass on a request that isn't for the model."""
    beside = getattr(session.player, "beside", None)
    if beside is None:
        return side_endpoint(session, http)
    try:
        step = beside(http)
    except GatewayError as error:
        return denied(http, 400, str(error), "passhat_refused")
    if step is None:
        return side_endpoint(session, http)
    if isinstance(step, Stored):
        return HttpReply(step.status, [("content-type", "application/json")], [msgspec.json.encode(step.body)])
    relaying = Relaying(session, http, step, session.now())
    if costs_nothing(http):
        return relaying
    reached = session.meter.begin(retry_count(http.headers), question=False)
    if reached is None:
        return relaying
    text = session.meter.describe(reached)
    relaying.refused(reached, text)
    return denied(http, 400, text, "passhat_refused")


def begin(session: Session, wire: Wire, http: HttpRequest) -> HttpReply | Pending | Relaying:
    """Count a request to the model and find what answers it."""
    at = session.now()
    body, request, problem = _read(session, wire, http)
    with session.lock:  # nothing in here calls the session's owner back
        refused = session.meter.begin(request.retry)
        session.models[request.model] = None
        exchange = Exchange(session, wire, http, body, request, session.meter.questions, at)
        step = _next(session, exchange, refused, problem)
    if isinstance(step, Reply):
        return exchange.answer(step)
    if isinstance(step, Compute):
        return Pending(step, exchange)
    if isinstance(step, Stored):
        return exchange.replay(step)
    if isinstance(step, Remote):
        return Relaying(session, http, step, at, exchange)
    if isinstance(step, BadRequest):
        return exchange.invalid(step)
    if isinstance(step, GatewayError):
        return exchange.refuse(_refusal(step), str(step))
    if isinstance(step, HttpReply):
        exchange.record(Observed(usage=NOTHING), status=502, error="injected fault: reset")
        return step
    raise TypeError(f"a mode answered with {type(step).__name__}")


def _next(session: Session, exchange: Exchange, refused: str | None, problem: BadRequest | None) -> Any:
    """What answers a request: a limit, the provider's refusal, a fault, or the mode's step; errors are returned."""
    if refused is not None:
        return LimitReached(refused, session.meter.describe(refused))
    if problem is not None and not getattr(session.player, "passes_on", False):
        return problem
    exchange.fault = session.faults.strike(exchange.number)
    struck = None if exchange.fault is None else instead(exchange.fault)
    if struck is not None:
        return struck
    try:
        if session.source in ("scripted", "simulated"):
            check_pairs(exchange.request)
        return session.player.next(exchange.request)
    except GatewayError as error:
        return error
    except RecursionError:
        return BadRequest("The request is nested too deeply.")


def _refusal(error: GatewayError) -> str:
    if isinstance(error, LimitReached):
        return error.limit
    if isinstance(error, UpstreamError):
        return "upstream"
    return "cassette" if isinstance(error, CassetteError) else "script"


def _read(session: Session, wire: Wire, http: HttpRequest) -> tuple[Mapping[str, Any], Request, BadRequest | None]:
    """The decoded body and the request; as much of them as can be read where a provider would refuse it, and why."""
    body: Any = None
    try:
        body = _decode(http.body)
        if not isinstance(body, dict):
            raise BadRequest("The body must be a JSON object.")
        return body, wire.parse(body, http.body, http.headers, session.history), None
    except BadRequest as error:
        problem = error
    except (msgspec.MsgspecError, RecursionError, UnicodeError, ValueError) as error:
        why = str(error) or type(error).__name__
        problem = BadRequest(f"We could not parse the JSON body of your request. ({why})")
    known = body if isinstance(body, dict) else {}
    model = known.get("model")
    retry = retry_count(http.headers)
    return known, Request(wire.name, model if isinstance(model, str) else "", (), raw=http.body, retry=retry), problem


def denied(http: HttpRequest, status: int, text: str, code: str, headers: Mapping[str, str] = NO_RETRY) -> HttpReply:
    anthropic = speaks_anthropic(http.path, http.headers)
    return provider_error(anthropic, status, text, request_id="req_denied", code=code, headers=headers)
