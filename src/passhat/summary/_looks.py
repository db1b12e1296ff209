"""Looks at a gate: each gets its share of the gate's error, and all of them together risk little more than it."""

from __future__ import annotations

import math

from passhat.suite import Gate


def level_at(gate: Gate, looks: int) -> float:
    """The level of one look: each gets its share of the gate's error, so that asking again is no way to be green."""
    return gate.level if looks <= 1 else 1 - (1 - gate.level) / looks


def error_of_looks(gate: Gate, looks: int) -> float:
    """The chance that one of so many looks says "met" of an agent that only just misses the bar.

    The first look spent the gate's whole error, the second half of it, and so on.

    >>> [round(error_of_looks(Gate.parse("pass@1 >= 0.8"), looks), 3) for looks in (1, 2, 3)]
    [0.05, 0.074, 0.089]
    """
    return 1 - math.prod(1 - (1 - gate.level) / look for look in range(1, max(1, looks) + 1))
