"""Mode forward: a real provider answers; its bytes pass through, metered on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from passhat.gateway._errors import UpstreamError
from passhat.gateway._http import HttpRequest
from passhat.gateway._modes import Context, Step
from passhat.gateway._prices import has_price
from passhat.gateway._providers import PROVIDERS
from passhat.gateway._request import Request
from passhat.gateway._upstream import Upstream, upstream_for, upstream_of_model, wire_words
from passhat.gateway._wires._errors import speaks_anthropic

Keep = Callable[[int, Any, "list[Any] | None"], None]
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class Remote(msgspec.Struct, frozen=True):
    """A request to pass on. ``hide_usage`` takes out the usage chunk that the agent didn't ask for.

    ``keep`` is given status, body and events (None when not streamed) of a complete answer.
    """

    upstream: Upstream
    body: bytes
    hide_usage: bool = False
    keep: Keep | None = None


class Forward:
    """Real providers, one for each wire (the first that speaks it)."""

    source = "live"

    def __init__(self, *upstreams: Upstream, missing: Mapping[str, str] | None = None) -> None:
        self.upstreams = upstreams
        self._missing = dict(missing or {})
        if not upstreams and not missing:
            raise UpstreamError("forwarding needs at least one provider")

    @classmethod
    def to_model(cls, name: str, environ: Mapping[str, str]) -> Forward:
        """One model for all requests: ``PROVIDER/NAME``, as ``--model`` has it."""
        return cls(upstream_of_model(name, environ))

    @classmethod
    def as_asked(cls, environ: Mapping[str, str]) -> Forward:
        """What the agent itself asks for: OpenAI's wires to OpenAI, Anthropic's to Anthropic, by the host's variables.

        A provider without a key in the environment is missed only by the agent that asks for it.
        """
        found: list[Upstream] = []
        missing: dict[str, str] = {}
        for provider in ("openai", "anthropic"):
            try:
                found.append(upstream_for(provider, environ))
            except UpstreamError as error:
                missing |= {wire: str(error) for wire in PROVIDERS[provider].wires}
        return cls(*found, missing=missing)

    def open(self, context: Context) -> Forwarding:
        """Begin a session; a limit in dollars needs a price for the model."""
        for upstream in self.upstreams:
            if context.limits.dollars is not None and upstream.model is not None:
                check_price(upstream, upstream.model)
        return Forwarding(self, context)

    def upstream(self, wire: str) -> Upstream:
        """The provider for a wire; `UpstreamError` says why there is none."""
        for upstream in self.upstreams:
            if wire in upstream.wires:
                return upstream
        if wire in self._missing:
            raise UpstreamError(self._missing[wire])
        names = "; ".join(f"{u.provider}/{u.model or '…'} speaks {wire_words(u.wires)}" for u in self.upstreams)
        raise UpstreamError(
            f"The agent asks on {wire_words(frozenset({wire}))}, but {names}. "
            "Choose a model of a provider that speaks the agent's wire, or change the agent's client."
        )


class Forwarding:
    """Forwarding for one session. What we can't read is the provider's to refuse."""

    source = "live"
    passes_on = True

    def __init__(self, forward: Forward, context: Context) -> None:
        self._forward = forward
        self._context = context

    def next(self, request: Request) -> Step:
        """The request as it is passed on."""
        upstream = self._forward.upstream(request.wire)
        if self._context.limits.dollars is not None:
            check_price(upstream, upstream.model or request.model)
        ask = request.wire == "chat" and request.stream and not request.stream_usage
        return Remote(upstream, rewritten(request.raw, upstream.model, ask), ask)

    def beside(self, http: HttpRequest) -> Step:
        """A request that isn't for the model, as it is passed on."""
        if any(part in (".", "..") for part in http.path.split("/")):
            raise UpstreamError(f"{http.path} leaves the provider's API; it isn't passed on")
        wire = "messages" if speaks_anthropic(http.path, http.headers) else "chat"
        return Remote(self._forward.upstream(wire), http.body)

    def unused(self) -> tuple[str, ...]:
        """Nothing is prepared."""
        return ()

    def close(self) -> None:
        """Nothing to release."""


def check_price(upstream: Upstream, model: str) -> None:
    """Refuse a limit in dollars on a model that can't be priced."""
    if not has_price(upstream.provider, model):
        raise UpstreamError(
            f"no price is known for {upstream.provider}/{model}, so a limit in dollars can't be kept: "
            "install genai-prices (pip install passhat[all]), or limit tokens instead"
        )


def rewritten(raw: bytes, model: str | None, ask_usage: bool) -> bytes:
    """The body with another model, or with usage asked for; every other field keeps its bytes."""
    if model is None and not ask_usage:
        return raw
    try:
        fields = _decode_fields(raw)
        if model is not None:
            fields["model"] = msgspec.Raw(msgspec.json.encode(model))
        if ask_usage:
            options = msgspec.json.decode(fields.get("stream_options", b"null")) or {}
            fields["stream_options"] = msgspec.Raw(msgspec.json.encode({**options, "include_usage": True}))
        return msgspec.json.encode(fields)
    except (msgspec.MsgspecError, RecursionError, TypeError):
        return raw
