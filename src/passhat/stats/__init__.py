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

from passhat.stats._beyond import bounds_beyond
from passhat.stats._binomial import beta_posterior, clopper_pearson, wilson
from passhat.stats._boschloo import boschloo
from passhat.stats._changed import TaskChange, TaskChanges, changed_tasks, trials_to_flag
from passhat.stats._checks import Refused
from passhat.stats._clustered import StandardError, clustered_se, task_se
from passhat.stats._corrected import Corrected, Stratum, post_stratified, rogan_gladen, stratified_rate
from passhat.stats._corrected_by_task import rogan_gladen_by_task, stratified_rate_by_task
from passhat.stats._curve import CurveCheck, check_curve
from passhat.stats._estimators import family_means, pass_at_k, pass_hat_k, suite_rate, task_scores
from passhat.stats._extrapolation import BetaBinomial, Extrapolation, beta_binomial, extrapolate
from passhat.stats._gate import Curtailment, GateResult, Verdict, curtail, gate
from passhat.stats._interval import Interval
from passhat.stats._judge import JudgeQuality, Kappa, cohen_kappa, judge_quality
from passhat.stats._labels_needed import labels_needed_elsewhere, labels_needed_here
from passhat.stats._looks import Look, obrien_fleming, planned_looks, pocock
from passhat.stats._multiplicity import Adjustment, adjust_p
from passhat.stats._order import OrderCheck, OrderVerdict, order_check
from passhat.stats._paired import Paired, difference_interval, mean_difference_interval, paired
from passhat.stats._planning import (
    detectable_difference,
    detectable_effect,
    questions_needed,
    smallest_all_pass,
    tasks_needed,
)
from passhat.stats._power import Move, comparison_power
from passhat.stats._quantile import quantile_interval
from passhat.stats._refusals import Refusal, refusals
from passhat.stats._sequential import Sprt, confidence_sequence
from passhat.stats._sign_flip import sign_flip
from passhat.stats._suite import interval, mean_interval
from passhat.stats._test_result import TestResult
from passhat.stats._types import Counts, Rate, Scores, Side, Target
from passhat.stats._within_task import cmh, label_permutation, mcnemar

# For the other rooms of this house, not for its users:
from passhat.stats._gate import bar_verdict as bar_verdict  # isort: skip
from passhat.stats._looks import paired_look as paired_look  # isort: skip
from passhat.stats._refusals import MIN_TASKS_POPULATION as MIN_TASKS_POPULATION  # isort: skip
from passhat.stats._sign_flip import MIN_DIFFERENCES as MIN_DIFFERENCES  # isort: skip

__all__ = [
    "Adjustment",
    "BetaBinomial",
    "Corrected",
    "Counts",
    "Curtailment",
    "CurveCheck",
    "Extrapolation",
    "GateResult",
    "Interval",
    "JudgeQuality",
    "Kappa",
    "Look",
    "Move",
    "OrderCheck",
    "OrderVerdict",
    "Paired",
    "Rate",
    "Refusal",
    "Refused",
    "Scores",
    "Side",
    "Sprt",
    "StandardError",
    "Stratum",
    "Target",
    "TaskChange",
    "TaskChanges",
    "TestResult",
    "Verdict",
    "adjust_p",
    "beta_binomial",
    "beta_posterior",
    "boschloo",
    "bounds_beyond",
    "changed_tasks",
    "check_curve",
    "clopper_pearson",
    "clustered_se",
    "cmh",
    "cohen_kappa",
    "comparison_power",
    "confidence_sequence",
    "curtail",
    "detectable_difference",
    "detectable_effect",
    "difference_interval",
    "extrapolate",
    "family_means",
    "gate",
    "interval",
    "judge_quality",
    "label_permutation",
    "labels_needed_elsewhere",
    "labels_needed_here",
    "mcnemar",
    "mean_difference_interval",
    "mean_interval",
    "obrien_fleming",
    "order_check",
    "paired",
    "pass_at_k",
    "pass_hat_k",
    "planned_looks",
    "pocock",
    "post_stratified",
    "quantile_interval",
    "questions_needed",
    "refusals",
    "rogan_gladen",
    "rogan_gladen_by_task",
    "sign_flip",
    "smallest_all_pass",
    "stratified_rate",
    "stratified_rate_by_task",
    "suite_rate",
    "task_scores",
    "task_se",
    "tasks_needed",
    "trials_to_flag",
    "wilson",
]
