"""Metrics: functions of many finished trials, for components that are measured rather than passed or failed.

A component is an agent: a suite runs it, and its ``metrics=[…]`` are asked of all its trials. The plain functions
``recall``, ``precision``, ``reciprocal_rank``, ``ndcg`` and ``confusion`` work on ids and labels alone.
"""

from passhat.facts import MetricValue
from passhat.metrics._classification import classification, confusion
from passhat.metrics._mean import mean
from passhat.metrics._ranking import ndcg, precision, recall, reciprocal_rank
from passhat.metrics._retrieval import mrr, ndcg_at, precision_at, recall_at
from passhat.metrics._tools import tool_choice
from passhat.metrics._value import Metric

__all__ = [
    "Metric",
    "MetricValue",
    "classification",
    "confusion",
    "mean",
    "mrr",
    "ndcg",
    "ndcg_at",
    "precision",
    "precision_at",
    "recall",
    "recall_at",
    "reciprocal_rank",
    "tool_choice",
]
