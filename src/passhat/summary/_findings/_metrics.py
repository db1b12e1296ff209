"""Rules about the metrics: those that failed, and those that leave trials out."""

from __future__ import annotations

from collections.abc import Iterator

from passhat.facts import count
from passhat.summary._findings._evidence import Evidence
from passhat.summary._report import Finding


def metric_errors(evidence: Evidence) -> Iterator[Finding]:
    """A metric that fails has no value; nothing else of the report rests on it."""
    for metric in evidence.report.metrics:
        if metric.error:
            yield Finding("metric-errors", "error", f"Metric {metric.name!r} itself failed: {metric.error}")


def trials_left_out(evidence: Evidence) -> Iterator[Finding]:
    """What a metric doesn't know of may be what it would look worst on."""
    for metric in evidence.report.metrics:
        if metric.missing:
            yield Finding(
                "metric-missing",
                "warning",
                f"Metric {metric.name!r} leaves out {count(metric.missing, 'trial')} of which nothing is known, of "
                f"{metric.missing + metric.trials}",
            )


RULES = (metric_errors, trials_left_out)
