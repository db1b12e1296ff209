"""A test double for the model, on the wire: scripts, simulations, cassettes, and a meter before the real thing.

Agents reach it over HTTP with their usual client; it speaks OpenAI chat completions, OpenAI responses and
Anthropic messages. The trial is known by its API key.
"""

from passhat.gateway._cassette import Cassette
from passhat.gateway._cassette_modes import Record, Replay
from passhat.gateway._chunks import Chunking
from passhat.gateway._clock import Clock, ImmediateClock, SystemClock
from passhat.gateway._denied import Denied
from passhat.gateway._errors import (
    BadRequest,
    CassetteError,
    FaultError,
    GatewayError,
    MissedRequest,
    ScriptError,
    UpstreamError,
)
from passhat.gateway._faults import Fault, Faults
from passhat.gateway._forward import Forward
from passhat.gateway._gateway import Gateway
from passhat.gateway._modes import Script, Simulate
from passhat.gateway._providers import KNOWN, PROVIDERS
from passhat.gateway._reply import Reply
from passhat.gateway._request import Request
from passhat.gateway._server_thread import in_gateway
from passhat.gateway._session import Session
from passhat.gateway._upstream import Upstream, upstream_for, upstream_of_model

__all__ = [
    "KNOWN",
    "PROVIDERS",
    "BadRequest",
    "Cassette",
    "CassetteError",
    "Chunking",
    "Clock",
    "Denied",
    "Fault",
    "FaultError",
    "Faults",
    "Forward",
    "Gateway",
    "GatewayError",
    "ImmediateClock",
    "MissedRequest",
    "Record",
    "Replay",
    "Reply",
    "Request",
    "Script",
    "ScriptError",
    "Session",
    "Simulate",
    "SystemClock",
    "Upstream",
    "UpstreamError",
    "in_gateway",
    "upstream_for",
    "upstream_of_model",
]
