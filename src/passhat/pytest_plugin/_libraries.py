"""Sees the requests of HTTP libraries before they are sent, also of one that is loaded while a test runs.

Where somebody has put a mock below a library, a request is seen when the mock lets it through, and not before: what a
mock answers goes nowhere.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any, Protocol
from urllib.parse import urlsplit

from passhat.pytest_plugin._patches import Patches

_PORTS = {"http": 80, "https": 443}
_OURS = "passhat_looks"  # on a method of ours: the one below it
_LATER = "passhat_later"  # in a request's extensions: it is to be looked at when it is sent
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
        self._patches = Patches()

    def install(self) -> None:
        """Look at requests from now on."""
        for name in _LIBRARIES:
            if name in sys.modules:
                self._patch(name, sys.modules[name])
        sys.meta_path.insert(0, self)  # asked for a name that isn't loaded, and for no other

    def remove(self) -> None:
        """Look no longer."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        self._patches.undo()

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
            self._patches.make(owner, method, ours)


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

    setattr(first_look, _OURS, original)
    return owner, method, first_look


def _of_httpx(module: Any, looks: Looks) -> Iterator[Patch]:
    for kind, method in (("", "handle_request"), ("Async", "handle_async_request")):
        owner = getattr(module, f"{kind}HTTPTransport")
        yield _looked_at(owner, method, functools.partial(_look_at_httpx, looks, method, getattr(owner, method)))


def _look_at_httpx(looks: Looks, method: str, below: Any, transport: Any, request: Any) -> None:
    _rekey(request.headers, looks)
    pool = getattr(transport, "_pool", None)
    mocked = _is_mock(below, "httpx") or _is_mock(getattr(pool, method, None), "httpcore")
    if mocked and _is_seen_at_the_end(type(pool), method):
        request.extensions = {**request.extensions, _LATER: True}
    else:
        if _LATER in request.extensions:  # as those of a request that led to this one
            request.extensions = {name: value for name, value in request.extensions.items() if name != _LATER}
        looks.check(request.url.host, request.url.port or _PORTS.get(request.url.scheme, 443))


def _of_httpcore(module: Any, looks: Looks) -> Iterator[Patch]:
    """The connections on which httpx's transports rest: nobody mocks them, and a mock's real requests end here."""

    def look(connection: Any, request: Any) -> None:
        if request.extensions.get(_LATER):
            url = request.url
            target, own = url.target.decode("ascii", "replace"), bytes(url).decode("ascii", "replace")
            looks.check(*place_of(target if target.startswith(("http://", "https://")) else own))  # or to a proxy

    for kind, method in (("", "handle_request"), ("Async", "handle_async_request")):
        for protocol in ("HTTP11", "HTTP2"):  # the second is a stub where h2 isn't there
            owner: Any = getattr(module, f"{kind}{protocol}Connection", None)
            if hasattr(owner, method):
                yield _looked_at(owner, method, look)


def _is_seen_at_the_end(pool: type, method: str) -> bool:
    """Whether the connections of a pool are looked at."""
    module = sys.modules.get(pool.__module__.partition(".")[0])
    owner = getattr(module, "AsyncHTTP11Connection" if "async" in method else "HTTP11Connection", None)
    return hasattr(getattr(owner, method, None), _OURS)


def _is_mock(method: Any, package: str) -> bool:
    """Whether a method of a class is none of the package's own: a mock, or what somebody has put around it."""
    found: Any = getattr(method, "__func__", method)
    while hasattr(found, _OURS):
        found = getattr(found, _OURS)
    code = getattr(found, "__code__", None)
    return code is None or f"/{package}" not in code.co_filename.replace("\\", "/")


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
    "httpcore": _of_httpcore,
    "httpcore2": _of_httpcore,
    "aiohttp": _of_aiohttp,
    "http.client": _of_http_client,
}


def _rekey(headers: Any, looks: Looks) -> None:
    for name in ("authorization", "x-api-key"):
        value = headers.get(name)
        if value is not None and (now := looks.rekeyed(value)) != value:
            headers[name] = now


def place_of(base_url: str) -> tuple[str, int]:
    """Host, in lower case and without a dot at its end, and port.

    >>> place_of("https://API.openai.com./v1"), place_of("http://mine:none")
    (('api.openai.com', 443), ('', 0))
    """
    try:
        parts = urlsplit(base_url)
        port = parts.port or _PORTS.get(parts.scheme, 443)
    except ValueError:  # whatever a variable says
        return "", 0
    return (parts.hostname or "").rstrip("."), port
