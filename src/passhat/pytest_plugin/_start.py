"""Brings in the heavier parts, once a session turns out to need them."""

from __future__ import annotations

from typing import Any

import pytest

from passhat.pytest_plugin._keys import REPORTER, SESSION

_PLUGIN = "passhat-running"


def start(config: pytest.Config) -> None:
    """Check what the command line says and set up the environment of the whole session, when that is asked for."""
    from passhat.pytest_plugin._marks import count

    forced = config.getoption("passhat_trials")
    if forced is not None:
        count(forced)
    model = config.getoption("passhat_model")
    if model is not None:
        _check_model(config, model)
    if config.getini("passhat_env") and not _only_distributes(config):
        from passhat.pytest_plugin._environment import lead_clients

        lead_clients(config)


def _check_model(config: pytest.Config, model: str) -> None:
    """Refuse a model that can't be reached, before anything runs."""
    from passhat.facts import PasshatError
    from passhat.gateway import upstream_of_model
    from passhat.pytest_plugin._environment import host_environment

    try:
        upstream_of_model(model, host_environment(config))
    except PasshatError as error:
        raise pytest.UsageError(f"--model {model}: {error}") from None


def _only_distributes(config: pytest.Config) -> bool:
    """Whether this is xdist's controller: it runs no test, and its environment is what the workers start from."""
    return config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput")


def begin(config: pytest.Config, ids: list[str]) -> None:
    """Register what runs the trials; and, unless another process reports, what decides."""
    if config.pluginmanager.has_plugin(_PLUGIN):
        return
    from passhat.pytest_plugin._running import Running

    config.pluginmanager.register(Running(config), _PLUGIN)
    if not hasattr(config, "workerinput"):
        _decide(config, ids)


def begin_controller(config: pytest.Config, ids: list[str]) -> None:
    """Under xdist the controller decides; every worker collects the same ids."""
    if REPORTER not in config.stash:
        _decide(config, ids)


def _decide(config: pytest.Config, ids: list[str]) -> None:
    if config.getoption("setuponly", False) or config.getoption("setupplan", False) or config.option.collectonly:
        return
    from passhat.pytest_plugin._deciding import Deciding

    reporter: Any = Deciding(config, config.stash[SESSION], ids)
    if reporter.cases and config.getoption("dist", "no") == "each":
        raise pytest.UsageError(
            "--dist each runs every trial once in every worker, so a test would get several times its n trials under "
            "one name; run tests with trials under --dist load, and each environment as a session of its own"
        )
    config.stash[REPORTER] = reporter
    config.pluginmanager.register(reporter, "passhat-deciding")
