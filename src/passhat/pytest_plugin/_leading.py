"""Leads every client of a covered test to the gateway, from its first set-up to the end of its last tear-down.

Covered are tests with the marker, and those that use ``trial`` or ``faux``. Others find the environment as it was.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

import pytest

from passhat.pytest_plugin._asking import may_spend
from passhat.pytest_plugin._definitions import definitions_of, uses_ours
from passhat.pytest_plugin._exits import Exits
from passhat.pytest_plugin._keys import CASE, EVIDENCE, TRIAL
from passhat.pytest_plugin._routing import routing_of
from passhat.pytest_plugin._variables import Variables
from passhat.pytest_plugin._withheld import Withholding


def lead(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Register what leads the clients of the covered tests among these, where there are any."""
    covered = [item for item in items if _covered(item)]
    if not covered or config.option.collectonly:
        return
    exits, variables = Exits(), Variables(config)
    config.pluginmanager.register(exits, "passhat-exits")
    leading = Leading(config, covered, exits, variables)
    config.pluginmanager.register(leading, "passhat-leading")
    if may_spend(config):
        withholding = Withholding(routing_of(config).withheld, frozenset(covered))
        config.pluginmanager.register(withholding, "passhat-withholding")
    if len(covered) < len(items):
        config.pluginmanager.register(LeadingShared(leading, variables, covered), "passhat-leading-shared")


def lead_late(config: pytest.Config) -> None:
    """Register it in a session of which nobody knew that it has covered tests: one asks for a fixture of ours itself.

    What its tear-down puts back of the environment is mended before the next test.
    """
    if not config.pluginmanager.has_plugin("passhat-leading"):
        leading = Leading(config, (), Exits(), Variables(config))
        config.pluginmanager.register(leading, "passhat-leading")


def _covered(item: pytest.Item) -> bool:
    """Whether a test must not reach a provider unasked."""
    return TRIAL in item.stash or CASE in item.stash or uses_ours(item)


class Leading:
    """Registered when a session has covered tests."""

    def __init__(
        self, config: pytest.Config, covered: Iterable[pytest.Item], exits: Exits, variables: Variables
    ) -> None:
        self.running = False  # a covered test
        self._covered = set(covered)
        self._exits = exits
        self._variables = variables
        self._routing = routing_of(config)
        config.add_cleanup(variables.restore)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        if item not in self._covered:
            self._variables.restore()
            return (yield)
        self._variables.lead()
        self._routing.begin(item)
        self.running = True
        try:
            return (yield from self._exits.watched())
        finally:
            self.running = False
            self._routing.end()
            if EVIDENCE in item.stash:  # its transcript; a session may have very many
                del item.stash[EVIDENCE]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self._routing.again(item)
        if self.running:
            self._variables.mend()


class LeadingShared:
    """Registered when a session has other tests too: fixtures that covered ones share are led whoever needs them.

    From their set-up to the end of their tear-down, whenever that comes.
    """

    def __init__(self, leading: Leading, variables: Variables, covered: Iterable[pytest.Item]) -> None:
        self._leading = leading
        self._variables = variables
        self._depth = 0  # a fixture may ask for another while it is set up, and is torn down after those that need it
        found = {id(definitions): definitions for definitions in map(definitions_of, covered)}
        self._shared = {
            definition
            for definitions in found.values()
            for named in definitions.values()
            for definition in named
            if definition.scope != "function"
        }

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
        led = self._depth or self._leading.running or fixturedef in self._shared
        if not led or fixturedef.scope == "function":
            return (yield)
        fixturedef.addfinalizer(self._leave)  # the first that is added is the last that runs
        self._enter()
        try:
            return (yield)
        finally:
            self._leave()
            fixturedef.addfinalizer(self._enter)

    def _enter(self) -> None:
        self._depth += 1
        self._variables.lead()

    def _leave(self) -> None:
        self._depth -= 1
        if not self._depth and not self._leading.running:
            self._variables.restore()
