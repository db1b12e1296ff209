"""Stops or counts requests that go past the gateway: of clients made at import, or with an address of their own.

It sees what goes through httpx, httpx2, aiohttp and the standard library, on which requests and urllib3 rest, to the
hosts of known providers and to those that the environment names.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from passhat.facts import on_loopback
from passhat.gateway import KNOWN, in_gateway
from passhat.pytest_plugin._births import Births
from passhat.pytest_plugin._children import Children
from passhat.pytest_plugin._late import Late
from passhat.pytest_plugin._libraries import Libraries, place_of
from passhat.pytest_plugin._stand_ins import LED, addresses

ASTRAY = (
    "a request to {host} went past the gateway and was stopped, since nothing there counts or bounds it: its client "
    "was made when a module was imported, or before the fixture was asked for, or it has an address of its own. Put "
    "passhat_env = true into pytest's ini file, which sets the addresses before test modules are imported, or make "
    "the client inside the test, with what the environment or trial.model says"
)
NAMED = (
    "a request to {host} went past the gateway and was stopped: {variable} was set to it by a fixture or the test, and "
    "only a server on loopback, which isn't a provider's or the environment's own, counts as a stand-in. Have yours "
    "listen on 127.0.0.1, or give its address to the client itself"
)
UNLED = (
    "a request to {host} was stopped: a real model costs money and nobody asked for one in {test}. Its client can't be "
    "led to a double; stand in for it with a fixture, or {ask}"
)
ASK, ASKED = "say --trials N in a test that isn't simulated", "ask it in a test that isn't simulated"
KEPT = (
    "a request to {host} was stopped: its address is the one that stands in for {host}'s in {test} where nothing may "
    "be spent. The client or its settings were made, or read, there and kept, by a cache, a global or a process: make "
    "them in each test, or clear the cache between tests, with a fixture that calls cache_clear()"
)
LEFT_BEHIND = (
    "a request to {host} was stopped: the thread that made it was started in a test with trials, `trial` or `faux`, "
    "or in a fixture of one, or its task was, or atexit was told there to make it; such a thread or task reaches no "
    "provider. End it within its test, or give the test that needs it one of its own"
)


class Astray(Exception):
    """A request that would have reached a provider."""


class Owner(Protocol):
    """Who knows whose a request is."""

    def whose(self) -> str:
        """Whose the code of this thread is; empty where it is none of ours."""

    def astray(self, host: str, led: bool, named: str = "") -> str:
        """Why a request past the gateway mustn't leave; empty where it may.

        ``led``: its client could have been, or was sent there by the variable ``named``.
        """

    def for_child(self, environ: Mapping[str, str]) -> Mapping[str, str]:
        """What a process that is started now has in place of an environment."""

    def keys(self) -> Mapping[str, str]:
        """Keys that requests of this thread must not have, each with the one to have instead."""


class Guard:
    """Looks at requests and threads from the first covered test until the session ends."""

    def __init__(self, host: Mapping[str, str], owner: Owner) -> None:
        places = {name: {place_of(each.base_url)} for name, each in KNOWN.items() if each.base_url}
        for name, each in KNOWN.items():
            named = {place_of(host[variable]) for variable in each.addresses if host.get(variable)}
            places[name] = places.get(name, set()) | named
        self._led = set().union(*(places.pop(name) for name in LED))
        self._others = set().union(*places.values())
        self._owner = owner
        self._libraries = Libraries(self)
        self._births = Births(owner.whose)
        self._late = Late(owner.whose, self._looking)
        self._children = Children(owner.for_child)
        self._installed = False

    def install(self) -> None:
        """Look at them, unless it does."""
        if not self._installed:
            self._installed = True
            self._libraries.install()
            self._births.install()
            self._late.install()
            self._children.install()

    def remove(self) -> None:
        """Look no longer."""
        if self._installed:
            self._installed = False
            self._children.remove()
            self._late.remove()
            self._births.remove()
            self._libraries.remove()

    @contextmanager
    def _looking(self) -> Iterator[None]:
        """Look at requests inside the block, also when the session is over."""
        over = not self._installed
        self.install()
        try:
            yield
        finally:
            if over:
                self.remove()

    def check(self, host: str, port: int) -> None:
        """Raise `Astray` for a request that mustn't leave."""
        host = host.lower().rstrip(".")
        known = self._known(host, port)
        named = _named(host, port) if known or not on_loopback(host) else ""
        if (known or named) and not in_gateway():
            why = self._owner.astray(host, bool(named) or self._could_be_led(host, port), named)
            if why:
                raise Astray(why)

    def stands_in(self, address: str) -> bool:
        """Whether an address is that of a server on loopback which costs nothing as far as anybody knows."""
        host, port = place_of(address)
        return on_loopback(host) and not self._known(host, port)

    def _known(self, host: str, port: int) -> bool:
        """Whether models that may cost money answer there."""
        place = (host, port)
        return place in self._led or place in self._others or _is_paid(host)

    def _could_be_led(self, host: str, port: int) -> bool:
        """Whether it is a place of a provider whose clients read the variables that are set."""
        return (host, port) in self._led or any(KNOWN[name].serves(host) for name in LED)

    def rekeyed(self, value: Any) -> Any:
        """A header's value, with the key that this thread's requests are to have."""
        for wrong, right in self._owner.keys().items():
            if isinstance(value, str):
                value = value.replace(wrong, right)
            elif isinstance(value, bytes):
                value = value.replace(wrong.encode(), right.encode())
        return value


def _named(host: str, port: int) -> str:
    """The variable that sends clients there now; empty where none does."""
    return next((name for name, value in addresses() if place_of(value) == (host, port)), "")


@functools.lru_cache(256)
def _is_paid(host: str) -> bool:
    """Whether a host is known to be that of models that cost money.

    >>> _is_paid("mine.openai.azure.com"), _is_paid("bedrock-runtime.eu-west-1.amazonaws.com"), _is_paid("example.com")
    (True, True, False)
    """
    return any(provider.serves(host) for provider in KNOWN.values())
