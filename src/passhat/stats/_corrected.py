"""A pass rate as people would have judged it, where a judge looked at everything and people at a part."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, SupportsIndex

from passhat.stats import _checks
from passhat.stats._binomial import normal_quantile
from passhat.stats._interval import Interval
from passhat.stats._judge import Labels, two_by_two, youden_low
from passhat.stats._types import Side

STRATIFIED = "post-stratified by verdict, Jeffreys and MOVER"


@dataclass(frozen=True, slots=True)
class Corrected:
    """A pass rate as people would have judged it, estimated through a judge; rates in 0..1."""

    estimate: float
    interval: Interval


class Stratum(NamedTuple):
    """Judged items that are alike for the labelling: those that the judge passed, or failed, or that were all read.

    ``items`` is their number. ``labels`` and ``passes`` are the sums of the weights of those that people labelled,
    and of those they passed; a label of a plain random sample weighs 1. ``squares`` is the sum of the squared weights,
    None where they are all 1.

    >>> Stratum(passes=6, labels=8, items=40).share
    0.75
    """

    passes: float
    labels: float
    items: int
    squares: float | None = None

    @property
    def share(self) -> float:
        """The share of passes among the labelled; ½ without labels."""
        return self.passes / self.labels if self.labels else 0.5

    @property
    def effective(self) -> float:
        """The number of equally weighted labels that say as much (Kish 1965)."""
        return self.labels if not self.labels or self.squares is None else self.labels**2 / self.squares


def stratified_rate(strata: Sequence[Stratum], *, level: float = 0.95, side: Side = "both") -> Corrected:
    """The pass rate of items in strata, each with labels of a random sample of it (or of all of it).

    The sum over strata of (share of the items) × (share of passes among its labels), with a Jeffreys interval a
    stratum, joined by MOVER, and the sampling noise of the strata's shares. A stratum without labels counts as
    anything from 0 to 1. It describes what the items are a sample of, not only the items themselves.

    Raises ``Refused`` without items or labels, ValueError for counts that can't be. Source: Cochran 1977, chapter 5A;
    weights enter by Kish's effective number.

    >>> found = stratified_rate([Stratum(12, 12, 12), Stratum(26, 28, 748), Stratum(2, 10, 240)])
    >>> round(found.estimate, 3), round(found.interval.low, 3), round(found.interval.high, 3)
    (0.755, 0.643, 0.841)
    """
    below, above = _checks.tails(level, side)
    used = [_sound(each) for each in strata if each.items]
    total = sum(each.items for each in used)
    if not any(each.labels for each in used):
        raise _checks.Refused("nothing was labelled: a judge's pass rate cannot be corrected without people's labels")
    weights = [each.items / total for each in used]
    estimate = math.fsum(q * each.share for q, each in zip(weights, used, strict=True))
    between = math.fsum(q * (each.share - estimate) ** 2 for q, each in zip(weights, used, strict=True)) / total

    def half(error: float, upper: bool) -> float:
        gaps = [q * _jeffreys_gap(each, error, upper) for q, each in zip(weights, used, strict=True)]
        return math.sqrt(math.fsum(gap * gap for gap in gaps) + normal_quantile(1 - error) ** 2 * between)

    low = 0.0 if below is None else max(0.0, estimate - half(below, False))
    high = 1.0 if above is None else min(1.0, estimate + half(above, True))
    return Corrected(estimate, Interval(low, high, method=STRATIFIED, level=float(level), side=side))


def _sound(stratum: Stratum) -> Stratum:
    if not 0 <= stratum.passes <= stratum.labels + 1e-9:
        raise ValueError(f"passes must be within 0..labels, got {stratum.passes!r} of {stratum.labels!r}")
    if stratum.squares is None and stratum.labels > stratum.items:
        raise ValueError(f"the labels must be of judged items, got {stratum.labels} labels of {stratum.items} items")
    return stratum


def _jeffreys_gap(stratum: Stratum, error: float, upper: bool) -> float:
    """From the share to the end of its Jeffreys interval with ``error`` beyond it; ½ without labels."""
    from scipy.special import betaincinv

    m, share = stratum.effective, stratum.share
    if m == 0:
        return 0.5
    if share >= 1 - 1e-12 if upper else share <= 1e-12:
        return 1 - share if upper else share
    a, b = share * m + 0.5, (1 - share) * m + 0.5
    end = 1 - float(betaincinv(b, a, error)) if upper else float(betaincinv(a, b, error))
    return max(0.0, end - share if upper else share - end)


def post_stratified(
    table: Labels,
    judged_pass: SupportsIndex,
    judged: SupportsIndex,
    *,
    level: float = 0.95,
    side: Side = "both",
) -> Corrected:
    """The pass rate where the labelled items are a simple random sample of the judged ones.

    Of ``judged`` items the judge passed ``judged_pass``; people labelled those in ``table``. The rate is
    Q P(pass | judge passes) + (1-Q) P(pass | judge fails), with Jeffreys intervals for the two parts
    joined by MOVER. A verdict class without labels counts as anything from 0 to 1. Labels that were
    picked for being hard or disputed, or that come from another suite, make it wrong.

    Raises ``Refused`` without labels, ValueError for what is not a count and for more labels of a
    verdict than items. Source: stratified estimation (Cochran 1977, chapter 5A) with MOVER.

    >>> found = post_stratified([[38, 2], [2, 8]], 760, 1000)
    >>> round(found.estimate, 3), round(found.interval.low, 4), round(found.interval.high, 4)
    (0.77, 0.6824, 0.8511)
    """
    both_pass, missed, let_through, both_fail = two_by_two(table)
    passed, total = _judged(judged_pass, judged)
    labels = (both_pass + let_through, missed + both_fail)
    if labels[0] > passed or labels[1] > total - passed:
        raise ValueError(
            f"the labels must be of judged items, got {labels[0]} labels of {passed} judged to pass and {labels[1]} of "
            f"{total - passed} judged to fail"
        )
    strata = [Stratum(both_pass, labels[0], passed), Stratum(missed, labels[1], total - passed)]
    found = stratified_rate(strata, level=level, side=side)
    empty = [word for word, each in zip(("passed", "failed"), strata, strict=True) if each.items and not each.labels]
    note = f"no label among what the judge {empty[0]}: anything is allowed for there" if empty else ""
    return Corrected(found.estimate, dataclasses.replace(found.interval, note=note))


def _judged(judged_pass: SupportsIndex, judged: SupportsIndex) -> tuple[int, int]:
    total, passed = _checks.whole(judged, "judged", at_least=1), _checks.whole(judged_pass, "judged_pass")
    if passed > total:
        raise ValueError(f"judged_pass must be at most judged, got {passed} of {total}")
    return passed, total


def rogan_gladen_estimate(sensitivity: float, specificity: float, q: float) -> float:
    """The rate of passes behind a share ``q`` that the judge passed, clipped to 0..1."""
    return min(1.0, max(0.0, (q + specificity - 1) / (sensitivity + specificity - 1)))


def rogan_gladen(table: Labels, judged_pass: SupportsIndex, judged: SupportsIndex, *, level: float = 0.95) -> Corrected:
    """The pass rate where the labels come from other items than the judged ones.

    Sensitivity and specificity from ``table`` (another suite, another share of passes), the same judge
    model, prompt and rubric. (q + specificity - 1) / (sensitivity + specificity - 1), clipped to 0..1,
    with the Lang–Reiczigel interval. Where the labels are a random sample of the judged items,
    ``post_stratified`` is about half as wide.

    Raises ``Refused`` where the labels do not show that the judge is better than chance, where one row
    of labels is empty, and where the judge's verdicts cannot come from a judge with these labels.
    Sources: Rogan & Gladen 1978; Lang & Reiczigel 2014.

    >>> found = rogan_gladen([[47, 3], [6, 44]], 760, 1000)
    >>> round(found.estimate, 4), round(found.interval.low, 4), round(found.interval.high, 4)
    (0.7805, 0.7129, 0.8804)
    """
    tp, missed, let_through, tn = two_by_two(table)
    passed, total = _judged(judged_pass, judged)
    good, bad = tp + missed, tn + let_through
    if not good or not bad:
        raise _checks.Refused(
            f"people passed {good} and failed {bad} of the labelled items: both are needed to know the judge's errors"
        )
    chance = youden_low(tp, good, tn, bad, level)
    if chance <= 0:
        raise _checks.Refused(
            f"the labels do not show that the judge is better than chance (sensitivity {tp}/{good}, specificity "
            f"{tn}/{bad}; lower bound of their sum - 1 is {chance:.2f}): label more items, or mend the judge"
        )
    q = passed / total
    estimate = rogan_gladen_estimate(tp / good, tn / bad, q)

    z = normal_quantile((1 + _checks.level_of(level)) / 2)
    items, good_, bad_ = total + z * z, good + 2, bad + 2
    q, sensitivity, specificity = (passed + z * z / 2) / items, (tp + 1) / good_, (tn + 1) / bad_
    j = sensitivity + specificity - 1
    rate = (q + specificity - 1) / j
    miss, slip = sensitivity * (1 - sensitivity) / good_, specificity * (1 - specificity) / bad_
    centre = rate + 2 * z * z * (rate * miss - (1 - rate) * slip)
    half = z * math.sqrt(q * (1 - q) / items + rate**2 * miss + (1 - rate) ** 2 * slip) / j
    if centre - half >= 1 or centre + half <= 0:
        raise _checks.Refused(
            f"the judge passed {passed} of {total}, which a judge with sensitivity {tp}/{good} and specificity "
            f"{tn}/{bad} would not do at any pass rate: it has changed since it was calibrated, or the labels differ"
        )
    low, high = max(0.0, min(centre - half, estimate)), min(1.0, max(centre + half, estimate))
    return Corrected(estimate, Interval(low, high, method="Rogan–Gladen, Lang–Reiczigel", level=float(level)))
