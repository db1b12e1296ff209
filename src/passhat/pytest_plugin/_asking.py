"""Who may answer: what the command line permits, and the mode of the gateway that follows from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from passhat.pytest_plugin._environment import host_environment
from passhat.pytest_plugin._keys import CASE, TRIAL
from passhat.pytest_plugin._refusing import GRADERS, JUDGES, SIMULATED, UNASKED, Refusing

if TYPE_CHECKING:
    from passhat.pytest_plugin._marks import TrialsMark


def may_spend(config: pytest.Config) -> bool:
    """Whether somebody asked for trials that may cost money."""
    return config.getoption("passhat_model") is not None or config.getoption("passhat_trials") is not None


def may_judge(config: pytest.Config) -> bool:
    """Whether judges may cost money: they may where trials may, and where a model for them was named."""
    return may_spend(config) or config.getoption("passhat_judge_model") is not None


def mark_of(item: pytest.Item) -> TrialsMark | None:
    """The marker of a trial or a verdict; None for any other test."""
    trial = item.stash.get(TRIAL, None)
    case = item.stash.get(CASE, None) if trial is None else trial.case
    return None if case is None else case.mark


def spends(item: pytest.Item) -> bool:
    """Whether what a covered test asks may cost money: somebody said so, and it isn't simulated or scripted."""
    config, mark = item.config, mark_of(item)
    if not may_spend(config) or "faux" in getattr(item, "fixturenames", ()):
        return False
    if config.getoption("passhat_model") is not None and not is_suite(item):
        return True
    return mark is None or not (mark.simulated or mark.simulation is not None)


def mode_of(item: pytest.Item) -> Any:
    """Who answers a test: the model of the command line, the marker's simulation, or what the agent itself asks for.

    The last only where somebody asked for trials that may cost money, and the marker doesn't say that none do. In a
    trial of a suite this answers only what its own session doesn't: clients that its graders make.
    """
    from passhat.gateway import Forward, Simulate

    config = item.config
    host, model = host_environment(config), config.getoption("passhat_model")
    mark, of_suite = mark_of(item), is_suite(item)
    if model is not None and not of_suite:
        return Forward.to_model(model, host)
    if mark is not None and mark.simulation is not None:
        return Simulate(mark.simulation)
    if not may_spend(config) or (mark is not None and mark.simulated and model is None):
        simulated = mark is not None and mark.simulated
        return Refusing(GRADERS if of_suite else SIMULATED if simulated else UNASKED)
    return Forward.as_asked(host)


def mode_of_judges(config: pytest.Config) -> Any:
    """Who answers a client that a judge makes itself, beside the model that judges are given."""
    from passhat.gateway import Forward

    return Forward.as_asked(host_environment(config)) if may_judge(config) else Refusing(JUDGES)


def is_suite(item: pytest.Item) -> bool:
    """Whether the test was made by `suite_tests`."""
    return getattr(getattr(item, "function", None), "passhat_suite", False)
