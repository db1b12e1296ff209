"""A trial's own random numbers, the same however it is scheduled, and whatever other plugins do."""

from __future__ import annotations

import random

import numpy.random
import pytest

from passhat.pytest_plugin._cases import PARAMETER
from passhat.pytest_plugin._definitions import definitions_of
from passhat.pytest_plugin._items import Case


def reseed(seed: int) -> None:
    """Seed `random` and NumPy's global generator, right before code of the test's author runs."""
    random.seed(seed)
    numpy.random.seed(seed & 0xFFFFFFFF)


def sets_up(case: Case, item: pytest.Item) -> bool:
    """Whether code that isn't pytest's or ours runs before the body: fixtures, or ``setup_method`` and its like."""
    if case.sets_up is None:
        definitions = definitions_of(item)
        names = set(getattr(item, "fixturenames", ("unknown",))) - {"request", PARAMETER}
        case.sets_up = not all(name in definitions and all(map(_harmless, definitions[name])) for name in names)
    return case.sets_up


def _harmless(definition: pytest.FixtureDef[object]) -> bool:
    module = definition.func.__module__ or ""
    return module.startswith(("_pytest.", "passhat.pytest_plugin")) and not definition.argname.startswith("_xunit_")
