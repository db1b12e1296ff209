"""What one trial, and one run, may spend."""

from __future__ import annotations

import math

import msgspec

_WHOLE = {
    *("model_calls", "tokens", "output_bytes", "memory_bytes", "processes"),
    *("run_tokens", "judge_calls", "judge_tokens"),
}
RUN_LIMITS = ("run_seconds", "run_tokens", "run_dollars")
"""Those of the whole run: no trial depends on them, and a resumed run has them afresh."""


class Limits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Bounds on one trial (and, with the names that start with ``run_``, on the whole run). None means unlimited.

    Times are in seconds, money in US dollars, sizes in bytes. A trial that reaches a bound ends as *timeout* or
    *limit*, and counts as a failure. A run that reaches one of its own bounds stops starting trials and can be resumed.
    Those that start with ``judge_`` bound what judges spend on one trial, for each model that judges: at the bound a
    judge's grade is an error, never a verdict.
    ``model_calls`` are questions to the model, and whatever else is passed on to a provider that takes money for it,
    such as embeddings.
    The call in flight may overshoot a bound on tokens or dollars: its price is known only afterwards.

    >>> Limits(seconds=60, model_calls=20).model_calls
    20
    >>> Limits(seconds=0)
    Traceback (most recent call last):
    ...
    ValueError: Limits(seconds=0): must be a positive finite number, or None for no limit
    """

    seconds: float | None = 300.0
    model_calls: int | None = 50
    tokens: int | None = None
    dollars: float | None = None
    output_bytes: int | None = 10_000_000
    memory_bytes: int | None = 4_000_000_000
    processes: int | None = 200
    prepare_seconds: float | None = 60.0
    grade_seconds: float | None = 60.0
    judge_calls: int | None = 100
    judge_tokens: int | None = None
    judge_dollars: float | None = None
    run_seconds: float | None = None
    run_tokens: int | None = None
    run_dollars: float | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is None:
                continue
            good = isinstance(value, int | float) and not isinstance(value, bool)
            if not good or not math.isfinite(value) or value <= 0:
                raise ValueError(f"Limits({name}={value!r}): must be a positive finite number, or None for no limit")
            if name in _WHOLE and not isinstance(value, int):
                raise ValueError(f"Limits({name}={value!r}): must be a whole number")
