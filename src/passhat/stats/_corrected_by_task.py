"""Corrected pass rates where trials share tasks: what one task has in common counts once.

Some tasks are harder, and some fool the judge. Which tasks were drawn is then a source of error of its own, and so is
which tasks people read. Each rate here is estimated once without each task in turn (the jackknife); the interval is
the wider of that one and the one of single items.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from passhat.stats import _checks
from passhat.stats._corrected import Corrected, Stratum, rogan_gladen, stratified_rate
from passhat.stats._interval import Interval
from passhat.stats._judge import Labels, two_by_two

MIN_TASKS_CORRECTED = 3


def stratified_rate_by_task(tasks: Sequence[Sequence[Stratum]], *, level: float = 0.95) -> Corrected:
    """`stratified_rate` for tasks like these: one sequence of strata a task, in the same order for each.

    Two-sided coverage measured over 96 settings (3 to 100 tasks with labels, 30 to 100 labels, rates and errors of the
    judge that differ from task to task or don't, labels spread over the tasks or of whole tasks): .92 to 1.

    Raises ``Refused`` where fewer than 3 tasks have a label.

    >>> tasks = [[Stratum(3, 3, 8), Stratum(0, 1, 2)], [Stratum(2, 3, 6), Stratum(1, 2, 4)]] * 3
    >>> item = stratified_rate([Stratum(15, 18, 42), Stratum(3, 9, 18)])
    >>> found = stratified_rate_by_task(tasks)
    >>> round(found.estimate, 3) == round(item.estimate, 3), found.interval.width >= item.interval.width
    (True, True)
    """
    totals = _sums(tasks)
    labelled = sum(any(each.labels for each in task) for task in tasks)
    found = stratified_rate(totals, level=level)
    _enough(labelled, "with labels")
    without = [_point([_minus(*pair) for pair in zip(totals, task, strict=True)]) for task in tasks]
    return _widened(found, [without], labelled)


def _sums(tasks: Sequence[Sequence[Stratum]]) -> list[Stratum]:
    return [
        Stratum(
            math.fsum(each.passes for each in column),
            math.fsum(each.labels for each in column),
            sum(each.items for each in column),
            math.fsum(each.labels if each.squares is None else each.squares for each in column),
        )
        for column in zip(*tasks, strict=True)
    ]


def _minus(total: Stratum, task: Stratum) -> Stratum:
    labels = total.labels - task.labels
    return Stratum(total.passes - task.passes, labels if labels > 1e-9 else 0.0, total.items - task.items)


def _point(strata: Sequence[Stratum]) -> float | None:
    items = sum(each.items for each in strata)
    return math.fsum(each.items * each.share for each in strata) / items if items else None


def rogan_gladen_by_task(
    tables: Sequence[Labels], judged: Sequence[tuple[int, int]], *, level: float = 0.95
) -> Corrected:
    """`rogan_gladen` where the judge may err differently from task to task.

    ``tables`` has one table of labels a task of the labelled suite, ``judged`` one (passed by the judge, judged) a task
    of the suite whose rate is asked for. Raises ``Refused`` as `rogan_gladen` does, and where fewer than 3 tasks have
    labels, or fewer than 3 were judged.

    >>> tables = [[[10, 0], [2, 8]], [[6, 4], [2, 8]]] * 4
    >>> found = rogan_gladen_by_task(tables, [(13, 20)] * 20)
    >>> round(found.estimate, 2), found.interval.width > rogan_gladen([[64, 16], [16, 64]], 260, 400).interval.width
    (0.75, True)
    """
    cells = [two_by_two(table) for table in tables]
    whole = [sum(column) for column in zip(*cells, strict=True)]
    passed, total = sum(each for each, _ in judged), sum(each for _, each in judged)
    found = rogan_gladen([whole[:2], whole[2:]], passed, total, level=level)
    q = passed / total

    def elsewhere(cell: Sequence[int]) -> float | None:
        tp, missed, slipped, tn = (every - own for every, own in zip(whole, cell, strict=True))
        return _unclipped(tp / (tp + missed), tn / (tn + slipped), q) if tp + missed and tn + slipped else None

    sensitivity, specificity = whole[0] / (whole[0] + whole[1]), whole[3] / (whole[2] + whole[3])
    here = [_unclipped(sensitivity, specificity, (passed - p) / (total - n)) if total > n else None for p, n in judged]
    labelled = sum(any(cell) for cell in cells)
    _enough(labelled, "with labels")
    _enough(len(judged), "that the judge judged")
    return _widened(found, [[elsewhere(cell) for cell in cells if any(cell)], here], min(labelled, len(judged)))


def _unclipped(sensitivity: float, specificity: float, q: float) -> float | None:
    better = sensitivity + specificity - 1
    return None if better <= 0 else (q + specificity - 1) / better


def _enough(tasks: int, which: str) -> None:
    if tasks < MIN_TASKS_CORRECTED:
        noun, verb = ("task", "says") if tasks == 1 else ("tasks", "say")
        raise _checks.Refused(
            f"{tasks} {noun} {which} {verb} nothing about tasks like these: {MIN_TASKS_CORRECTED} are the least"
        )


def _widened(found: Corrected, without: Sequence[Sequence[float | None]], tasks: int) -> Corrected:
    """The wider of the item's interval and the jackknife's, with a t quantile over so many tasks."""
    from scipy.special import stdtrit

    ends = found.interval
    variance = 0.0
    for estimates in without:
        if any(each is None for each in estimates):  # the rate hangs on one task
            return Corrected(found.estimate, _said(ends, 0.0, 1.0))
        known = [each for each in estimates if each is not None]
        mean = math.fsum(known) / len(known)
        variance += (len(known) - 1) / len(known) * math.fsum((each - mean) ** 2 for each in known)
    half = float(stdtrit(tasks - 1, (1 + ends.level) / 2)) * math.sqrt(variance)
    low, high = max(0.0, found.estimate - half), min(1.0, found.estimate + half)
    return Corrected(found.estimate, _said(ends, min(low, ends.low), max(high, ends.high)))


def _said(ends: Interval, low: float, high: float) -> Interval:
    return Interval(low, high, method=f"{ends.method}; jackknife over tasks", note=ends.note, level=ends.level)
