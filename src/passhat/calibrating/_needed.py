"""How many labels make the corrected interval so wide."""

from __future__ import annotations

from passhat.calibrating._correct import Asked
from passhat.calibrating._result import Correction, Needed
from passhat.calibrating._weights import strata_of, table_of
from passhat.stats import labels_needed_elsewhere, labels_needed_here

WIDTHS = (0.20, 0.15, 0.10, 0.05)


def needed(asked: Asked, found: Correction) -> tuple[Needed, ...]:
    """Labels in all for each width that is narrower than what there is; from the normal approximation, rounded up.

    A width for which the approximation takes no more labels than there are is left out: it can't tell there.
    """
    if found.corrected is None:
        return ()
    low, high = found.corrected.these_tasks
    narrower = [width for width in WIDTHS if width < high - low - 0.005]
    count = _elsewhere if asked.elsewhere else _here
    read = sum(each.weight is not None for each in asked.labelled)
    found_for = [Needed(width, count(asked, found.corrected.estimate, width)) for width in narrower]
    return tuple(each for each in found_for if each.labels is None or each.labels > read)


def _here(asked: Asked, estimate: float, width: float) -> int | None:
    """Labels of this run: what was chosen for reading is known, the others are drawn from the rest."""
    _, *rest = strata_of(asked.judged)
    known = sum(each.weight == 0 for each in asked.judged)
    drawn = labels_needed_here(rest, estimate, width, items=len(asked.judged), level=asked.level)
    return None if drawn is None else known + drawn


def _elsewhere(asked: Asked, estimate: float, width: float) -> int | None:
    """Labels elsewhere, with as many passes among them as now."""
    passed = sum(each.trial.judge for each in asked.judged)
    table = table_of(asked.labelled)
    return labels_needed_elsewhere(table, passed, len(asked.judged), estimate, width, level=asked.level)
