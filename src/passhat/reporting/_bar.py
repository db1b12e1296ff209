"""A rate between 0 and 1 with its interval, drawn in a line."""

from __future__ import annotations

from collections.abc import Sequence


def scale(width: int) -> str:
    """The heading of such bars.

    >>> scale(9)
    '0       1'
    """
    return "0" + " " * (width - 2) + "1"


def bar(estimate: float | None, ends: Sequence[float] | None, width: int) -> str:
    """The interval as a line with the rate on it, ``width`` columns from 0 to 1; empty where either isn't known.

    >>> bar(0.5, (0.25, 0.75), 9), bar(None, None, 9)
    ('  ──●──', '')
    """
    if estimate is None or ends is None:
        return ""
    low, middle, high = (round(value * (width - 1)) for value in (ends[0], estimate, ends[1]))
    return "".join("●" if at == middle else "─" if low <= at <= high else " " for at in range(width)).rstrip()
