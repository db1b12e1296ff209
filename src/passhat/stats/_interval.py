"""The one shape that every interval of this package has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from passhat.stats._types import Side


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval for a rate (0..1) or for a difference of rates (-1..1).

    It unpacks as ``low, high``; ``method`` names the rule that made it and ``note`` is empty or a
    sentence that belongs beside the numbers. A one-sided interval (``side`` "lower" or "upper") has
    the end of the scale as its other end.

    >>> low, high = Interval(0.5, 0.75, method="by hand")
    >>> low, high
    (0.5, 0.75)
    >>> 0.6 in Interval(0.5, 0.75, method="by hand")
    True
    """

    low: float
    high: float
    method: str
    note: str = ""
    level: float = 0.95
    side: Side = "both"

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends, as they are stored."""
        return self.low, self.high

    def __iter__(self) -> Iterator[float]:
        yield self.low
        yield self.high

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def width(self) -> float:
        """High minus low; never 0 in what this package returns."""
        return self.high - self.low
