"""How many labels make the corrected interval so wide."""

from __future__ import annotations

import math

from passhat.calibrating._correct import Asked
from passhat.calibrating._result import Correction, Needed
from passhat.calibrating._weights import strata_of, table_of

WIDTHS = (0.20, 0.15, 0.10, 0.05)


def needed(asked: Asked, found: Correction) -> tuple[Needed, ...]:
    """Labels in all for each width that is narrower than what there is; from the normal approximation, rounded up."""
    if found.corrected is None:
        return ()
    low, high = found.corrected.these_tasks
    narrower = [width for width in WIDTHS if width < high - low - 0.005]
    count = _elsewhere if asked.elsewhere else _here
    return tuple(Needed(width, count(asked, found.corrected.estimate, width)) for width in narrower)


def _z(level: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf((1 + level) / 2)


def _here(asked: Asked, estimate: float, width: float) -> int | None:
    """Labels drawn from this run: the strata's own variance a label, after what the number of trials leaves."""
    _, *rest = strata_of(asked.judged)
    known = sum(each.weight == 0 for each in asked.judged)
    total = len(asked.judged)
    shares = [(each.passes + 0.5) / (each.labels + 1) for each in rest]
    spread = sum(each.items / total * (share - estimate) ** 2 for each, share in zip(rest, shares, strict=True))
    noise = sum(each.items / total * share * (1 - share) for each, share in zip(rest, shares, strict=True))
    room = (width / 2 / _z(asked.level)) ** 2 - spread / total
    if room <= 0:
        return None
    unknown = sum(each.items for each in rest) / total
    labels = math.ceil(noise * unknown / room)
    return known + labels if labels <= total - known else None


def _elsewhere(asked: Asked, estimate: float, width: float) -> int | None:
    """Labels elsewhere, with as many passes among them as now (Rogan–Gladen's delta variance)."""
    (tp, missed), (slipped, tn) = table_of(asked.labelled)
    labels, good = tp + missed + slipped + tn, tp + missed
    sensitivity, specificity = (tp + 1) / (good + 2), (tn + 1) / (labels - good + 2)
    q = sum(each.trial.judge for each in asked.judged) / len(asked.judged)
    better = sensitivity + specificity - 1
    room = (width / 2 / _z(asked.level) * better) ** 2 - q * (1 - q) / len(asked.judged)
    if room <= 0:
        return None
    miss = estimate**2 * sensitivity * (1 - sensitivity) / (good / labels)
    slip = (1 - estimate) ** 2 * specificity * (1 - specificity) / (1 - good / labels)
    return math.ceil((miss + slip) / room)
