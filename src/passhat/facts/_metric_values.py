"""What a metric says of many trials."""

from __future__ import annotations

from typing import Any

import msgspec


class MetricValue(msgspec.Struct, frozen=True, omit_defaults=True):
    """A figure about many trials, in 0..1, with its intervals at ``level``.

    ``these_tasks`` is about these very tasks (trial noise only), ``tasks_like_these`` about the population they are a
    sample of: it resamples whole tasks, and tasks of one family as one. Each is None where it can't be had; ``note``
    says why. ``tasks`` and ``trials`` are what it rests on, ``missing`` the trials left out since nothing is known of
    them. ``parts`` are figures that belong to it (a class's precision), ``details`` is more of it as JSON (a confusion
    matrix). ``error`` is set when the metric itself failed: then there is no value. ``version`` changes when the metric
    does; a run fills it in.
    """

    name: str
    value: float | None
    these_tasks: tuple[float, float] | None = None
    tasks_like_these: tuple[float, float] | None = None
    level: float = 0.95
    tasks: int = 0
    trials: int = 0
    missing: int = 0
    parts: tuple[MetricValue, ...] = ()
    details: dict[str, Any] = {}
    note: str = ""
    error: str = ""
    version: str = ""

    def part(self, name: str) -> MetricValue:
        """The part of that name. Raises KeyError naming those there are."""
        for part in self.parts:
            if part.name == name:
                return part
        raise KeyError(f"{self.name} has no part {name!r}; it has {', '.join(part.name for part in self.parts)}")
