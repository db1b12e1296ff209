"""Where raters agree, tag by tag, and the trials on which they don't."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import msgspec

from passhat.facts import Label, TrialKey
from passhat.summary import Agreement, agreement, by_rater


class TagAgreement(msgspec.Struct, frozen=True):
    """Two raters over the trials of the tasks with one tag."""

    tag: str
    agreement: Agreement


class Difference(msgspec.Struct, frozen=True):
    """A trial on which two raters differ, in verdict or in whose fault it is; ``labels`` in the order of the raters."""

    arm: str
    task: str
    trial: int
    labels: tuple[Label, Label]

    @property
    def verdicts(self) -> bool:
        """Whether the verdicts differ, and not only the faults."""
        return self.labels[0].verdict != self.labels[1].verdict


class RaterPair(msgspec.Struct, frozen=True):
    """Two raters: their agreement in all and by tag, and every trial on which they differ.

    ``tasks`` names the tasks on which their verdicts differ, with the number of trials, most first. Of the
    ``both_blamed`` trials for which both named a fault, they named the same one ``same_fault`` times.
    """

    agreement: Agreement
    by_tag: tuple[TagAgreement, ...]
    tasks: dict[str, int]
    differences: tuple[Difference, ...]
    both_blamed: int
    same_fault: int


def rater_agreement(
    labels: Iterable[Label],
    *,
    tags: Mapping[str, Sequence[str]] | None = None,
    grader: str = "",
) -> tuple[RaterPair, ...]:
    """Every two raters that judged trials in common, by name. ``labels`` are those that stand; ``tags`` by task.
    Intervals are at 95 %.

    >>> said = [Label("t", i, word, who, "") for who in ("ann", "ben") for i, word in enumerate(("pass", "fail"))]
    >>> [pair] = rater_agreement(said, tags={"t": ["easy"]})
    >>> pair.agreement.kappa, pair.by_tag[0].tag, pair.differences
    (1.0, 'easy', ())
    """
    raters = by_rater(labels, grader=grader)
    found = []
    for first, second in combinations(raters, 2):
        shared = sorted(key for key in raters[first] if key in raters[second])
        if shared:
            found.append(_pair(first, second, raters[first], raters[second], shared, tags or {}))
    return tuple(found)


def _pair(
    first: str,
    second: str,
    one: Mapping[TrialKey, Label],
    other: Mapping[TrialKey, Label],
    shared: Sequence[TrialKey],
    tags: Mapping[str, Sequence[str]],
) -> RaterPair:
    both = [(key, one[key], other[key]) for key in shared]
    differences = tuple(Difference(*key, (a, b)) for key, a, b in both if _differ(a, b))
    tasks: dict[str, int] = {}
    for difference in differences:
        if difference.verdicts:
            tasks[difference.task] = tasks.get(difference.task, 0) + 1
    blamed = [(a.fault, b.fault) for _, a, b in both if a.fault is not None and b.fault is not None]
    names = sorted({tag for key in shared for tag in tags.get(key[1], ())})
    return RaterPair(
        agreement=agreement(first, second, one, other),
        by_tag=tuple(TagAgreement(tag, agreement(first, second, _tagged(one, tags, tag), other)) for tag in names),
        tasks=dict(sorted(tasks.items(), key=lambda item: (-item[1], item[0]))),
        differences=differences,
        both_blamed=len(blamed),
        same_fault=sum(a == b for a, b in blamed),
    )


def _differ(a: Label, b: Label) -> bool:
    return a.verdict != b.verdict or (a.fault is not None and b.fault is not None and a.fault != b.fault)


def _tagged(labels: Mapping[TrialKey, Label], tags: Mapping[str, Sequence[str]], tag: str) -> dict[TrialKey, Label]:
    return {key: label for key, label in labels.items() if tag in tags.get(key[1], ())}
