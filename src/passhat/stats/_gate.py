"""A gate's verdict from one-sided bounds, and whether the trials still to come can change it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, SupportsIndex, TypeAlias

from passhat.stats import _checks
from passhat.stats._estimators import enough_trials, score_of
from passhat.stats._interval import Interval
from passhat.stats._suite import interval
from passhat.stats._these_tasks import bound_rule, these_tasks_ends
from passhat.stats._types import Counts, Rate, Target

Verdict: TypeAlias = Literal["met", "not met", "undecided"]
_TINY = 1e-12  # what rounding may do to a bound that equals its bar


@dataclass(frozen=True, slots=True)
class GateResult:
    """A verdict on "the rate is at least ``bar``", with the one-sided bounds it rests on."""

    verdict: Verdict
    bar: float
    lower: Interval
    upper: Interval


def gate(
    bar: float,
    n: SupportsIndex | Counts,
    c: Counts,
    *,
    k: SupportsIndex = 1,
    rate: Rate = "pass^k",
    of: Target = "these tasks",
    level: float = 0.95,
) -> GateResult:
    """Is a suite's rate at least ``bar``? "met" is proved, "not met" disproved, each at one-sided level.

    met: the lower bound reaches the bar. not met: the upper bound is below it. Else "undecided".
    Fix the bar, the tasks, the trials and the rate before running; adding trials to an undecided
    gate is another look and has to be paid for: by a higher level, of 1 - (1 - level) / look at each look, or by a
    bound that holds at any time (``confidence_sequence``).

    Raises ValueError unless 0 < bar < 1, and as ``interval`` does.

    >>> gate(0.8, 1, [1] * 14).verdict
    'met'
    >>> gate(0.8, 1, [1] * 13).verdict
    'undecided'
    """
    bar = _checks.share(bar, "bar")
    lower = interval(n, c, k=k, rate=rate, of=of, level=level, side="lower")
    upper = interval(n, c, k=k, rate=rate, of=of, level=level, side="upper")
    return GateResult(bar_verdict(lower.low, upper.high, bar), bar, lower, upper)


def bar_verdict(low: float, high: float, bar: float, *, op: Literal[">=", "<="] = ">=") -> Verdict:
    """Does a value that lies between two one-sided bounds reach ``bar`` (with "<=": stay within it)?

    "met" when the one bound proves it, "not met" when the other rules it out; reaching the bar is enough.

    >>> bar_verdict(0.8, 0.95, 0.8), bar_verdict(0.5, 0.79, 0.8)
    ('met', 'not met')
    >>> bar_verdict(0.0, 0.1, 0.1, op="<="), bar_verdict(0.05, 0.3, 0.1, op="<=")
    ('met', 'undecided')
    """
    if op == "<=":
        low, high, bar = -high, -low, -bar
    if low >= bar - _TINY:
        return "met"
    return "not met" if high < bar - _TINY else "undecided"


@dataclass(frozen=True, slots=True)
class Curtailment:
    """Whether a gate's verdict is settled before all planned trials have run.

    "met" and "not met": so it will end, whatever is still to come. "cannot be met": it will end
    undecided or not met. "open": go on. ``low`` and ``high`` are the lowest and highest values that
    the suite's rate can still end at.
    """

    verdict: Literal["met", "not met", "cannot be met", "open"]
    low: float
    high: float
    remaining: int

    @property
    def stop(self) -> bool:
        """True where further trials cannot change the verdict."""
        return self.verdict != "open"


def curtail(
    bar: float,
    n: SupportsIndex | Counts,
    c: Counts,
    *,
    planned: SupportsIndex | Counts,
    k: SupportsIndex = 1,
    rate: Rate = "pass^k",
    level: float = 0.95,
) -> Curtailment:
    """Is the verdict on "the rate of these tasks is at least ``bar``" settled already?

    ``n`` trials done and ``c`` passes so far, ``planned`` trials in all, each one number or one a
    task; n may be 0. The verdict is that of the bound rule (Clopper–Pearson at nT/k trials, the
    smallest planned n), which can only rise with every pass, so that stopping costs nothing: its error is
    exactly that of the full plan. Only for these tasks: tasks must not be run one after another and
    the run then cut.

    Raises ValueError for n above planned, tasks planned for fewer than k trials, and non-counts.

    >>> curtail(0.8, 2, [2, 1, 0, 0, 1], planned=4).verdict
    'cannot be met'
    >>> curtail(0.5, 4, [4, 4, 4, 4, 4], planned=5).verdict
    'met'
    """
    bar = _checks.share(bar, "bar")
    size = _checks.whole(k, "k", at_least=1)
    _checks.rate_word(rate)
    error = 1 - _checks.level_of(level)
    plan, passes = _checks.counts(planned, c)
    done = _checks.trials_done(n, len(plan))
    enough_trials(plan, size, rate)
    worst = best = Fraction(0)
    for i, (all_, had, good) in enumerate(zip(plan, done, passes, strict=True)):
        if not good <= had <= all_:
            raise ValueError(f"task {i} must have c <= n <= planned, got c={good}, n={had}, planned={all_}")
        worst += score_of(all_, good, size, rate)
        best += score_of(all_, all_ - (had - good), size, rate)
    low, high = float(worst / len(plan)), float(best / len(plan))
    trials = bound_rule(min(plan), len(plan), size)
    at_worst = bar_verdict(*these_tasks_ends(low, trials, error, error), bar)
    at_best = bar_verdict(*these_tasks_ends(high, trials, error, error), bar)
    verdict: Literal["met", "not met", "cannot be met", "open"] = "open"
    if at_worst == "met":
        verdict = "met"
    elif at_best == "not met":
        verdict = "not met"
    elif at_best == "undecided":
        verdict = "cannot be met"
    return Curtailment(verdict, low, high, remaining=sum(plan) - sum(done))
