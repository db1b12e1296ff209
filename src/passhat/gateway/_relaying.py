"""A request on its way to a provider, and the record of how it ended."""

from __future__ import annotations

from typing import Any

import msgspec

from passhat.facts import ModelCall
from passhat.gateway._endpoints import costs_nothing
from passhat.gateway._exchange import REFUSED, Exchange
from passhat.gateway._forward import Remote
from passhat.gateway._http import HttpRequest
from passhat.gateway._prices import price
from passhat.gateway._session import Session
from passhat.gateway._wires import Wire
from passhat.gateway._wires._errors import speaks_anthropic
from passhat.gateway._wires._shape import Observed


class Relaying(msgspec.Struct, frozen=True):
    """A request on its way to a provider. ``exchange`` is None for what isn't a question to the model."""

    session: Session
    http: HttpRequest
    remote: Remote
    at: float
    exchange: Exchange | None = None

    @property
    def anthropic(self) -> bool:
        """Whether errors go out in Anthropic's shape."""
        return speaks_anthropic(self.http.path, self.http.headers)

    @property
    def wire(self) -> Wire | None:
        """The wire of a question to the model."""
        return None if self.exchange is None else self.exchange.wire

    def priced(self, seen: Observed) -> Observed:
        """What was seen, with the call counted and priced."""
        asked = self.remote.upstream.model or (self.exchange.request.model if self.exchange else "")
        cost = price(self.remote.upstream.provider, seen.model or asked, seen.usage, seen.cache_written)
        if cost is None and seen.model and asked:
            cost = price(self.remote.upstream.provider, asked, seen.usage, seen.cache_written)
        calls = 0 if self.exchange is None and costs_nothing(self.http) else 1
        seen.usage = msgspec.structs.replace(seen.usage, model_calls=calls, dollars=cost)
        return seen

    def record(self, seen: Observed, **details: Any) -> None:
        """Record the end of the call."""
        seen = self.priced(seen)
        if self.exchange is not None:
            self.exchange.record(seen, **details)
            return
        self._beside(
            model=seen.model or "",
            usage=seen.usage,
            http_status=details.get("status", 200),
            error=details.get("error"),
        )

    def refused(self, limit: str, text: str) -> None:
        """Record that a request beside the model wasn't passed on, since a limit is reached."""
        self._beside(usage=REFUSED, http_status=400, error=text, refused=limit)

    def _beside(self, **seen: Any) -> None:
        session, request = self.session, f"{self.http.method} {self.http.path}"
        took = max(0.0, session.now() - self.at)
        session.ended(ModelCall(self.at, took, "other", "live", settings={"request": request}, **seen))
