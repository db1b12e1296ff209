"""What the candidate costs more or less: apart from correctness, and never from missing figures."""

from __future__ import annotations

from collections.abc import Callable

from passhat.comparing._lift import rounded
from passhat.comparing._pairs import Pairs
from passhat.comparing._result import Delta
from passhat.stats import sign_flip
from passhat.summary import TaskRow

Amount = Callable[[TaskRow], float | None]


def _of(name: str) -> Amount:
    def amount(row: TaskRow) -> float | None:
        """The mean a trial; None when a trial didn't tell: a subtotal is no value."""
        total = getattr(row, name)
        return None if total is None or name in row.partial or not row.ran else float(total) / row.ran

    return amount


AMOUNTS: dict[str, Amount] = {name: _of(name) for name in ("seconds", "tokens", "dollars")}


def telemetry(pairs: Pairs) -> dict[str, Delta]:
    """Seconds, tokens and dollars a trial, over the tasks in which both sides know them."""
    return {name: _delta(pairs, amount) for name, amount in AMOUNTS.items()}


def _delta(pairs: Pairs, amount: Amount) -> Delta:
    known = []
    for pair in pairs.pairs:
        one, two = amount(pair.before), amount(pair.after)
        if one is not None and two is not None:
            known.append((one, two))
    if not known:
        return Delta(0, None, None, None, None)
    before, after = (sum(each[side] for each in known) / len(known) for side in (0, 1))
    differences = [two - one for one, two in known]
    largest = max(map(abs, differences))
    p = sign_flip([each / largest for each in differences]).p if largest else 1.0
    return Delta(len(known), rounded(before), rounded(after), rounded(after - before), p)
