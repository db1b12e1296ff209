"""The judge on parts of the trials: a pooled figure can hide a part on which it errs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from passhat.calibrating._correct import Asked, correct
from passhat.calibrating._quality import quality_of
from passhat.calibrating._result import Correction, Dimension, Part
from passhat.calibrating._weights import Weighed
from passhat.facts import count
from passhat.stats import adjust_p, boschloo
from passhat.summary import Finding

MIN_LABELS_OF_A_PART = 10
"""With fewer labels a part has no corrected rate."""


def names_of(each: Weighed, by: Dimension) -> tuple[str, ...]:
    """The parts to which a trial belongs."""
    trial = each.trial
    if by == "tag":
        return trial.tags
    return ((trial.arm if by == "arm" else trial.task if by == "task" else trial.family) or "",)


def parts_of(asked: Asked, by: Sequence[Dimension], *, corrected: bool) -> Iterator[Part]:
    """A row for each part of the labelled run that has labels and isn't all of it: by ``by``, then by name.

    Where the rate of the whole isn't ``corrected``, that of no part is.
    """
    for dimension in by:
        found: dict[str, list[Weighed]] = {}
        for each in asked.labelled:
            for name in names_of(each, dimension):
                found.setdefault(name, []).append(each)
        for name, members in sorted(found.items()):
            whole = len(members) == len(asked.labelled)
            if name and not whole and any(each.weight is not None for each in members):
                yield _part(asked, members, dimension, name, corrected)


def _part(asked: Asked, members: Sequence[Weighed], by: Dimension, name: str, corrected: bool) -> Part:
    quality = quality_of(members, asked.level)
    found: Correction | None = None
    if corrected and not asked.elsewhere and quality.labels >= MIN_LABELS_OF_A_PART:
        found = correct(asked._replace(judged=members, labelled=members, population=False))
    return Part(
        by=by,
        name=name,
        judged=len(members),
        quality=quality,
        raw=sum(each.trial.judge for each in members) / len(members),
        corrected=None if found is None else found.corrected,
    )


def uneven(rows: Sequence[Part], whole: tuple[tuple[int, int], tuple[int, int]], error: float) -> Iterator[Finding]:
    """Parts on which the judge errs more, or less, than on the rest, at a false-discovery rate of ``error``."""
    tested: list[tuple[Part, int, float]] = []
    for row in rows:
        for people in (0, 1):
            wrong, total = row.quality.table[people][1 - people], sum(row.quality.table[people])
            other, rest = whole[people][1 - people] - wrong, sum(whole[people]) - total
            if total and rest:
                tested.append((row, people, boschloo(total, wrong, rest, other)))
    for (row, people, _), q in zip(tested, adjust_p([p for *_, p in tested]), strict=True):
        if q <= error:
            wrong, total = row.quality.table[people][1 - people], sum(row.quality.table[people])
            other, rest = whole[people][1 - people] - wrong, sum(whole[people]) - total
            verbs = ("fails", "pass") if people == 0 else ("passes", "fail")
            yield Finding(
                "uneven",
                "warning",
                f"{row.by} {row.name}: the judge {verbs[0]} {wrong} of {count(total, 'trial')} that people {verbs[1]}, "
                f"elsewhere {other} of {rest}: read its corrected rate there, not the pooled one",
            )
