"""The record of one finished trial: a line of ``trials.jsonl``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from passhat.facts._grades import Grade
from passhat.facts._status import RULES, Counts, Status


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was spent. None is *unknown*, never 0; ``partial`` marks a sum in which some parts were unknown.

    ``input_tokens`` includes ``cached_tokens``; ``output_tokens`` includes ``reasoning_tokens``.

    >>> both = Usage.total([Usage(1, 10, 0, 5, 0), Usage(1)])
    >>> both.model_calls, both.tokens, both.partial, both.dollars
    (2, 15, True, None)
    """

    model_calls: int = 0
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    dollars: float | None = None
    partial: bool = False

    @property
    def tokens(self) -> int | None:
        """Input plus output tokens; None when neither is known."""
        if self.input_tokens is None and self.output_tokens is None:
            return None
        return (self.input_tokens or 0) + (self.output_tokens or 0)

    @classmethod
    def total(cls, parts: Iterable[Usage]) -> Usage:
        """The sum of what is known; ``partial`` when a part that made calls didn't know a figure another part knew."""
        parts = [part for part in parts if part != Usage()]
        sums: dict[str, Any] = {}
        partial = any(part.partial for part in parts)
        for name in ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "dollars"):
            known = [value for part in parts if (value := getattr(part, name)) is not None]
            sums[name] = sum(known) if known else None
            partial = partial or 0 < len(known) < len(parts)
        return cls(model_calls=sum(part.model_calls for part in parts), partial=partial, **sums)


class ErrorInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """What went wrong. ``kind`` is ours (a small closed set of words), ``type`` the exception's name."""

    kind: str
    message: str
    type: str = ""
    traceback: str = ""


class Attempt(msgspec.Struct, frozen=True, omit_defaults=True):
    """An earlier attempt at the same trial that was run again, and why."""

    status: Status
    error: ErrorInfo | None = None
    seconds: float = 0.0
    usage: Usage = Usage()


class TrialRecord(msgspec.Struct, frozen=True, omit_defaults=False):
    """One finished trial. ``trial`` counts from 0 within its task; ``seconds`` is the agent's own time.

    ``passed`` is True, False, or None (missing: it can't be told). ``score`` is in 0..1 or None.
    ``transcript`` is the [offset, length] of its frame in ``transcripts.zst``.
    """

    task: str
    trial: int
    status: Status
    passed: bool | None
    arm: str = ""
    score: float | None = None
    grades: tuple[Grade, ...] = ()
    output: Any = None
    usage: Usage = Usage()
    seconds: float = 0.0
    started: str = ""
    seed: int = 0
    model: str | None = None
    error: ErrorInfo | None = None
    attempts: tuple[Attempt, ...] = ()
    transcript: tuple[int, int] | None = None
    tags: tuple[str, ...] = ()
    family: str | None = None
    split: str = "holdout"
    notes: tuple[str, ...] = ()
    order: int = 0  # the position at which it was started in the run
    fingerprint: str = ""  # hash of what happened, without times and ids: equal for identical transcripts
    workspace: str | None = None

    @property
    def counts(self) -> bool:
        """Whether the trial was planned: skipped and not-needed trials are neither counted nor missing."""
        return RULES[self.status].counts is not Counts.NOT_PLANNED

    @property
    def missing(self) -> bool:
        """Whether the trial was planned and yet has no verdict."""
        return self.counts and self.passed is None
