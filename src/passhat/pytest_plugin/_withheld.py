"""Keeps the keys and addresses of providers whose clients can't be led from tests that may spend nothing.

What runs in a process of its own can't be looked at; so it finds no key there, and addresses of the gateway, which
refuses what comes and says the way out.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import contextmanager

import pytest

from passhat.gateway import KNOWN, Gateway
from passhat.pytest_plugin._asking import spends
from passhat.pytest_plugin._stand_ins import LED
from passhat.trial import put_variable

_OF_LED = frozenset(variable for name in LED for variable in KNOWN[name].addresses + KNOWN[name].keys)


class Withheld:
    """The variables, each with the value to have instead; ``active`` while they have it.

    In this process only those that the host has: elsewhere a variable makes some clients choose another provider, and
    a client with its provider's own address is stopped, or answered by the user's mock.
    """

    def __init__(self, gateway: Gateway, host: Mapping[str, str]) -> None:
        self.active = False
        self.values: dict[str, str] = {}
        self._host = host
        self._more: dict[str, str] = {}
        for name, each in KNOWN.items():
            if name in LED:
                continue
            address = gateway.refusing(name)
            for variable in each.addresses:
                if host.get(variable):
                    self.values[variable] = address
                elif not each.chosen:
                    self._more[variable] = address
            self.values |= {variable: gateway.process_key for variable in each.keys if host.get(variable)}

    def for_child(self, environ: Mapping[str, str], leading: Mapping[str, str | None]) -> dict[str, str]:
        """What a process has in place of an environment; ``leading`` are the variables that lead clients.

        What is the host's own there is replaced. The addresses are added where anything of ours is, and so not to an
        environment that somebody cleared.
        """
        made = _led(environ, self._host, leading)
        if not self.active:
            return made
        made |= {name: value for name, value in self.values.items() if made.get(name) == self._host.get(name)}
        ours = {name: value for name, value in leading.items() if value and name in _OF_LED} | self.values
        return {**self._more, **made} if _holds(made, ours, {*ours}) else made

    @contextmanager
    def put(self) -> Iterator[None]:
        """Keep them away inside the block, but for what a fixture or the test has put there."""
        before = {name: os.environ.get(name) for name in self.values}
        mine = [name for name, value in before.items() if value == self._host.get(name)]
        for name in mine:
            os.environ[name] = self.values[name]
        self.active = True
        try:
            yield
        finally:
            self.active = False
            self._back(mine)

    @contextmanager
    def given(self) -> Iterator[None]:
        """Give them back inside the block, for who may spend."""
        active, self.active = self.active, False
        there = [name for name, value in self.values.items() if os.environ.get(name) == value]
        self._back(there)
        try:
            yield
        finally:
            self.active = active
            for name in there:
                if os.environ.get(name) == self._host.get(name):
                    os.environ[name] = self.values[name]

    def back(self) -> None:
        """What stands in for them goes, where a tear-down has put it back though they aren't kept away."""
        self._back(self.values)

    def _back(self, names: Collection[str]) -> None:
        for name in names:
            if os.environ.get(name) == self.values[name]:
                put_variable(os.environ, name, self._host.get(name))


def _led(environ: Mapping[str, str], host: Mapping[str, str], leading: Mapping[str, str | None]) -> dict[str, str]:
    """An environment with the variables that lead clients, where it holds the host's own of any of them.

    As a copy of the host's does that was made when a module was imported. What isn't the host's stays, and so does a
    provider without keys.
    """
    made = dict(environ)
    if not any(_holds(made, host, {*KNOWN[name].addresses, *KNOWN[name].keys}) for name in LED):
        return made
    keyless = {key for name in LED if not {*KNOWN[name].keys} & {*made} for key in KNOWN[name].keys}
    for variable, value in leading.items():
        if variable not in keyless and made.get(variable) in (None, host.get(variable)):
            put_variable(made, variable, value)
    return made


def _holds(environ: Mapping[str, str], values: Mapping[str, str], names: set[str]) -> bool:
    """Whether any of these variables has one of these values there."""
    return any(environ.get(name) and environ[name] == values.get(name) for name in names)


class Withholding:
    """Registered where some tests may spend: they are kept from the bodies of those that may not."""

    def __init__(self, withheld: Withheld, covered: Collection[pytest.Item]) -> None:
        self._withheld = withheld
        self._covered = covered

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        if item not in self._covered or spends(item):
            return (yield)
        with self._withheld.put():
            return (yield)
