"""The variables that lead clients to the gateway, while covered tests run."""

from __future__ import annotations

import os

import pytest

from passhat.pytest_plugin._asking import may_spend
from passhat.pytest_plugin._environment import gateway_of, host_environment
from passhat.pytest_plugin._keys import ENVIRONMENT
from passhat.pytest_plugin._routing import routing_of
from passhat.trial import ModelAccess, client_variables, put_variable


class Variables:
    """Sets them for a row of covered tests, and puts back what was there before the next other test.

    Those that lead there stay as they are where the whole session's environment does so already; those that are
    withheld do where somebody asked for models that cost money.
    """

    def __init__(self, config: pytest.Config) -> None:
        gateway = gateway_of(config)
        self._routing = routing_of(config)
        self._host = host_environment(config)
        self._before: dict[str, str | None] = {}  # of those that were set here
        self._withheld = None if may_spend(config) else self._routing.withheld
        self._variables: dict[str, str | None] = {}
        if ENVIRONMENT not in config.stash:
            self._variables |= client_variables(ModelAccess(gateway.base_url, gateway.process_key))
        if self._withheld is not None:
            self._variables |= self._withheld.values

    def lead(self) -> None:
        """Set them, unless they are; what tests themselves put there stays."""
        self._routing.lead()
        if self._withheld is not None:
            self._withheld.active = True
        if self._before:
            return
        for name, value in self._variables.items():
            before = os.environ.get(name)
            if before == self._host.get(name):
                self._before[name] = before
                put_variable(os.environ, name, value)

    def restore(self) -> None:
        """Put back what was there, also where a fixture that ended since has put a value of ours back."""
        self._routing.led = False
        if self._withheld is not None:
            self._withheld.active = False
        for name, value in self._variables.items():
            if os.environ.get(name) == value and (value is not None or name in self._before):
                put_variable(os.environ, name, self._before.get(name, self._host.get(name)))
        self._before = {}
