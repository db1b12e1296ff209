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
    withheld do where somebody asked for models that cost money. What a test's own tear-down puts back from an older
    copy of the environment is mended before the next test: the key of a test that is over leads nobody anywhere.
    """

    def __init__(self, config: pytest.Config) -> None:
        gateway = self._gateway = gateway_of(config)
        self._routing = routing_of(config)
        self._host = host_environment(config)
        self._led: set[str] | None = None  # those that were set here, while they are
        self._withheld = None if may_spend(config) else self._routing.withheld
        leading = client_variables(ModelAccess(gateway.base_url, gateway.process_key))
        self._keys = [name for name, value in leading.items() if value == gateway.process_key]
        self._for_session = ENVIRONMENT in config.stash  # what leads there does so in every test
        self._variables: dict[str, str | None] = {} if self._for_session else dict(leading)
        if self._withheld is not None:
            self._variables |= self._withheld.values
        found = [(name, value) for name, value in self._variables.items() if value not in (None, self._host.get(name))]
        self._ours = sorted(found, key=lambda pair: pair[0] not in self._keys)  # what is there first, first

    def lead(self) -> None:
        """Set them, unless they are; what tests themselves put there stays."""
        self._routing.lead()
        if self._withheld is not None:
            self._withheld.active = True
        if self._led is None:
            self._set()

    def mend(self) -> None:
        """Before a covered test: an older copy of the environment may have been put back since they were set."""
        if not self._routing.withheld.active:
            self._routing.withheld.back()
        key, current = self._gateway.process_key, os.environ.get
        if all(current(name) == key for name in self._keys):  # as before nearly every trial
            return
        for name in self._of_tests():
            os.environ[name] = key
        if self._led and not any(os.environ.get(name) == value for name, value in self._ours):
            self._set()

    def restore(self) -> None:
        """Put back what was there, also where a fixture that ended since has put a value of ours back."""
        led, self._led = {*(self._led or ()), *self._routing.unset}, None
        self._routing.unset.clear()
        self._routing.led = False
        if self._withheld is not None:
            self._withheld.active = False
        else:
            self._routing.withheld.back()
        for name, value in self._variables.items():
            if os.environ.get(name) == value and (value is not None or name in led):
                put_variable(os.environ, name, self._host.get(name))
        for name in self._of_tests():
            put_variable(os.environ, name, self._gateway.process_key if self._for_session else self._host.get(name))

    def _of_tests(self) -> list[str]:
        """The variables with a key that was a test's or judge's own."""
        shared, gave = self._gateway.process_key, self._gateway.gave
        found = [(name, os.environ.get(name)) for name in self._keys]
        return [name for name, key in found if key is not None and key != shared and gave(key)]

    def _set(self) -> None:
        self._led = {name for name in self._variables if os.environ.get(name) == self._host.get(name)}
        for name in self._led:
            put_variable(os.environ, name, self._variables[name])
