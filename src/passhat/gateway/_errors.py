"""What can go wrong at the gateway.

GatewayError
├── BadRequest        a request that a provider would refuse; becomes an HTTP answer, never a crash
├── LimitReached      a limit of the trial that refuses the next call
├── ScriptError       a script that can't be played: used up, shared between trials, or it raised
├── FaultError        a fault that can't be read
├── CassetteError     a cassette that can't be read or written
│   └── MissedRequest a request that the cassette doesn't hold
└── UpstreamError     a real provider that can't be reached or isn't configured
"""

from __future__ import annotations

from passhat.facts import PasshatError


class GatewayError(PasshatError):
    """Any trouble with the gateway; the message says what to do."""


class BadRequest(GatewayError):
    """A request that the provider would refuse too. ``param`` names the field at fault."""

    def __init__(self, message: str, *, param: str | None = None, status: int = 400, code: str | None = None) -> None:
        super().__init__(message)
        self.param = param
        self.status = status
        self.code = code


class LimitReached(GatewayError):
    """A limit of the trial: ``limit`` is model_calls, tokens or dollars."""

    def __init__(self, limit: str, message: str) -> None:
        super().__init__(message)
        self.limit = limit


class ScriptError(GatewayError):
    """A script that can't go on."""


class FaultError(GatewayError, ValueError):
    """A fault whose description makes no sense."""


class CassetteError(GatewayError):
    """A cassette that can't be read or written; it is never recorded over."""


class MissedRequest(CassetteError):
    """A request that isn't in the cassette; the message shows the nearest one that is."""


class UpstreamError(GatewayError):
    """A provider that isn't configured, or doesn't speak the agent's wire."""
