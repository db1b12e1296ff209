"""Stops requests that go past the gateway: of clients made at import, or with an address of their own.

It sees what goes through httpx or httpx2, as the clients of OpenAI and Anthropic do, to the hosts of known providers
and to those that the environment names.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from passhat.gateway import PROVIDERS, in_gateway

_LIBRARIES = ("httpx", "httpx2")
ASTRAY = (
    "a request to {host} went past the gateway and was stopped: its client was made when a module was imported, or has "
    "an address of its own, and nobody asked for a model that costs money. Put passhat_env = true into pytest's ini "
    "file, which sets the addresses before test modules are imported, or make the client inside the test; or say "
    "--model PROVIDER/NAME or --trials N in a test that isn't simulated"
)


class Astray(Exception):
    """A request that would have reached a provider."""


class Guard:
    """Patches the transports of libraries that are loaded, until it is removed.

    ``refused`` is told why a request goes astray, and says whether it is stopped.
    """

    def __init__(self, host: Mapping[str, str], refused: Callable[[str], bool]) -> None:
        named = [host[name] for each in PROVIDERS.values() for name in each.base_names if host.get(name)]
        self._places = {place_of(address) for address in (*(each.base_url for each in PROVIDERS.values()), *named)}
        self._refused = refused
        self._patched: dict[str, list[tuple[type, str, Any]]] = {}

    def install(self) -> None:
        """Patch what has been loaded since the last time."""
        for name in _LIBRARIES:
            if name not in self._patched and name in sys.modules:
                module = sys.modules[name]
                self._patched[name] = [
                    self._patch(module.HTTPTransport, "handle_request"),
                    self._patch(module.AsyncHTTPTransport, "handle_async_request"),
                ]

    def remove(self) -> None:
        """Put back what was there, unless somebody else has patched it since."""
        for patches in self._patched.values():
            for transport, name, original in patches:
                if getattr(transport, name).__module__ == __name__:
                    setattr(transport, name, original)
        self._patched = {}

    def _patch(self, transport: type, name: str) -> tuple[type, str, Any]:
        original, check = getattr(transport, name), self._check

        def handle(self: Any, request: Any) -> Any:
            check(request)
            return original(self, request)

        setattr(transport, name, handle)
        return transport, name, original

    def _check(self, request: Any) -> None:
        place = request.url.host, request.url.port or (80 if request.url.scheme == "http" else 443)
        if place in self._places and not in_gateway():
            why = ASTRAY.format(host=place[0])
            if self._refused(why):
                raise Astray(why)


def place_of(base_url: str) -> tuple[str, int]:
    """Host and port.

    >>> place_of("https://api.openai.com/v1")
    ('api.openai.com', 443)
    """
    parts = urlsplit(base_url)
    return parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)
