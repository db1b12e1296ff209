"""A pass^k curve that somebody published, held against the records: is it possible at all, and is it theirs?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from passhat.stats import Refused, check_curve
from passhat.summary._report import Finding, Report

_ORDER = {"error": 0, "warning": 1, "note": 2}


def with_published(report: Report, curve: Sequence[str]) -> Report:
    """The report with a finding on a published curve pass^1 … pass^n, as rates or percent, of as many tasks.

    An error when no such numbers of passes exist, a warning when they exist and are others than the records', a note
    when they agree. The number of trials is the number of rates. Raises ValueError for what is no curve.
    """
    found = sorted((_finding(report, curve), *report.findings), key=lambda finding: _ORDER[finding.severity])
    return msgspec.structs.replace(report, findings=tuple(found))


def _finding(report: Report, curve: Sequence[str]) -> Finding:
    n, tasks = len(curve), report.tasks
    shown = " ".join(curve)
    try:
        check = check_curve(n, tasks, list(curve))
    except Refused as refusal:
        return Finding("published-curve", "note", f"The published curve {shown} can't be checked: {refusal}")
    size = f"{tasks} tasks × {n} trials"
    if not check.possible or check.histogram is None:
        return Finding(
            "published-curve", "error", f"The published curve {shown} is impossible for {size}: {check.reason}"
        )
    rows = [row for row in report.by_task if row.n and row.split != "tune"] or list(report.by_task)
    own = Counter(row.c for row in rows if row.n == n)
    histogram = ", ".join(f"{count} with {passes}" for passes, count in enumerate(check.histogram))
    text = f"The published curve {shown} is possible for {size}; tasks by passes: {histogram}"
    if check.fits > 1:
        text += f" (one of {check.fits} that fit its rounding)"
    if len(rows) == sum(own.values()) and check.fits == 1:
        same = all(own[passes] == count for passes, count in enumerate(check.histogram))
        if not same:
            return Finding("published-curve", "warning", f"{text}. These records have other counts")
        text += ". These records have the same"
    return Finding("published-curve", "note", text)
