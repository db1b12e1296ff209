"""When no corrected rate may be given, and what would give one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from passhat.calibrating._weights import Weighed, plain, strata_of
from passhat.facts import count, grouped
from passhat.stats import judge_quality
from passhat.summary import JudgedTrial

UNLIKELY = 0.001
"""Labels that chance would spread so unevenly this rarely were not drawn by chance."""


class Refusal(NamedTuple):
    """Why there is no corrected rate, and the way out.

    In ``way_out`` {run} stands for the run whose rate is asked for, {labelled} for the one that is labelled, and
    {grader} for the judge, as a command takes them.
    """

    reason: str
    way_out: str


SAMPLE = (
    "have people read trials that chance draws (passhat review {labelled} --grader {grader} --blind, or passhat sample "
    "{labelled})"
)
HERE = (
    "have people read trials of the run itself that chance draws (passhat review {run} --grader {grader} --blind), and "
    "calibrate it without --labels"
)


def changed(labelled: Sequence[JudgedTrial], judged: Sequence[JudgedTrial], *, elsewhere: bool) -> Refusal | None:
    """Whether the labelled trials were judged by another version of the judge than those whose rate is asked for."""
    here = list(dict.fromkeys(each.version for each in judged))
    there = list(dict.fromkeys(each.version for each in labelled))
    pairs = ((one, other) for place, one in enumerate(here) for other in (*here[place + 1 :], *there))
    what = next((found for one, other in pairs if (found := one.changes(other))), None)
    if what is None:
        return None
    within = any(one.changes(other) for place, one in enumerate(here) for other in here[place + 1 :])
    where = "within the run" if within else "between the labelled and the judged trials"
    one_version = "judge all trials with one version (passhat regrade {run}), and calibrate that one with --grades"
    as_there = (
        "judge {run} as {labelled} was judged (passhat regrade {run} with that version of the suite), and calibrate "
        "what it wrote (passhat calibrate {run} --grader {grader} --labels {labelled} --grades ID); or have people "
        "read trials of {run} itself (passhat review {run} --grader {grader} --blind)"
    )
    return Refusal(f"the judge changed {where}: {', '.join(what)}", as_there if elsewhere else one_version)


def other_rubric(labels: int) -> Refusal:
    """No label is left, as all were given on another rubric than the one that judged."""
    all_of = "the only label was" if labels == 1 else f"all {labels} labels were"
    return Refusal(
        f"the rubric changed: {all_of} given on another one than the one that judged",
        "calibrate the grades of the rubric that people answered (--grades ID, or without), or have people read again "
        "by this one (passhat review {labelled} --grader {grader} --blind; with --grades ID for a regrade's rubric)",
    )


def not_drawn(weighed: Sequence[Weighed]) -> Refusal | None:
    """Whether labels were picked, so that they say nothing of the trials that nobody read.

    Labels called random are held against what is known of every trial: the judge's verdict, and within each of its
    verdicts whether the trial passed as a whole.
    """
    known, *rest = strata_of(weighed)
    unread = [each for each in rest if each.items and not each.labels]
    if known.labels and sum(each.items for each in unread) and not any(each.labels for each in rest):
        whose = "all {} labels are of trials that were" if known.labels > 1 else "the only label is of a trial that was"
        reason = (
            f"{whose.format(round(known.labels))} picked (failed, disputed, or by hand), which says nothing of the "
            f"{sum(each.items for each in unread)} that nobody read"
        )
        return Refusal(reason, SAMPLE)
    unpicked = [each for each in weighed if each.weight != 0]
    # a sample was drawn from all trials, or from those that were left: it has to be possible as one of the two
    if plain(unpicked) and all(_uneven(some, [each.trial.judge for each in some]) for some in (unpicked, weighed)):
        return Refusal(_mix(unpicked), SAMPLE)
    for verdict in (True, False):
        group = [each for each in unpicked if each.trial.judge is verdict]
        if plain(group) and _uneven(group, [each.trial.passed is True for each in group]):
            drawn = [each for each in group if each.weight]
            passed, all_passed = (sum(each.trial.passed is True for each in some) for some in (drawn, group))
            word = "passed" if verdict else "failed"
            reason = (
                f"the labels called random are none: of {len(group)} trials that the judge {word} {all_passed} passed "
                f"as a whole, of the {len(drawn)} labelled ones {passed}"
            )
            return Refusal(reason, SAMPLE)
    return None


def biased_elsewhere(weighed: Sequence[Weighed]) -> Refusal | None:
    """Whether another run's labels can't tell sensitivity and specificity."""
    refusal = not_drawn(weighed)
    if refusal is not None:
        return refusal
    if not plain(weighed):
        drawn = sum(bool(each.weight) for each in weighed)
        read = sum(each.weight is not None for each in weighed)
        reason = f"{read - drawn} of {read} labels there are of trials that were picked" if drawn < read else ""
        return Refusal(
            f"{reason or 'the labels there were drawn with unequal chances'}: sensitivity and specificity have to come "
            "from a plain random sample",
            SAMPLE,
        )
    return None


def _mix(group: Sequence[Weighed]) -> str:
    drawn = [each for each in group if each.weight]
    passed, all_passed = (sum(each.trial.judge for each in some) for some in (drawn, group))
    return (
        f"the labels called random are none: the judge passed {passed} of {count(len(drawn), 'labelled trial')}, and "
        f"{all_passed} of all {len(group)}"
    )


def no_better_than_chance(table: Sequence[Sequence[int]], level: float) -> Refusal | None:
    """Whether the labels don't show that sensitivity + specificity is above 1: Rogan–Gladen divides by the excess."""
    (tp, missed), (slipped, tn) = table
    found = judge_quality(table, level=level).better_than_chance
    if found is not None and found > 0:
        return None
    more = "label more trials drawn by chance, or mend the judge"
    if found is None:
        word, group = ("fail", "pass") if not slipped + tn else ("pass", "fail")
        return Refusal(
            f"people {group} all {tp + missed + slipped + tn} labelled trials: how the judge does where people {word} "
            "isn't known",
            more,
        )
    return Refusal(
        f"the labels don't show that the judge is better than chance: sensitivity {tp}/{tp + missed} + specificity "
        f"{tn}/{tn + slipped} − 1 may be as low as {found:.2f}",
        more,
    )


def _uneven(group: Sequence[Weighed], marks: Sequence[bool]) -> bool:
    """Whether a draw without replacement would hold as few, or as many, marked trials less often than `UNLIKELY`.

    Where labels keep to few tasks, whose trials are alike, each task counts as one observation; then the draw within
    the tasks is held against chance too.
    """
    n, marked = sum(bool(each.weight) for each in group), sum(marks)
    seen = sum(mark for each, mark in zip(group, marks, strict=True) if each.weight)
    few = concentrated(group)
    if few is None:
        return _rare([_draws(len(group), marked, n)], seen)
    tasks = grouped(zip(group, marks, strict=True), lambda each: each[0].trial.task)
    of_tasks = round(marked / len(group) * len(tasks))
    hits = round(seen / n * few[0])
    of_tasks = min(max(of_tasks, hits), len(tasks) - few[0] + hits)  # rounding makes no draw impossible
    within = [
        _draws(len(members), sum(mark for _, mark in members), sum(bool(each.weight) for each, _ in members))
        for members in tasks.values()
    ]
    return _rare([_draws(len(tasks), of_tasks, few[0])], hits) or _rare(within, seen)


def _draws(total: int, marked: int, n: int) -> dict[int, float]:
    """The chances of each number of marked ones among ``n`` drawn without replacement (hypergeometric)."""
    every = math.comb(total, n)
    return {
        x: math.comb(marked, x) * math.comb(total - marked, n - x) / every
        for x in range(max(0, n - total + marked), min(n, marked) + 1)
    }


def _rare(draws: Sequence[dict[int, float]], seen: int) -> bool:
    """Whether the sum of independent draws is as far out as ``seen`` less often than `UNLIKELY`, on either side."""
    sums = {0: 1.0}
    for draw in draws:
        more: dict[int, float] = {}
        for (one, p), (other, q) in product(sums.items(), draw.items()):
            more[one + other] = more.get(one + other, 0.0) + p * q
        sums = more
    low, high = math.fsum(p for x, p in sums.items() if x <= seen), math.fsum(p for x, p in sums.items() if x >= seen)
    return 2 * min(low, high) < UNLIKELY


def concentrated(weighed: Sequence[Weighed]) -> tuple[int, float] | None:
    """(labelled tasks, tasks that as many labels drawn by chance would reach) where labels keep to few tasks."""
    tasks = grouped(weighed, lambda each: each.trial.task)
    drawn = sum(bool(each.weight) for each in weighed)
    total = len(weighed)
    if not drawn:
        return None
    reached = sum(any(each.weight for each in members) for members in tasks.values())
    expected = math.fsum(1 - _none_of(len(members), drawn, total) for members in tasks.values())
    return (reached, expected) if reached < 0.8 * expected else None


def _none_of(size: int, drawn: int, total: int) -> float:
    """The chance that none of ``size`` trials is among so many drawn."""
    if drawn > total - size:
        return 0.0
    return math.exp(
        math.lgamma(total - size + 1)
        + math.lgamma(total - drawn + 1)
        - math.lgamma(total - size - drawn + 1)
        - math.lgamma(total + 1)
    )
