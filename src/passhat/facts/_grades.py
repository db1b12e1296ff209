"""What graders say of one trial, and what that makes of the trial."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, NoReturn

import msgspec

from passhat.facts._errors import NoTruthValue
from passhat.facts._judged import Judged
from passhat.facts._status import Status

CHANGED_SINCE = "was written or changed after the run had begun"
"""What an error says of a file that isn't imported for that reason."""
GONE_SINCE = "was there when the run began"
"""What an error says of a file that an import doesn't find any more."""
_REFUSED = re.compile(rf"isn't imported: (.{{1,4096}}?) ({CHANGED_SINCE}|{GONE_SINCE})")


def refused_files(error: str | None) -> list[str]:
    """The files that weren't imported since they changed after the run had begun, or are gone, as a grader's error
    names them.

    >>> refused_files(f"ImportError: rules isn't imported: /here/rules.py {CHANGED_SINCE}, and neither …")
    ['/here/rules.py']
    """
    return [] if error is None else [file for file, _ in _REFUSED.findall(error)]


def gone_files(error: str | None) -> list[str]:
    """Those of `refused_files` that can't be found any more."""
    return [] if error is None else [file for file, why in _REFUSED.findall(error) if why == GONE_SINCE]


class Role(StrEnum):
    """How much a grade matters."""

    REQUIRED = "required"  # decides, with the other required ones, whether the trial passed
    CRITICAL = "critical"  # required, and a failure here takes all partial credit away
    ADVISORY = "advisory"  # recorded and reported, never decides


class Grade(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one grader says of one trial: passed (True, False, or None for *unknown*), a reason, perhaps a score.

    ``score`` is in 0..1; without one it is 1 for passed and 0 for failed. ``error`` is set when the grader itself
    failed: then ``passed`` is None and the trial is not judged by it.

    >>> Grade(False, "refunds: expected [('A1', 20)], found []").score_value
    0.0

    A grade is no truth value: write ``grade.passed is True``.
    """

    passed: bool | None
    reason: str = ""
    score: float | None = None
    name: str = ""
    role: Role = Role.REQUIRED
    weight: float = 1.0
    seconds: float | None = None
    version: str | None = None
    error: str | None = None
    evidence: str = ""  # what the grade rests on: "state", "answer", "requested", "returned", "executed", …
    judged: Judged | None = None  # how a judge model came to it

    def __post_init__(self) -> None:
        if self.passed is not None and not isinstance(self.passed, bool):
            raise ValueError(f"Grade(passed={self.passed!r}): must be True, False, or None for unknown")
        if self.score is not None:
            good = isinstance(self.score, int | float) and not isinstance(self.score, bool)
            if not good or not (math.isfinite(self.score) and 0 <= self.score <= 1):
                raise ValueError(f"Grade(score={self.score!r}): must be a number in 0..1, or None")
        if not isinstance(self.role, Role):
            if self.role not in list(Role):
                raise ValueError(f"Grade(role={self.role!r}): must be one of {', '.join(Role)}")
            msgspec.structs.force_setattr(self, "role", Role(self.role))
        if not isinstance(self.reason, str):
            raise ValueError(f"Grade(reason={self.reason!r}): must be text")
        if not (math.isfinite(self.weight) and self.weight >= 0):
            raise ValueError(f"Grade(weight={self.weight!r}): must be a finite number, 0 or more")

    def __bool__(self) -> NoReturn:
        """Raises `NoTruthValue`: an unknown grade is no pass, and ``not grade`` mustn't make it a failure either."""
        __tracebackhide__ = True
        said = self.error or self.reason
        raise NoTruthValue(
            f"a grade is no truth value (this one: passed={self.passed}{f', {said[:200]!r}' if said else ''}): "
            "say grade.passed is True, or in a test check.verify(x) in place of assert check(x)"
        )

    @property
    def rubric(self) -> str:
        """The hash of what a judge was asked; empty for a grader that asks no model."""
        return "" if self.judged is None else self.judged.rubric

    @property
    def score_value(self) -> float | None:
        """The score in 0..1, or None when the grade is unknown and carries no score."""
        if self.score is not None:
            return float(self.score)
        return None if self.passed is None else float(self.passed)


class Verdict(NamedTuple):
    """What the grades make of a trial: ``passed`` is None when they can't decide; ``status`` then says why."""

    passed: bool | None
    score: float | None
    status: Status


def decide(grades: Sequence[Grade]) -> Verdict:
    """Decide a completed trial by Kleene's three-valued *and* over its required grades.

    Any False makes a failure, whatever else erred; else any grader error makes *grader_error*, any unknown makes
    *unresolved* (passed is None in both); else success. The score is the weighted mean of all grades that have one,
    required and advisory alike (None when there is none), and 0 when a critical grade is False. A trial without any
    required grade is a success: it completed.

    >>> decide([Grade(True), Grade(None, error="boom"), Grade(False)]).passed
    False
    >>> decide([Grade(True), Grade(None)]).status
    <Status.UNRESOLVED: 'unresolved'>
    """
    deciding = [grade for grade in grades if grade.role is not Role.ADVISORY]
    if any(grade.passed is False for grade in deciding):
        passed, status = False, Status.COMPLETED
    elif any(grade.error is not None for grade in deciding):
        passed, status = None, Status.GRADER_ERROR
    elif any(grade.passed is None for grade in deciding):
        passed, status = None, Status.UNRESOLVED
    else:
        passed, status = True, Status.COMPLETED
    return Verdict(passed, _score(grades), status)


def _score(grades: Sequence[Grade]) -> float | None:
    if any(grade.role is Role.CRITICAL and grade.passed is False for grade in grades):
        return 0.0
    known = [(grade.score_value, grade.weight) for grade in grades if grade.score_value is not None]
    total = sum(weight for _, weight in known)
    if total <= 0:
        return None
    return math.fsum(score * weight for score, weight in known if score is not None) / total
