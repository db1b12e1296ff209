"""The record of one finished trial: a line of ``trials.jsonl``."""

from __future__ import annotations

from typing import Any

import msgspec

from passhat.facts._grades import Grade
from passhat.facts._status import RULES, Counts, Status
from passhat.facts._usage import Usage

TrialKey = tuple[str, str, int]
"""Arm, task and number of a trial: what names it within its run."""


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
    judge_usage: Usage = Usage()  # what judges spent on it; never part of ``usage``
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
    had_workspace: bool | None = None  # whether its agent left one, kept or not; None is unknown

    @property
    def key(self) -> TrialKey:
        """Its name within the run."""
        return self.arm, self.task, self.trial

    def grade(self, name: str) -> Grade | None:
        """The grade of this name; None where there is none."""
        return next((grade for grade in self.grades if grade.name == name), None)

    @property
    def counts(self) -> bool:
        """Whether the trial was planned: skipped and not-needed trials are neither counted nor missing."""
        return RULES[self.status].counts is not Counts.NOT_PLANNED

    @property
    def missing(self) -> bool:
        """Whether the trial was planned and yet has no verdict."""
        return self.counts and self.passed is None
