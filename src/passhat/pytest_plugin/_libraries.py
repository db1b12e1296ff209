"""Sees the requests of HTTP libraries before they are sent, also of one that is loaded while a test runs."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any, Protocol
from urllib.parse import urlsplit

_PORTS = {"http": 80, "https": 443}
Patch = tuple[type, str, Any]


class Looks(Protocol):
    """What is shown each request."""

    def check(self, host: str, port: int) -> None:
        """Raises an error for a request that mustn't be sent to this place."""

    def rekeyed(self, value: Any) -> Any:
        """A header's value as it is to be sent."""


class Libraries:
    """Patches those that are loaded, and others when they are, until it is removed."""

    def __init__(self, looks: Looks) -> None:
        self._looks = looks
        self._patched: list[tuple[type, str, Any, Any]] = []

    def install(self) -> None:
        """Look at requests from now on."""
        for name in _LIBRARIES:
            if name in sys.modules:
                self._patch(name, sys.modules[name])
        sys.meta_path.insert(0, self)  # asked for a name that isn't loaded, and for no other

    def remove(self) -> None:
        """Put back what was there, unless somebody else has replaced it since."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for owner, name, original, ours in reversed(self._patched):
            if getattr(owner, name) is ours:
                setattr(owner, name, original)
        self._patched.clear()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """What the other finders say of a module; a library of ours is patched as soon as it is loaded."""
        if name not in _LIBRARIES:
            return None
        finders = list(sys.meta_path)
        for finder in finders[finders.index(self) + 1 :]:  # those before it were asked, and may ask it
            find = getattr(finder, "find_spec", None)
            spec = None if find is None else find(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader, functools.partial(self._patch, name))
                return spec
        return None

    def _patch(self, name: str, module: Any) -> None:
        for owner, method, ours in _LIBRARIES[name](module, self._looks):
            self._patched.append((owner, method, getattr(owner, method), ours))
            setattr(owner, method, ours)


class _Loader:
    """A module's own loader, in whose place it stands until the module is there."""

    def __init__(self, loader: Any, loaded: Callable[[Any], None]) -> None:
        self._loader = loader
        self._loaded = loaded

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: Any) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._loaded(module)


def _looked_at(owner: type, method: str, look: Callable[..., None]) -> Patch:
    """The method, with a look at its arguments first; an asynchronous one stays so."""
    original = getattr(owner, method)

    @functools.wraps(original)
    def first_look(self: Any, *args: Any, **named: Any) -> Any:
        look(self, *args, **named)
        return original(self, *args, **named)

    return owner, method, first_look


def _of_httpx(module: Any, looks: Looks) -> Iterator[Patch]:
    def look(transport: Any, request: Any) -> None:
        looks.check(request.url.host, request.url.port or _PORTS.get(request.url.scheme, 443))
        _rekey(request.headers, looks)

    yield _looked_at(module.HTTPTransport, "handle_request", look)
    yield _looked_at(module.AsyncHTTPTransport, "handle_async_request", look)


def _of_aiohttp(module: Any, looks: Looks) -> Iterator[Patch]:
    def look(request: Any, *_: Any, **__: Any) -> None:
        looks.check(request.url.host or "", request.url.port or 443)
        _rekey(request.headers, looks)

    yield _looked_at(module.ClientRequest, "send", look)


def _of_http_client(module: Any, looks: Looks) -> Iterator[Patch]:
    """The standard library's connection, on which urllib, urllib3 and so requests and boto3 rest."""
    owner = module.HTTPConnection
    original = owner.putheader

    def look(connection: Any, method: str, url: str, *_: Any, **__: Any) -> None:
        if url.startswith(("http://", "https://")):  # to a proxy
            looks.check(*place_of(url))
        else:
            looks.check(connection._tunnel_host or connection.host, connection._tunnel_port or connection.port)

    @functools.wraps(original)
    def putheader(connection: Any, header: Any, *values: Any) -> None:
        original(connection, header, *map(looks.rekeyed, values))

    yield _looked_at(owner, "putrequest", look)
    yield owner, "putheader", putheader


_LIBRARIES: dict[str, Callable[[Any, Looks], Iterator[Patch]]] = {
    "httpx": _of_httpx,
    "httpx2": _of_httpx,
    "aiohttp": _of_aiohttp,
    "http.client": _of_http_client,
}


def _rekey(headers: Any, looks: Looks) -> None:
    for name in ("authorization", "x-api-key"):
        value = headers.get(name)
        if value is not None and (now := looks.rekeyed(value)) != value:
            headers[name] = now


def place_of(base_url: str) -> tuple[str, int]:
    """Host and port.

    >>> place_of("https://api.openai.com/v1")
    ('api.openai.com', 443)
    """
    parts = urlsplit(base_url)
    return parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 443)
