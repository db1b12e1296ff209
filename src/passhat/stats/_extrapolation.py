"""A model's guess at k > n, never without its label: the beta-binomial."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, SupportsIndex

from passhat.stats import _checks
from passhat.stats._beyond import bounds_beyond
from passhat.stats._types import Counts, Rate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_TIGHTEST = math.log(1e-4)  # a + b where tasks are as good as always or never
_LOOSEST = math.log(1e6)  # a + b where all tasks are as good as one coin


@dataclass(frozen=True, slots=True)
class BetaBinomial:
    """Tasks' pass rates follow Beta(a, b). ``log_likelihood`` is without binomial coefficients."""

    a: float
    b: float
    log_likelihood: float

    def rate(self, k: SupportsIndex, rate: Rate = "pass^k") -> float:
        """pass^k or pass@k under the model, in 0..1.

        >>> round(BetaBinomial(1.0, 1.0, 0.0).rate(3), 6)
        0.25
        """
        size = _checks.whole(k, "k", at_least=1)
        a, b = (self.a, self.b) if _checks.rate_word(rate) == "pass^k" else (self.b, self.a)
        # B(a + k, b) / B(a, b) as a product, which does not cancel for large a and b
        all_k = math.exp(math.fsum(math.log((a + i) / (a + b + i)) for i in range(size)))
        return all_k if rate == "pass^k" else 1 - all_k


def beta_binomial(n: SupportsIndex | Counts, c: Counts) -> BetaBinomial:
    """The maximum likelihood fit of a beta law to the tasks' pass rates.

    Its parameters are held where a + b is 1e-4 to 1e6: tasks that always or never pass, and tasks
    that are all the same coin, have their maximum at infinity.

    Raises ``Refused`` where every trial passed, every trial failed, or no task has two trials;
    ValueError for what is not a count. Source: Skellam 1948.

    >>> fit = beta_binomial(5, [5, 5, 4, 0, 3, 5, 2, 5, 1, 5])
    >>> round(fit.a, 3), round(fit.b, 3)
    (0.625, 0.258)
    """
    import numpy as np
    from scipy.optimize import minimize
    from scipy.special import betaln, expit, psi

    ns, cs = _checks.counts(n, c)
    if sum(cs) in (0, sum(ns)):
        raise _checks.Refused("every trial had the same result: a beta law cannot be fitted")
    if max(ns) < 2:
        raise _checks.Refused("one trial a task says nothing about how tasks differ: a beta law needs two or more")
    groups = Counter(zip(ns, cs, strict=True))
    trials, passes = (np.array(each, dtype=float) for each in zip(*groups, strict=True))
    tasks = np.array(list(groups.values()), dtype=float)

    def loss(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Minus the mean log likelihood a task, by the logit of a / (a + b) and the log of a + b."""
        mean, size = float(expit(x[0])), math.exp(x[1])
        a, b = mean * size, (1 - mean) * size
        value = tasks @ (betaln(a + passes, b + trials - passes) - betaln(a, b))
        shared = psi(a + b) - psi(a + b + trials)
        by_a = tasks @ (psi(a + passes) - psi(a) + shared)
        by_b = tasks @ (psi(b + trials - passes) - psi(b) + shared)
        slope = np.array([mean * (1 - mean) * size * (by_a - by_b), a * by_a + b * by_b])
        return -float(value) / len(cs), -slope / len(cs)

    overall = sum(cs) / sum(ns)
    logit = math.log(overall / (1 - overall))
    best = min(
        (
            minimize(
                loss,
                np.array([logit, start]),
                jac=True,
                method="L-BFGS-B",
                bounds=[(logit - 5, logit + 5), (_TIGHTEST, _LOOSEST)],
                options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 1000},
            )
            for start in (-2.0, 0.0, 2.0, 4.0)
        ),
        key=lambda found: float(found.fun),
    )
    mean, size = float(expit(best.x[0])), math.exp(float(best.x[1]))
    return BetaBinomial(mean * size, (1 - mean) * size, -float(best.fun) * len(cs))


@dataclass(frozen=True, slots=True)
class Extrapolation:
    """A guess at pass^k or pass@k for k > n: a model's ``point`` beside bounds free of assumptions.

    ``method`` is the label that has to stand beside the point. ``point`` is None where the model
    cannot be fitted. ``low`` and ``high`` bound the rate at the estimates, which the model smooths,
    so that its point may lie a little outside; for an interval use ``interval`` with the same k.
    """

    point: float | None
    low: float
    high: float
    method: str


def extrapolate(n: SupportsIndex | Counts, c: Counts, k: SupportsIndex, *, rate: Rate = "pass^k") -> Extrapolation:
    """A model-based guess at pass^k or pass@k for more trials than were run.

    The beta-binomial's interval covers as little as 83 % (pass^8) or never (pass@8), so that none is
    given; only the point, and the bounds that hold without a model.

    Raises ValueError for k that needs no extrapolation, ``Refused`` for k > 3n.

    >>> found = extrapolate(5, [5, 5, 4, 0, 3, 5, 2, 5, 1, 5], 8)
    >>> round(found.point, 4), found.method
    (0.4376, 'model-based extrapolation (beta-binomial)')
    """
    ns, cs = _checks.counts(n, c)
    size = _checks.whole(k, "k", at_least=1)
    if size <= min(ns):
        raise ValueError(f"k={size} needs no extrapolation with {min(ns)} trials a task: see suite_rate()")
    low, high = bounds_beyond(ns, cs, size, rate=rate)
    try:
        point = beta_binomial(ns, cs).rate(size, rate)
    except _checks.Refused as refusal:
        return Extrapolation(None, low, high, method=f"bounds only: {refusal}")
    return Extrapolation(point, low, high, method="model-based extrapolation (beta-binomial)")
