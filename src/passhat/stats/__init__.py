"""Numbers only: estimators, intervals, tests and plans for suites of tasks that are tried several times.

Counts are the currency: ``n`` trials and ``c`` passes, one number a task. Rates are in 0..1. Nothing
here knows of trials, runs or reports, and importing it loads neither numpy nor scipy.

Every interval says what it is about. "these tasks": this suite, trial noise only. "tasks like
these": the population that the suite is a sample of.

>>> from passhat.stats import interval, suite_rate
>>> counts = [5, 5, 4, 0, 3, 5, 2, 5, 1, 5]
>>> suite_rate(5, counts, k=3)
0.55
>>> low, high = interval(5, counts, k=3)
>>> round(low, 2), round(high, 2)
(0.29, 0.79)
"""

from __future__ import annotations

from passhat.stats._beyond import MAX_STRETCH, bounds_beyond
from passhat.stats._binomial import beta_posterior, clopper_pearson, wilson
from passhat.stats._boschloo import boschloo
from passhat.stats._changed import MIN_TRIALS_CHANGED, TaskChange, TaskChanges, changed_tasks, trials_to_flag
from passhat.stats._checks import Refused
from passhat.stats._estimators import family_means, pass_at_k, pass_hat_k, suite_rate, task_scores
from passhat.stats._interval import Interval
from passhat.stats._multiplicity import adjust_p
from passhat.stats._planning import (
    detectable_difference,
    detectable_effect,
    questions_needed,
    score_variance,
    smallest_all_pass,
    tasks_needed,
)
from passhat.stats._suite import interval, mean_interval
from passhat.stats._types import Counts, Rate, Scores, Side, Target

__all__ = [
    "MAX_STRETCH",
    "MIN_TRIALS_CHANGED",
    "Counts",
    "Interval",
    "Rate",
    "Refused",
    "Scores",
    "Side",
    "Target",
    "TaskChange",
    "TaskChanges",
    "adjust_p",
    "beta_posterior",
    "boschloo",
    "bounds_beyond",
    "changed_tasks",
    "clopper_pearson",
    "detectable_difference",
    "detectable_effect",
    "family_means",
    "interval",
    "mean_interval",
    "pass_at_k",
    "pass_hat_k",
    "questions_needed",
    "score_variance",
    "smallest_all_pass",
    "suite_rate",
    "task_scores",
    "tasks_needed",
    "trials_to_flag",
    "wilson",
]
