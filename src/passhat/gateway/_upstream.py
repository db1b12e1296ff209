"""Which real provider answers, at what address and with whose key: as the host's environment says."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from passhat.facts import on_loopback
from passhat.gateway._errors import UpstreamError
from passhat.gateway._providers import PROVIDERS

_WORDS = {"chat": "OpenAI chat completions", "responses": "OpenAI responses", "messages": "Anthropic messages"}


class Upstream(msgspec.Struct, frozen=True):
    """A real provider. ``base_url`` is what its clients take: with ``/v1`` for OpenAI's kind, without for Anthropic's.

    ``model`` replaces the model that agents ask for; None leaves it to them. ``key_name`` is the variable that had the
    key.
    """

    provider: str
    base_url: str
    key: str = ""
    wires: frozenset[str] = frozenset({"chat"})
    model: str | None = None
    key_name: str = ""

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UpstreamError(f"{self.provider}: base URL {self.base_url!r} must begin with http:// or https://")
        if parts.username or parts.password:
            raise UpstreamError(f"{self.provider}: the base URL holds a password; give the key by its own variable")

    def __repr__(self) -> str:
        return f"Upstream({self.provider!r}, {self.base_url!r}, model={self.model!r})"

    @property
    def key_variable(self) -> str:
        """The variable that the key came from, else those that it is looked for in; "" for an unknown provider."""
        known = PROVIDERS.get(self.provider)
        return self.key_name or ("" if known is None else " or ".join(known.key_names))

    @property
    def local(self) -> bool:
        """Whether it is on this machine, where no proxy may come between."""
        return on_loopback(urlsplit(self.base_url).hostname or "")

    def url(self, path: str, query: str) -> str:
        """The address for a path without ``/v1``."""
        base = self.base_url.rstrip("/")
        if "messages" in self.wires and not base.endswith("/v1"):
            base += "/v1"
        return f"{base}{path}?{query}" if query else base + path

    def auth(self) -> dict[str, str]:
        """The headers that hold the key."""
        if not self.key:
            return {}
        if "messages" in self.wires:
            return {"x-api-key": self.key}
        return {"authorization": f"Bearer {self.key}"}


def upstream_for(provider: str, environ: Mapping[str, str], *, model: str | None = None) -> Upstream:
    """The provider as the host's environment names it; raises `UpstreamError` for an unknown one or without its key.

    >>> upstream_for("openai", {"OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}).base_url
    'http://127.0.0.1:9/v1'
    >>> upstream_for("anthropic", {})
    Traceback (most recent call last):
    ...
    passhat.gateway._errors.UpstreamError: anthropic needs a key: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN
    """
    known = PROVIDERS.get(provider)
    if known is None:
        raise UpstreamError(f"unknown provider {provider!r}: use one of {', '.join(PROVIDERS)}")
    base = next((environ[name] for name in known.base_names if environ.get(name)), known.base_url)
    key_name = next((name for name in known.key_names if environ.get(name)), "")
    upstream = Upstream(provider, base, environ.get(key_name, ""), known.wires, model, key_name)
    if not upstream.key and known.needs_key and not upstream.local:
        raise UpstreamError(f"{provider} needs a key: set {' or '.join(known.key_names)}")
    return upstream


def upstream_of_model(name: str, environ: Mapping[str, str]) -> Upstream:
    """The provider and model of ``PROVIDER/NAME``, as in ``--model openai/gpt-5``."""
    provider, slash, model = name.partition("/")
    if not slash or not model:
        raise UpstreamError(f"model {name!r}: write PROVIDER/NAME, with a provider of {', '.join(PROVIDERS)}")
    return upstream_for(provider, environ, model=model)


def wire_words(wires: frozenset[str]) -> str:
    """Wires in the words of the documentation."""
    return " and ".join(_WORDS[wire] for wire in sorted(wires))
