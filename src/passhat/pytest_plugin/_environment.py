"""Leads the clients of a test process to the double."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from passhat.pytest_plugin._keys import ENVIRONMENT, GATEWAY, HOST
from passhat.trial import ModelAccess, client_variables, led_to, put_variable

if TYPE_CHECKING:
    from passhat.gateway import Gateway

_PASSED = ("PATH", "HOME", "TMPDIR", "TEMP", "SYSTEMROOT", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "VIRTUAL_ENV")


def gateway_of(config: pytest.Config) -> Gateway:
    """The session's gateway, started on first use and closed with the session."""
    if GATEWAY not in config.stash:
        from passhat.gateway import Gateway

        gateway = Gateway()
        gateway.start()
        config.stash[GATEWAY] = gateway
        config.add_cleanup(gateway.close)
    found: Gateway = config.stash[GATEWAY]
    return found


def host_environment(config: pytest.Config) -> dict[str, str]:
    """The environment as it was before anything of ours was set: real base URLs and keys."""
    return config.stash.setdefault(HOST, dict(os.environ))


def collected(config: pytest.Config) -> None:
    """Take for the host's what modules have set while they were imported, as `load_dotenv` does, and lead on.

    To be called when all test modules are imported.
    """
    host, access = host_environment(config), config.stash.get(ENVIRONMENT, None)
    ours = {} if access is None else client_variables(access)
    for name in {*host, *os.environ}:
        now = os.environ.get(name)
        if name in ours and now == ours[name]:
            continue
        put_variable(host, name, now)
        if name in ours:
            put_variable(os.environ, name, ours[name])


def for_subprocess(config: pytest.Config, access: ModelAccess) -> dict[str, str]:
    """Variables for an agent's own process: an allowlist of the host's, and those that lead clients here."""
    host = host_environment(config)
    passed = {name: host[name] for name in _PASSED if name in host}
    return {**passed, **access.environ()}


def lead_clients(config: pytest.Config) -> None:
    """Set base URLs and a placeholder key before test modules are imported, until the session ends.

    Requests with that key go to the test that is running; between tests they are refused.
    """
    host_environment(config)
    gateway = gateway_of(config)
    access = ModelAccess(gateway.base_url, gateway.process_key)
    led = ExitStack()
    led.enter_context(led_to(access))
    config.stash[ENVIRONMENT] = access
    config.add_cleanup(led.close)
