"""What a run's metrics said, as far as it may be claimed."""

from __future__ import annotations

import msgspec

from passhat.facts import Manifest, MetricValue


def metric_values(manifest: Manifest, arm: str) -> tuple[MetricValue, ...]:
    """The stored values of an arm; of tasks that were picked by hand without an interval about tasks like these.

    >>> value = MetricValue("accuracy", 0.8, (0.6, 0.9), (0.5, 0.95))
    >>> picked = Manifest(run_id="r", suite="s", hand_picked=True, metrics={"": (value,)})
    >>> metric_values(picked, "")[0].tasks_like_these is None
    True
    """
    values = manifest.metrics.get(arm, ())
    return tuple(_without_population(value) for value in values) if manifest.hand_picked else values


def _without_population(value: MetricValue) -> MetricValue:
    parts = tuple(_without_population(part) for part in value.parts)
    return msgspec.structs.replace(value, tasks_like_these=None, parts=parts)
