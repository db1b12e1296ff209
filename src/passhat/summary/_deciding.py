"""How many trials would decide a gate that these left undecided, if the rates stayed as they are."""

from __future__ import annotations

from collections.abc import Callable

from passhat.stats import Refused, bar_verdict
from passhat.suite import Gate
from passhat.summary._measure import Measured

_MOST = 5_000  # trials or tasks: beyond, the rate is at the bar for all purposes


def enough_to_decide(gate: Gate, sized: Callable[[int], Measured], now: int, level: float) -> int | None:
    """The least size, above ``now``, at which a bound at ``level`` decides; None where none up to a few thousand does.

    ``sized`` gives what would be measured at a size with the same rates, as nearly as whole counts allow.
    """

    def decides(size: int) -> bool:
        measured = sized(size)
        try:
            low, high = (measured.interval(gate.of, level, side) for side in ("lower", "upper"))
        except Refused:
            return False
        return bar_verdict(low.low, high.high, gate.number, op=gate.op) != "undecided"

    most = now
    while not decides(most := 2 * most):
        if most > _MOST:
            return None
    least = most // 2
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if decides(middle) else (middle, most)
    return most
