"""How many labels make a corrected rate's interval so narrow: normal approximations, for planning."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import SupportsIndex

from passhat.stats import _checks
from passhat.stats._binomial import normal_quantile
from passhat.stats._corrected import Stratum
from passhat.stats._judge import Labels, two_by_two


def labels_needed_here(
    strata: Sequence[Stratum], estimate: float, width: float, *, items: SupportsIndex, level: float = 0.95
) -> int | None:
    """Labels to draw so that a post-stratified rate's interval is about ``width`` wide; None where no number does.

    ``strata`` are those of which labels are drawn, as they are known now, among ``items`` in all; the others are known
    as a whole. ``estimate`` is the rate now. What the number of items leaves uncertain no label takes away. Raises
    ValueError for a width, level or estimate outside 0..1.

    Source: variance of a post-stratified mean (Cochran 1977, Sampling Techniques), rates moved to ½ by half a label.

    >>> judge = [Stratum(54, 60, 180), Stratum(8, 40, 120)]
    >>> [labels_needed_here(judge, 0.62, width, items=300) for width in (0.2, 0.15, 0.1)]
    [56, 113, None]
    """
    _checks.scores([estimate], name="estimate")
    total = _checks.whole(items, "items", at_least=1)
    shares = [(each.passes + 0.5) / (each.labels + 1) for each in strata]
    weights = [each.items / total for each in strata]
    spread = math.fsum(w * (share - estimate) ** 2 for w, share in zip(weights, shares, strict=True))
    noise = math.fsum(w * share * (1 - share) for w, share in zip(weights, shares, strict=True))
    room = _variance(width, level) - spread / total
    if room <= 0:
        return None
    labels = math.ceil(noise * math.fsum(weights) / room)
    return labels if labels <= sum(each.items for each in strata) else None


def labels_needed_elsewhere(
    table: Labels,
    judged_passed: SupportsIndex,
    items: SupportsIndex,
    estimate: float,
    width: float,
    *,
    level: float = 0.95,
) -> int | None:
    """Labels elsewhere so that a Rogan–Gladen rate's interval is about ``width`` wide; None where no number does.

    ``table`` are the labels there are, as in `judge_quality`, with the share of passes that more of them would have;
    the judge passed ``judged_passed`` of ``items`` here. Raises ValueError for counts that can't be, a table without
    passes or without fails, and a width, level or estimate outside 0..1.

    Source: delta variance of Rogan & Gladen 1978, sensitivity and specificity moved to ½ by one label each.

    >>> [labels_needed_elsewhere([[47, 3], [6, 44]], 180, 300, 0.6, width) for width in (0.2, 0.15, 0.1)]
    [109, 802, None]
    """
    _checks.scores([estimate], name="estimate")
    tp, missed, slipped, tn = two_by_two(table)
    total = _checks.whole(items, "items", at_least=1)
    passed = _checks.whole(judged_passed, "judged_passed")
    labels, good = tp + missed + slipped + tn, tp + missed
    if not 0 < good < labels:
        raise ValueError(f"table must have passes and fails of people, got {good} passes of {labels} labels")
    if passed > total:
        raise ValueError(f"judged_passed={passed}: more than the {total} items")
    sensitivity, specificity = (tp + 1) / (good + 2), (tn + 1) / (labels - good + 2)
    q = passed / total
    room = _variance(width, level) * (sensitivity + specificity - 1) ** 2 - q * (1 - q) / total
    if room <= 0:
        return None
    miss = estimate**2 * sensitivity * (1 - sensitivity) / (good / labels)
    slip = (1 - estimate) ** 2 * specificity * (1 - specificity) / (1 - good / labels)
    return math.ceil((miss + slip) / room)


def _variance(width: float, level: float) -> float:
    """The variance of an estimate whose interval is so wide."""
    return (_checks.share(width, "width") / 2 / normal_quantile((1 + _checks.level_of(level)) / 2)) ** 2
