"""What is asked for beside the suite: the options of `passhat.run` and `passhat.resume`, checked."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict

from passhat.facts import Limits, Task
from passhat.running._entrance import Entrance
from passhat.running._errors import RunError
from passhat.running._plan import Order
from passhat.running._progress import Progress

Select = Callable[[Sequence[Task]], Sequence[Task]]
ISOLATIONS = ("inline", "process", "spawn")
KEPT_BYTES = 200_000_000


class Ways(TypedDict, total=False):
    """The keyword arguments that `passhat.run` and `passhat.resume` share; see `passhat.run`."""

    concurrency: int | None
    model: str | None
    judge_model: str | None
    cassette: Path | str | None
    record: Literal["missing", "all", "none"]
    faults: Sequence[Any]
    limits: Limits | None
    isolation: str | None
    confine: bool | None
    retries: int
    retry_wait: float
    keep_bytes: int
    progress: Progress | None
    through: Entrance | None
    hook: Callable[[Any], None] | None
    clock: Callable[[], float]


class Options(Ways, total=False):
    """The keyword arguments of `passhat.run`: what a resumed run takes over comes beside its ways."""

    trials: int | None
    seed: int | None
    order: Order | None
    stop: Literal["full", "when-decided"]
    select: Select | None


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked for beside the suite; None takes the suite's own word, else the default."""

    trials: int | None = None
    concurrency: int | None = None
    seed: int | None = None
    order: Order | None = None
    stop: Literal["full", "when-decided"] = "full"
    model: str | None = None
    judge_model: str | None = None
    cassette: Path | str | None = None
    record: Literal["missing", "all", "none"] = "none"
    faults: Sequence[Any] = ()
    limits: Limits | None = None
    select: Select | None = None
    isolation: str | None = "inline"
    confine: bool | None = None
    retries: int = 2
    keep_bytes: int = KEPT_BYTES
    progress: Progress | None = None
    through: Entrance | None = None
    hook: Callable[[Any], None] | None = None
    retry_wait: float = 1.0
    clock: Callable[[], float] = time.monotonic

    def check(self) -> None:
        """Refuse what no run can have."""
        for name, least in (("trials", 1), ("concurrency", 1), ("seed", 0), ("retries", 0), ("keep_bytes", 0)):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise RunError(f"{name}={value!r}: must be a whole number, {least} or more")
        if isinstance(self.retry_wait, bool) or not 0 <= self.retry_wait < math.inf:
            raise RunError(f"retry_wait={self.retry_wait!r}: must be a number of seconds, 0 or more")
        if self.order not in (None, "task", "round", "shuffled"):
            raise RunError(f"order={self.order!r}: must be 'task', 'round' or 'shuffled'")
        if self.record not in ("missing", "all", "none"):
            raise RunError(f"record={self.record!r}: must be 'missing', 'all' or 'none'")
        if self.record != "none" and self.cassette is None:
            raise RunError(f"record={self.record!r} needs a cassette to record to")
        if self.stop not in ("full", "when-decided"):
            raise RunError(f"stop={self.stop!r}: must be 'full' or 'when-decided'")
        if self.isolation not in ISOLATIONS:
            raise RunError(f"isolation={self.isolation!r}: must be one of {', '.join(ISOLATIONS)}")
