"""Any callable as a check with another name, role, weight or threshold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from passhat.facts import Role
from passhat.graders._check import Check
from passhat.graders._names import GraderSetup, checked_threshold, grader_name, is_async


class Wrapped(Check):
    """A grader that says something else of itself than it did."""

    def __init__(self, inner: Callable[..., Any]) -> None:
        self.inner = inner
        self.is_async = is_async(inner)
        self.name = grader_name(inner)
        role, weight = getattr(inner, "role", None), getattr(inner, "weight", None)
        self.role = role if isinstance(role, Role) else Role.REQUIRED
        self.weight = float(weight) if isinstance(weight, int | float) else 1.0
        self.threshold = checked_threshold(getattr(inner, "threshold", None))

    def __call__(self, trial: Any) -> Any:
        """What the grader itself says."""
        return self.inner(trial)


def as_check(grader: Any) -> Check:
    """The grader itself when it is a check, else a check around it."""
    if isinstance(grader, Check):
        return grader
    if not callable(grader) or isinstance(grader, type):
        raise GraderSetup(f"a grader is a function of a finished trial, got {grader!r}")
    return Wrapped(grader)


def required(grader: Any, *, name: str | None = None, weight: float | None = None) -> Check:
    """The grader, deciding together with the other required ones (as it does by default).

    >>> from passhat.graders import required, grade
    >>> short = lambda trial: len(trial.output) < 20
    >>> grade(required(short, name="short"), "Wait.").name
    'short'
    """
    return as_check(grader).as_(name, role=Role.REQUIRED, weight=weight)


def critical(grader: Any, *, name: str | None = None, weight: float | None = None) -> Check:
    """The grader, required, and taking all partial credit of the trial away when it fails.

    >>> from passhat.graders import exact
    >>> critical(exact()).role
    <Role.CRITICAL: 'critical'>
    """
    return as_check(grader).as_(name, role=Role.CRITICAL, weight=weight)


def advisory(grader: Any, *, name: str | None = None, weight: float | None = None) -> Check:
    """The grader, recorded and reported without ever deciding. Give ``weight=0`` to keep it out of the score too.

    >>> from passhat.graders import advisory, grade
    >>> short = lambda trial: len(trial.output) < 20
    >>> grade(advisory(short), "Wait.").role
    <Role.ADVISORY: 'advisory'>
    """
    return as_check(grader).as_(name, role=Role.ADVISORY, weight=weight)
