"""The fixtures that a test uses, as pytest defined them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

Definitions = Mapping[str, Sequence[pytest.FixtureDef[Any]]]

_OURS = "passhat.pytest_plugin"
_NONE: Definitions = {}


def definitions_of(item: pytest.Item) -> Definitions:
    """Each fixture's definitions by its name, the last of which is used; none for an item that isn't a function.

    Tests made from one function share one mapping. pytest keeps it in a private place.
    """
    info = getattr(item, "_fixtureinfo", None)
    found: Definitions = _NONE if info is None else info.name2fixturedefs
    return found


def uses_ours(item: pytest.Item) -> bool:
    """Whether a test uses ``trial`` or ``faux``; its own fixture or parameter of the same name is none of ours."""
    names = getattr(item, "fixturenames", ())
    if "trial" not in names and "faux" not in names:
        return False
    found = definitions_of(item)
    ours = [each for name in ("trial", "faux") for each in found.get(name, ())]
    return any((each.func.__module__ or "").startswith(_OURS) for each in ours)
