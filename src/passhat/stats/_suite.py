"""Intervals for a suite's pass^k, pass@k or mean score, about these tasks or about tasks like these."""

from __future__ import annotations

from collections import Counter
from typing import SupportsIndex

from passhat.stats import _checks, _population
from passhat.stats._beyond import order_and_stretch
from passhat.stats._estimators import score_of
from passhat.stats._interval import Interval
from passhat.stats._these_tasks import TheseTasks, bound_rule, these_tasks_ends
from passhat.stats._types import Counts, Rate, Scores, Side, Target


def interval(
    n: SupportsIndex | Counts,
    c: Counts,
    *,
    k: SupportsIndex = 1,
    rate: Rate = "pass^k",
    of: Target = "these tasks",
    level: float = 0.95,
    side: Side = "both",
) -> Interval:
    """The interval for a suite's pass^k or pass@k; with k = 1 either is the mean success rate.

    ``n`` is one number of trials for all tasks, or one a task; ``c`` the passes, one a task.

    ``of="these tasks"``: the suite itself; only the noise of the trials counts, and more trials
    narrow it. Clopper–Pearson at an effective number of trials, from the trials' own variance where
    there are at least max(5, 2k) trials a task, else nT/k. An end from the variance never promises more
    than the trials of the solved (unsolved) tasks prove by themselves. Tasks with unequal n are counted
    as if all had the smallest, which is conservative. ``note`` says which rule was used.

    ``of="tasks like these"``: the population that the tasks are a sample of; more trials do not
    narrow it, more tasks do. Dirichlet weights over tasks and one unseen task that fails (passes)
    always. Ask for it only where the tasks are a sample of something.

    ``side="lower"`` and ``"upper"`` give one-sided bounds at ``level``: what a gate uses.

    With k above the smallest n there is no unbiased estimate: the result is then the interval that
    holds whatever the law of the tasks' rates (see ``bounds_beyond``), and ``method`` says so.
    Trials of a task have to be independent: shared state or a cache voids "these tasks".

    The result unpacks as ``low, high`` within 0..1, holds the estimate, and never has width 0.
    Raises ValueError for an empty suite and for what is not a count, ``Refused`` for k > 3n.
    Sources: Learned-Miller & Thomas 2019 (arXiv 1905.06208), Gaffke 2005; Hoeffding 1948.

    >>> counts = [5, 5, 4, 0, 3, 5, 2, 5, 1, 5]
    >>> low, high = interval(5, counts)
    >>> round(low, 2), round(high, 2)
    (0.59, 0.8)
    >>> low, high = interval(5, counts, of="tasks like these")
    >>> round(low, 2), round(high, 2)
    (0.4, 0.9)
    >>> round(interval(5, [5] * 10, k=3, side="lower").low, 3)
    0.835
    """
    ns, cs = _checks.counts(n, c)
    size = _checks.whole(k, "k", at_least=1)
    _checks.rate_word(rate)
    _checks.target_word(of)
    below, above = _checks.tails(level, side)
    order, stretch = order_and_stretch(min(ns), size, rate)
    groups = Counter(zip(ns, cs, strict=True))

    if of == "these tasks":
        counted = TheseTasks(groups, order, rate)
        worth = counted.worth
        low, high = counted.ends(below, above)
        method = f"Clopper–Pearson at {worth.trials:.1f} effective trials ({worth.rule})"
        note = worth.note
        if (low, high) != these_tasks_ends(counted.estimate, worth.trials, below, above):
            note = "an end is what the trials of the tasks that nearly always pass (fail) prove by themselves"
    else:
        scores: Counter[float] = Counter()
        for (trials, passes), tasks in groups.items():
            scores[float(score_of(trials, passes, order, rate))] += tasks
        low, high = _population.population_ends(scores, below, above)
        method, note = _population.METHOD, ""

    if stretch is not None:
        low, high = stretch(low, high)
        method = f"bounds free of assumptions for k={size} > n={order} (Jensen), from {method}"
        note = f"k={size} is more than the {order} trials a task: bounds, not an estimate" + (
            f"; {note}" if note else ""
        )
    return Interval(low, high, method=method, note=note, level=float(level), side=side)


def mean_interval(
    scores: Scores,
    level: float = 0.95,
    *,
    of: Target = "tasks like these",
    n: SupportsIndex | Counts | None = None,
    side: Side = "both",
) -> Interval:
    """The interval for a suite's mean score, with one score in 0..1 a task (partial credit allowed).

    ``of="tasks like these"`` (the default) takes nothing but the scores: Dirichlet weights over tasks
    and one unseen task at the end concerned. For 0/1 scores it is Clopper–Pearson's interval.

    ``of="these tasks"`` needs ``n``, the trials behind each task's mean score (one number, or one a
    task): Clopper–Pearson at T times the smallest n, since a score in 0..1 varies at most as a
    pass or fail with the same mean does. Conservative, the more so the less the scores vary.

    The result unpacks as ``low, high`` within 0..1, holds the mean, and never has width 0.
    Raises ValueError for no scores, scores outside 0..1 (NaN too), and "these tasks" without n.
    Sources: as ``interval``.

    >>> low, high = mean_interval([1.0, 1.0, 0.8, 0.0, 0.6, 1.0, 0.4, 1.0, 0.2, 1.0])
    >>> round(low, 6), round(high, 6)
    (0.397235, 0.898991)
    >>> low, high = mean_interval([0.5, 0.75], of="these tasks", n=10)
    >>> round(low, 3), round(high, 3)
    (0.384, 0.828)
    """
    numbers = _checks.scores(scores)
    _checks.target_word(of)
    below, above = _checks.tails(level, side)
    counted = Counter(round(each, 12) for each in numbers)
    if of == "tasks like these":
        low, high = _population.population_ends(counted, below, above)
        return Interval(low, high, method=_population.METHOD, level=float(level), side=side)
    if n is None:
        raise ValueError("these tasks: n is needed, the number of trials behind each task's score; got None")
    ns, _ = _checks.counts(n, [0] * len(numbers))
    least = min(ns)
    trials = bound_rule(least, len(ns))
    low, high = these_tasks_ends(_population.mean_of(counted), trials, below, above)
    note = "scores in 0..1 are counted as if they varied as much as passes and failures do"
    if least < max(ns):
        note += f"; tasks have {least} to {max(ns)} trials: counted as if every task had {least}"
    method = f"Clopper–Pearson at {trials:.1f} effective trials (bound rule nT)"
    return Interval(low, high, method=method, note=note, level=float(level), side=side)
