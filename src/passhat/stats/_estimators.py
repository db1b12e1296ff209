"""pass@k and pass^k without bias: of one task, and of a suite as the mean over its tasks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import SupportsIndex

from passhat.stats import _checks
from passhat.stats._types import Counts, Rate, Scores


def score_of(n: int, c: int, k: int, rate: Rate) -> Fraction:
    """The exact score of one task, for checked arguments with k <= n."""
    sets = math.comb(n, k)
    if rate == "pass^k":
        return Fraction(math.comb(c, k), sets)
    return Fraction(sets - math.comb(n - c, k), sets)


def _score(n: SupportsIndex, c: SupportsIndex, k: SupportsIndex, rate: Rate) -> float:
    trials, successes = _checks.one_task(n, c)
    size = _checks.whole(k, "k", at_least=1)
    if size > trials:
        name = rate.replace("k", str(size))
        raise ValueError(
            f"{name} needs at least k={size} trials, got n={trials}: no unbiased estimate exists for k > n; "
            f"run more trials, or see interval() for bounds"
        )
    return float(score_of(trials, successes, size, rate))


def pass_at_k(n: SupportsIndex, c: SupportsIndex, k: SupportsIndex) -> float:
    """The chance that at least one of k trials of a task passes, estimated from c passes in n trials.

    1 - C(n-c, k) / C(n, k): the share of the sets of k among the n trials that hold a pass. Unbiased,
    unlike 1 - (1 - c/n)^k, which is too low. It suits work that may be tried again, with a check
    that tells which try was right. The result is a rate in 0..1.

    Raises ValueError for k > n, k < 1, c > n, negative numbers, booleans and floats.
    Source: Chen et al. 2021 (arXiv 2107.03374), equation 1.

    >>> pass_at_k(5, 2, 3)
    0.9
    >>> pass_at_k(5, 4, 3)
    1.0
    """
    return _score(n, c, k, "pass@k")


def pass_hat_k(n: SupportsIndex, c: SupportsIndex, k: SupportsIndex) -> float:
    """The chance that all of k trials of a task pass, estimated from c passes in n trials.

    C(c, k) / C(n, k): the share of the sets of k among the n trials that are all passes. Unbiased,
    unlike (c/n)^k, which is too high. It suits work that has to succeed every time, and equally a
    chain of k independent steps that all have to succeed. The result is a rate in 0..1.

    Raises ValueError for k > n, k < 1, c > n, negative numbers, booleans and floats.
    Source: Yao et al. 2024 (tau-bench, arXiv 2406.12045), section 3.

    >>> pass_hat_k(5, 4, 3)
    0.4
    >>> pass_hat_k(5, 2, 3)
    0.0
    """
    return _score(n, c, k, "pass^k")


def enough_trials(ns: Sequence[int], k: int, rate: Rate) -> None:
    """Raise a ValueError that lists the tasks with fewer than k trials."""
    short = [i for i, n in enumerate(ns) if n < k]
    if short:
        listed = ", ".join(map(str, short[:10])) + (", …" if len(short) > 10 else "")
        raise ValueError(
            f"{rate.replace('k', str(k))} needs k={k} trials of every task; {len(short)} of {len(ns)} tasks have "
            f"fewer (tasks {listed}): leave them out by name, or use a smaller k"
        )


def exact_mean(groups: Counter[tuple[int, int]], k: int, rate: Rate) -> Fraction:
    """Mean over tasks of their exact scores; ``groups`` counts the tasks by (n, c)."""
    total = sum((score_of(n, c, k, rate) * tasks for (n, c), tasks in groups.items()), Fraction(0))
    return total / groups.total()


def task_scores(n: SupportsIndex | Counts, c: Counts, *, k: SupportsIndex = 1, rate: Rate = "pass^k") -> list[float]:
    """The unbiased pass^k or pass@k of every task, in the order given; rates in 0..1.

    ``n`` is one number of trials for all tasks, or one a task; ``c`` the passes, one a task.
    Raises ValueError as ``suite_rate`` does.

    >>> task_scores(5, [5, 4, 0], k=3)
    [1.0, 0.4, 0.0]
    """
    ns, cs = _checks.counts(n, c)
    size = _checks.whole(k, "k", at_least=1)
    _checks.rate_word(rate)
    enough_trials(ns, size, rate)
    known = {pair: float(score_of(*pair, size, rate)) for pair in set(zip(ns, cs, strict=True))}
    return [known[pair] for pair in zip(ns, cs, strict=True)]


def suite_rate(n: SupportsIndex | Counts, c: Counts, *, k: SupportsIndex = 1, rate: Rate = "pass^k") -> float:
    """pass^k or pass@k of a suite: the mean of its tasks' scores, so that every task weighs the same.

    ``n`` is one number of trials for all tasks, or one a task; ``c`` the passes, one a task. The sum
    is exact and rounded once. It is never (pass@1)^k: tasks differ, and the mean of powers is not
    the power of the mean. The result is a rate in 0..1.

    Raises ValueError for an empty suite, for tasks with fewer than k trials (listed in the message),
    and for what is not a count.

    >>> suite_rate(5, [5, 5, 4, 0, 3, 5, 2, 5, 1, 5])
    0.7
    >>> suite_rate(5, [5, 5, 4, 0, 3, 5, 2, 5, 1, 5], k=3)
    0.55
    >>> suite_rate([5, 4], [5, 2], k=3, rate="pass@k")
    1.0
    """
    ns, cs = _checks.counts(n, c)
    size = _checks.whole(k, "k", at_least=1)
    _checks.rate_word(rate)
    enough_trials(ns, size, rate)
    return float(exact_mean(Counter(zip(ns, cs, strict=True)), size, rate))


def family_means(scores: Scores, families: Sequence[Hashable]) -> list[float]:
    """Mean score, or mean paired difference, of each family, in the order in which the families first appear.

    Tasks that share a repository, a template or a fixture are not independent draws: for "tasks like
    these" their family is the unit. Give the means to ``mean_interval``, those of differences to
    ``sign_flip``. Raises ValueError when the lengths differ or a value is outside -1..1.

    >>> family_means([1.0, 0.5, 0.0], ["billing", "billing", "refunds"])
    [0.75, 0.0]
    """
    numbers = _checks.scores(scores, low=-1.0)
    if len(families) != len(numbers):
        raise ValueError(f"families must name one family a task, got {len(families)} for {len(numbers)} tasks")
    members: dict[Hashable, list[float]] = {}
    for family, number in zip(families, numbers, strict=True):
        members.setdefault(family, []).append(number)
    return [math.fsum(each) / len(each) for each in members.values()]
