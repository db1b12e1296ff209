"""How many tasks and trials a claim needs."""

from __future__ import annotations

import math
from typing import SupportsIndex

from passhat.stats import _checks
from passhat.stats._binomial import normal_quantile
from passhat.stats._types import Target


def smallest_all_pass(bar: float, level: float = 0.95, *, k: SupportsIndex = 1) -> int:
    """How many trials, all passing, prove a rate of at least ``bar`` at one-sided ``level``.

    The lower bound after N passes in N trials is (1 - level)^(1/N). Whatever passes, fewer trials
    cannot meet the bar. For "these tasks" N is trials times tasks; for pass^k it is k times as many;
    for "tasks like these" it is the number of tasks. Halve the error (level .975) for two-sided ends.

    Raises ValueError unless bar and level are between 0 and 1.
    Source: Clopper & Pearson 1934 at c = n ("rule of three").

    >>> [smallest_all_pass(bar) for bar in (0.80, 0.85, 0.90, 0.95)]
    [14, 19, 29, 59]
    """
    bar, error = _checks.share(bar, "bar"), 1 - _checks.level_of(level)
    size = _checks.whole(k, "k", at_least=1)
    needed = math.log(error) / math.log(bar)
    whole = round(needed)
    one = whole if abs(needed - whole) < 1e-9 else math.ceil(needed)
    return size * max(1, one)


def _sum_of_quantiles(level: float, power: float) -> tuple[float, float]:
    error = 1 - _checks.level_of(level)
    return normal_quantile(1 - error / 2), normal_quantile(_checks.share(power, "power"))


def tasks_needed(
    difference: float,
    n: SupportsIndex,
    *,
    within: float,
    between: float = 0.0,
    of: Target = "tasks like these",
    level: float = 0.95,
    power: float = 0.8,
) -> float:
    """How many tasks, each with n trials on both arms, find a true ``difference`` of pass rates.

    ``within`` is E p(1-p) + E q(1-q), the trial variances of the two arms summed (at most .5);
    ``between`` is Var(q - p), how differently tasks respond, which only "tasks like these" feels.
    Two-sided test at ``level`` with the given ``power``. The result is not rounded: take the ceiling.

    "tasks like these": (z + z')² (between + within/n) / difference² + z²/2.
    "these tasks": (z + z')² (within/n) / difference²; simulated power falls to .6 where the
    difference sits in a few tasks.

    Raises ValueError for a difference of 0 or beyond ±1, and for negative variances.
    Source: normal approximation with Guenther's correction for the t test; checked by simulation.

    >>> round(tasks_needed(0.1, 3, within=0.34, between=0.0225), 1)
    108.5
    >>> round(tasks_needed(0.1, 3, within=0.34, of="these tasks"), 1)
    89.0
    """
    size = abs(float(difference))
    if not 0 < size <= 1:
        raise ValueError(f"difference must be within -1..1 and not 0, got {difference!r}")
    trials = _checks.whole(n, "n", at_least=1)
    _checks.target_word(of)
    noise = _checks.not_negative(within, "within") / trials
    spread = _checks.not_negative(between, "between")
    z, z_power = _sum_of_quantiles(level, power)
    if of == "these tasks":
        return (z + z_power) ** 2 * noise / size**2
    return (z + z_power) ** 2 * (spread + noise) / size**2 + z * z / 2


def detectable_difference(
    tasks: SupportsIndex,
    n: SupportsIndex,
    *,
    within: float,
    between: float = 0.0,
    of: Target = "tasks like these",
    level: float = 0.95,
    power: float = 0.8,
) -> float:
    """The smallest true difference of pass rates that so many tasks and trials find, in 0..1.

    ``tasks_needed`` solved for the difference; the arguments are those. The result is capped at 1,
    which also stands for "no difference can be found" where there are too few tasks.

    >>> round(detectable_difference(50, 5, within=0.34, between=0.0225), 2)
    0.12
    """
    many = _checks.whole(tasks, "tasks", at_least=1)
    trials = _checks.whole(n, "n", at_least=1)
    _checks.target_word(of)
    variance = _checks.not_negative(within, "within") / trials
    z, z_power = _sum_of_quantiles(level, power)
    room = float(many)
    if of == "tasks like these":
        variance += _checks.not_negative(between, "between")
        room -= z * z / 2
    if room <= 0:
        return 1.0
    return min(1.0, (z + z_power) * math.sqrt(variance / room))


def questions_needed(
    difference: float,
    *,
    between: float,
    within: tuple[float, float] = (0.0, 0.0),
    n: tuple[SupportsIndex, SupportsIndex] = (1, 1),
    level: float = 0.95,
    power: float = 0.8,
) -> float:
    """Miller's sample size: tasks needed when the two arms may have different numbers of trials.

    (z + z')² (ω² + σ_A²/K_A + σ_B²/K_B) / δ², with ω² = ``between`` the variance of the true paired
    difference, σ² = ``within`` and K = ``n`` of the arms A and B. Not rounded.
    Raises ValueError as ``tasks_needed``. Source: Miller 2024 (arXiv 2411.00640), section 5.

    >>> round(questions_needed(0.03, between=1 / 9), 1)
    969.0
    """
    size = abs(float(difference))
    if not 0 < size <= 1:
        raise ValueError(f"difference must be within -1..1 and not 0, got {difference!r}")
    return _paired_variance(between, within, n) * sum(_sum_of_quantiles(level, power)) ** 2 / size**2


def detectable_effect(
    questions: SupportsIndex,
    *,
    between: float,
    within: tuple[float, float] = (0.0, 0.0),
    n: tuple[SupportsIndex, SupportsIndex] = (1, 1),
    level: float = 0.95,
    power: float = 0.8,
) -> float:
    """``questions_needed`` solved for the difference that so many questions find.

    >>> sixth = 1 / 6
    >>> round(detectable_effect(198, between=1 / 9, within=(sixth, sixth)), 3)
    0.133
    >>> round(detectable_effect(198, between=1 / 9, within=(sixth, sixth), n=(10, 10)), 3)
    0.076
    """
    many = _checks.whole(questions, "questions", at_least=1)
    variance = _paired_variance(between, within, n)
    return sum(_sum_of_quantiles(level, power)) * math.sqrt(variance / many)


def _paired_variance(between: float, within: tuple[float, float], n: tuple[SupportsIndex, SupportsIndex]) -> float:
    total = _checks.not_negative(between, "between")
    for variance, trials in zip(within, n, strict=True):
        total += _checks.not_negative(variance, "within") / _checks.whole(trials, "n", at_least=1)
    return total


def score_variance(between: float, within: float, n: SupportsIndex) -> float:
    """Variance of one task's mean score: ``between`` tasks, plus the trial variance ``within`` over n.

    Source: law of total variance; Miller 2024 (arXiv 2411.00640), section 3.

    >>> [round(score_variance(1 / 12, 1 / 6, n), 4) for n in (1, 2, 4, 6)]
    [0.25, 0.1667, 0.125, 0.1111]
    """
    trials = _checks.whole(n, "n", at_least=1)
    return _checks.not_negative(between, "between") + _checks.not_negative(within, "within") / trials
