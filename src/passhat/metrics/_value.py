"""What a metric is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from passhat.facts import MetricValue
from passhat.trial import FinishedTrial

Metric = Callable[[Sequence[FinishedTrial]], MetricValue]
