"""Arms: the values of one ordinary parameter, so that a comparison finds what belongs together in the record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def name_arms(items: Sequence[pytest.Item], parameter: str) -> list[tuple[str, str]]:
    """For each item of one test, its arm (the parameter's id) and its node id without it.

    pytest keeps the ids of all parameters in one list; the one that goes with the parameter's value is the arm's.
    """
    specs: list[Any] = [getattr(item, "callspec", None) for item in items]
    if not all(spec is not None and parameter in spec.params for spec in specs):
        raise pytest.Collector.CollectError(
            f"{items[0].nodeid}: arms={parameter!r}: the test has no such parameter; "
            f"add @pytest.mark.parametrize({parameter!r}, […])"
        )
    position = _position([(id(spec.params[parameter]), tuple(spec._idlist)) for spec in specs])
    found = []
    for item, spec in zip(items, specs, strict=True):
        others = [name for place, name in enumerate(spec._idlist) if place != position]
        base = item.nodeid.removesuffix(f"[{spec.id}]")
        found.append((spec._idlist[position], f"{base}[{'-'.join(others)}]" if others else base))
    return found


def _position(rows: Sequence[tuple[int, tuple[str, ...]]]) -> int:
    """The place in the id lists at which there is one id for each value, and no other.

    >>> _position([(0, ("a", "old")), (1, ("a", "new")), (0, ("b", "old")), (1, ("b", "new"))])
    1
    """
    for place in range(len(rows[0][1])):
        pairs = {(value, names[place]) for value, names in rows}
        if len(pairs) == len({value for value, _ in pairs}) == len({name for _, name in pairs}):
            return place
    raise pytest.Collector.CollectError("the ids of the arms must differ from each other: give ids= to parametrize")
