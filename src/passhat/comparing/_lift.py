"""By how much a rate differs, on these tasks and on tasks like these."""

from __future__ import annotations

from collections.abc import Sequence

from passhat.comparing._pairs import Pair, Pairs, World
from passhat.comparing._result import Claim, Lift, TagLift
from passhat.stats import (
    MIN_TASKS_POPULATION,
    Interval,
    Paired,
    difference_interval,
    family_means,
    mean_difference_interval,
    paired,
    sign_flip,
    suite_rate,
    task_scores,
)
from passhat.stats import Rate as RateWord

_FEW = 10


def lifts(pairs: Pairs, level: float, ks: Sequence[int] | None) -> tuple[Lift, ...]:
    """pass@1, then pass@k and pass^k for each further k that every task has trials for."""
    if not pairs.pairs:
        return ()
    rows = [pair.counts() for pair in pairs.pairs]
    least = min(min(row[0], row[2]) for row in rows)
    asked = _ks(least) if ks is None else [k for k in ks if 1 < k <= least]
    rates: list[tuple[int, RateWord]] = [(1, "pass@k")]
    rates += [(k, rate) for k in asked for rate in ("pass@k", "pass^k")]
    return tuple(lift(pairs, level, k, rate) for k, rate in rates)


def _ks(least: int) -> list[int]:
    """The number of trials itself, up to ten: does it work every time, and can it at all?"""
    return [] if least < 2 else [min(least, _FEW)]


def lift(pairs: Pairs, level: float, k: int = 1, rate: RateWord = "pass@k", world: World = "counted") -> Lift:
    """The difference of one rate over all pairs."""
    n1, c1, n2, c2 = _columns(pairs.pairs, world)
    found = paired(n1, c1, n2, c2, k=k, rate=rate, level=level)
    these = _claim(found.these_tasks, found.these_tasks_test.p, found.these_tasks_test.test)
    return Lift(
        rate=rate.replace("k", str(k)),
        baseline=suite_rate(n1, c1, k=k, rate=rate),
        candidate=suite_rate(n2, c2, k=k, rate=rate),
        estimate=rounded(found.estimate),
        these_tasks=these,
        tasks_like_these=_like(pairs, found, level, k, rate),
    )


def _like(pairs: Pairs, found: Paired, level: float, k: int, rate: RateWord) -> Claim | None:
    if pairs.hand_picked or pairs.units < MIN_TASKS_POPULATION:
        return None
    interval, test = found.tasks_like_these, found.tasks_like_these_test
    if pairs.units < len(pairs.pairs):
        n1, c1, n2, c2 = _columns(pairs.pairs)
        before, after = (task_scores(n, c, k=k, rate=rate) for n, c in ((n1, c1), (n2, c2)))
        differences = [two - one for one, two in zip(before, after, strict=True)]
        means = family_means(differences, [pair.unit for pair in pairs.pairs])
        interval, test = mean_difference_interval(means, level), sign_flip(means)
    return _claim(interval, test.p, test.test, test.note)


def _claim(interval: Interval, p: float, test: str, note: str = "") -> Claim:
    note = "; ".join(filter(None, (note, interval.note)))
    return Claim((rounded(interval.low), rounded(interval.high)), p, test, note)


def by_tag(pairs: Pairs, level: float) -> tuple[TagLift, ...]:
    """The difference of pass@1 over the tasks of each tag."""
    rows = []
    for tag in pairs.tags:
        chosen = pairs.with_tag(tag)
        n1, c1, n2, c2 = _columns(chosen)
        before, after = suite_rate(n1, c1), suite_rate(n2, c2)
        ends = difference_interval(n1, c1, n2, c2, level=level)
        rows.append(TagLift(tag, len(chosen), before, after, rounded(after - before), (ends.low, ends.high)))
    return tuple(rows)


def lift_in(pairs: Pairs, world: World) -> float:
    """The difference of pass@1 in a world."""
    n1, c1, n2, c2 = _columns(pairs.pairs, world)
    return rounded(suite_rate(n2, c2) - suite_rate(n1, c1))


def _columns(pairs: Sequence[Pair], world: World = "counted") -> tuple[list[int], list[int], list[int], list[int]]:
    rows = [pair.counts(world) for pair in pairs]
    return tuple([row[place] for row in rows] for place in range(4))  # type: ignore[return-value]


def rounded(value: float) -> float:
    """A difference to 15 significant digits: 0.02 - 0.01 is 0.01.

    >>> rounded(0.3 - 0.2)
    0.1
    """
    return float(f"{value:.15g}")
