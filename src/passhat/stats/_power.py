"""How often a paired comparison finds a true change: the law of the very tests, not a formula that resembles them.

A task's trials give a difference D of passes and a weight W: what CMH, or the sign-flip test, adds to its variance.
Both tests reject by (sum of D, sum of W) alone, so their power is the mass of a region under the law of two sums over
tasks, which a Fourier transform gives from the law of one task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, SupportsIndex

from passhat.stats import _checks
from passhat.stats._binomial import normal_quantile
from passhat.stats._power_few import exact_beyond_normal, few
from passhat.stats._power_many import Moments, is_normal, normal_power
from passhat.stats._types import Target

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Complexes = NDArray[np.complex128]

_REACH = 15.0
"""Width of the window that sums are kept in, in their standard deviations; beyond it lies nothing that counts."""

_CELLS = 400
"""Up to so many cells the sum of weights is kept exactly; beyond, a cell is a twentieth of its standard deviation."""


@dataclass(frozen=True, slots=True)
class Move:
    """A kind of task: its true pass rate before and after, and the share of tasks that are of this kind.

    >>> Move(0.9, 0.8)
    Move(before=0.9, after=0.8, share=1.0)
    """

    before: float
    after: float
    share: float = 1.0


def comparison_power(
    moves: Sequence[Move],
    tasks: SupportsIndex,
    n: SupportsIndex,
    *,
    response: float = 0.0,
    of: Target = "these tasks",
    level: float = 0.95,
) -> float:
    """The chance that a paired comparison of so many tasks, each with n trials on both sides, finds a change.

    *Finds*: p <= 1 - level, and to the side of the true change; of ``cmh`` for "these tasks", whose tasks are as many
    of each kind as its share says, and of ``sign_flip`` for "tasks like these", whose tasks are drawn. ``response`` is
    the standard deviation of the tasks' rates after, around what their kind says, which follow a beta law; only "tasks
    like these" feel it. With another law of that deviation power differs by up to 4 points for 12 to 24 tasks.

    Exact for CMH up to the rounding of its variance, and for the sign-flip test with one trial a task; with more
    trials its p value is that of the normal law with the null's kurtosis and continuity correction, and where
    few tasks can move what the exact test adds to that is simulated, with a fixed seed. Where so many trials vary that
    both sums are normal, they are taken as that.

    Raises ValueError for no kinds, rates or shares out of 0..1, numbers below 1, and an unknown target.
    Source: convolution of the tasks' laws; checked against simulation of both tests.

    >>> round(comparison_power([Move(0.9, 0.75)], 20, 3), 2)
    0.49
    """
    import numpy as np

    many, trials = _checks.whole(tasks, "tasks", at_least=1), _checks.whole(n, "n", at_least=1)
    _checks.target_word(of)
    if not moves:
        raise ValueError("moves must hold one kind of task or more, got none")
    for move in moves:
        for value, name in ((move.before, "before"), (move.after, "after"), (move.share, "share")):
            if not 0 <= value <= 1:
                raise ValueError(f"{name} must be in 0..1, got {value!r}")
    z = normal_quantile(0.5 + _checks.level_of(level) / 2)
    these = of == "these tasks"
    spread = 0.0 if these else _checks.not_negative(response, "response") ** 2
    shares = [move.share / sum(each.share for each in moves) for move in moves]
    rising = sum(share * (move.after - move.before) for move, share in zip(moves, shares, strict=True)) >= 0
    if (power := _if_normal(moves, shares, many, trials, spread, z, these=these, rising=rising)) is not None:
        return power
    laws = [_law(move, trials, spread) for move in moves]
    weights = _weights(trials, these)
    if these:
        parts = [(law, count) for law, count in zip(laws, _whole_counts(shares, many), strict=True) if count]
        return _sums(parts, weights, trials).mass(_cmh_rejects(trials, z), rising=rising)
    law = np.tensordot(shares, laws, 1)
    sums = _sums([(law, many)], weights, trials)
    return _sign_flip_power(sums, law, many, 1 - _checks.level_of(level), rising=rising)


def _if_normal(
    moves: Sequence[Move],
    shares: Sequence[float],
    tasks: int,
    n: int,
    spread: float,
    z: float,
    *,
    these: bool,
    rising: bool,
) -> float | None:
    """The power by the normal law of both sums; None where they aren't normal enough."""
    unchanged = [(_passes(move.before, n, spread), share) for move, share in zip(moves, shares, strict=True)]
    if not is_normal(unchanged, tasks, these=these):
        return None
    sides = [(_passes(move.before, n, 0.0), _passes(move.after, n, spread)) for move in moves]
    moments = [Moments.of(*side, these=these) for side in sides]
    if these:
        parts = list(zip(moments, _whole_counts(shares, tasks), strict=True))
    else:
        parts = [(Moments.mixed(moments, shares), tasks)]
    return normal_power(parts, n, z, these=these, rising=rising)


def _sign_flip_power(sums: _Sums, law: Floats, tasks: int, alpha: float, *, rising: bool) -> float:
    if len(law) == 2:
        return sums.mass(_single_flips_reject(alpha), rising=rising)
    p = _flips_p(law)
    power = sums.mass(lambda sum_, square: (p(sum_[:, None], square[None, :]) <= alpha).astype(float), rising=rising)
    if few(law, tasks):
        power += exact_beyond_normal(law, tasks, alpha, p, rising=rising)
    return min(1.0, max(0.0, power))


def _whole_counts(shares: Sequence[float], tasks: int) -> list[int]:
    """So many tasks of each kind: the largest remainders are rounded up."""
    counts = [int(share * tasks + 1e-9) for share in shares]
    by_rest = sorted(range(len(shares)), key=lambda place: counts[place] - shares[place] * tasks)
    for place in by_rest[: tasks - sum(counts)]:
        counts[place] += 1
    return counts


def _law(move: Move, n: int, spread: float) -> Floats:
    """The chance of (passes before, passes after) in one task, shape (n + 1, n + 1)."""
    import numpy as np

    return np.outer(_passes(move.before, n, 0.0), _passes(move.after, n, spread))


def _passes(rate: float, n: int, spread: float) -> Floats:
    """Binomial, or beta-binomial where the rate itself varies with variance ``spread``."""
    import numpy as np
    from scipy.special import betaln, xlog1py, xlogy

    c = np.arange(n + 1)
    ways = -betaln(c + 1, n - c + 1) - np.log(n + 1)
    most = rate * (1 - rate)
    if spread <= 0 or most <= 0:
        return np.asarray(np.exp(ways + xlogy(c, rate) + xlog1py(n - c, -rate)))
    size = most / min(spread, 0.999 * most) - 1
    a, b = rate * size, (1 - rate) * size
    return np.asarray(np.exp(ways + betaln(c + a, n - c + b) - betaln(a, b)))


def _weights(n: int, these: bool) -> Floats:
    """What a task adds to the test's variance: P(2n - P) of its P passes in all, or the squared difference."""
    import numpy as np

    before, after = np.ogrid[: n + 1, : n + 1]
    passes = before + after
    return np.asarray(passes * (2 * n - passes) if these else (after - before) ** 2, dtype=float)


@dataclass(frozen=True, slots=True)
class _Sums:
    """The law of (sum of differences, sum of weights): mass[i, j] belongs to (differences[i], weights[j])."""

    differences: Floats
    weights: Floats
    chance: Floats

    def mass(self, rejects: Callable[[Floats, Floats], Floats], *, rising: bool) -> float:
        side = self.differences > 0 if rising else self.differences < 0
        found = rejects(self.differences[side], self.weights)
        return float(min(1.0, max(0.0, (self.chance[side] * found).sum())))


def _sums(parts: Sequence[tuple[Floats, int]], weights: Floats, n: int) -> _Sums:
    """Convolve the tasks' laws; the sums are kept modulo a window that holds all that counts."""
    import numpy as np
    from scipy.fft import irfft2, next_fast_len, rfft2

    differences = np.subtract.outer(np.arange(n + 1), np.arange(n + 1)).T.astype(float)
    tasks = sum(count for _, count in parts)
    middle, spread = _moments(parts, differences)
    middle_w, spread_w = _moments(parts, weights)
    most = float(weights.max()) * tasks
    cell = 1.0 if most < _CELLS else max(1.0, spread_w / 20)
    wide = min(2 * n * tasks + 2, int(_REACH * spread) + 2 * n + 2)
    rounded = sum(
        count * float(law[weights > 0].sum()) for law, count in parts
    )  # tasks whose weight isn't a whole cell
    deep = min(int(most / cell) + 2, int(_REACH * np.hypot(spread_w / cell, rounded**0.5 / 2)) + 4)
    shape = next_fast_len(wide), next_fast_len(deep, real=True)
    place = weights / cell
    floor = np.floor(place).astype(int)
    rest = place - floor
    rows = differences.astype(int) % shape[0]
    whole: Complexes | None = None
    for law, count in parts:
        grid = np.zeros(shape)
        np.add.at(grid, (rows, floor % shape[1]), law * (1 - rest))
        np.add.at(grid, (rows, (floor + 1) % shape[1]), law * rest)
        power = _to_the(rfft2(grid), count)
        whole = power if whole is None else whole * power
    assert whole is not None
    chance = irfft2(whole, s=shape)
    low, low_w = round(middle) - shape[0] // 2, max(0, round(middle_w / cell) - shape[1] // 2)
    low = max(low, -n * tasks)
    order, order_w = (np.arange(start, start + size) for start, size in zip((low, low_w), shape, strict=True))
    return _Sums(
        order.astype(float), order_w.astype(float) * cell, chance[np.ix_(order % shape[0], order_w % shape[1])]
    )


def _moments(parts: Sequence[tuple[Floats, int]], values: Floats) -> tuple[float, float]:
    """Mean and standard deviation of a sum over tasks."""
    mean = variance = 0.0
    for law, count in parts:
        one = float((law * values).sum())
        mean += count * one
        variance += count * max(0.0, float((law * values**2).sum()) - one * one)
    return mean, float(variance**0.5)


def _to_the(base: Complexes, power: int) -> Complexes:
    """base ** power by squaring: many times faster than numpy's complex power."""
    result: Complexes | None = None
    while power:
        if power & 1:
            result = base if result is None else result * base
        power >>= 1
        if power:
            base = base * base
    assert result is not None
    return result


def _cmh_rejects(n: int, z: float) -> Callable[[Floats, Floats], Floats]:
    """Where CMH with continuity correction rejects: |shift| - 1/2 beyond z standard deviations."""
    import numpy as np

    def rejects(differences: Floats, weights: Floats) -> Floats:
        deviation = np.sqrt(weights / (4 * (2 * n - 1)))
        found = (abs(differences)[:, None] / 2 - 0.5 >= z * deviation[None, :] - 1e-9) & (weights > 0)[None, :]
        return np.asarray(found, dtype=float)

    return rejects


def _single_flips_reject(alpha: float) -> Callable[[Floats, Floats], Floats]:
    """Where the sign-flip test of single trials, exact McNemar, rejects; a weight is then the tasks that moved."""
    import numpy as np
    from scipy.special import betainc

    def rejects(differences: Floats, weights: Floats) -> Floats:
        moved = np.maximum(weights, 1.0)[None, :]
        up = (moved + np.maximum(abs(differences), 1.0)[:, None]) / 2
        p = 2 * betainc(np.minimum(up, moved), np.maximum(moved - up, 0) + 1, 0.5)  # the binomial tail from ``up``
        return np.asarray((up <= moved) & (p <= alpha + 1e-12), dtype=float)

    return rejects


def _flips_p(law: Floats) -> Callable[[Floats, Floats], Floats]:
    """p of the sign-flip test by (sum, sum of squares): its normal law with kurtosis and continuity correction."""
    import numpy as np
    from scipy.special import ndtr

    n = len(law) - 1
    apart = np.subtract.outer(np.arange(n + 1), np.arange(n + 1))
    fourth = float((law * apart**4).sum() / max(float((law * apart**2).sum()), 1e-300))

    def p(differences: Floats, weights: Floats) -> Floats:
        square = np.maximum(weights, 1.0)
        x = np.maximum(abs(differences) - 1, 0) / np.sqrt(square)
        density = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
        return np.asarray(2 * (ndtr(-x) - density * fourth / square / 12 * (x**3 - 3 * x)))

    return p
