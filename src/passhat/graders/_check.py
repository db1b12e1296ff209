"""What every built-in check is: a grader with a name that can also be asked outside a suite."""

from __future__ import annotations

import copy
import inspect
from typing import Any, NoReturn, Self

from passhat.facts import Grade, NoTruthValue, Role, Task
from passhat.graders._names import checked_name, checked_threshold, checked_weight, role_of
from passhat.graders._run import run_grader
from passhat.trial import FinishedTrial

_LINES = 25


class Check:
    """A grader of a finished trial. Checks are plain callables; ``verify`` asks one in a test.

    ``as_`` gives a copy with another name, role, weight or threshold.

    >>> from passhat.graders import answers
    >>> answers.contains(["refund"]).as_("says refund", role="advisory").name
    'says refund'
    """

    name: str = "check"
    role: Role = Role.REQUIRED
    weight: float = 1.0
    threshold: float | None = None

    def __call__(self, trial: Any) -> Grade | bool | float:
        """The grade of one finished trial."""
        raise NotImplementedError

    def as_(
        self,
        name: str | None = None,
        *,
        role: Role | str | None = None,
        weight: float | None = None,
        threshold: float | None = None,
    ) -> Self:
        """A copy that states something else of itself.

        >>> from passhat.graders import exact
        >>> exact().as_("answer", role="advisory").name
        'answer'
        """
        other = copy.copy(self)
        if name is not None:
            other.name = checked_name(name)
        if role is not None:
            other.role = role_of(role)
        if weight is not None:
            other.weight = checked_weight(weight)
        if threshold is not None:
            other.threshold = checked_threshold(threshold)
        return other

    def verify(self, x: Any) -> None:
        """Raise AssertionError with the reason and what happened unless the check passes; *unknown* doesn't pass.

        ``x`` is anything that has ``.transcript``, a transcript, or a finished trial.
        """
        __tracebackhide__ = True
        trial = as_trial(x)
        grade = run_grader(self, trial)
        if grade.passed is True:
            return
        said = grade.reason
        if grade.error is not None:
            said = f"can't be checked: {grade.error}"
        elif grade.passed is None:
            said = f"unknown, which is no pass: {grade.reason}"
        raise AssertionError(f"{grade.name}: {said or 'failed'}{_what_happened(trial)}")

    def __bool__(self) -> NoReturn:
        """Raises `NoTruthValue`: a check that nobody asked says nothing of what happened."""
        __tracebackhide__ = True
        raise NoTruthValue(
            f"the check {self.name!r} was asked of nothing: write check.verify(x), such as .verify(faux)"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"


def as_trial(x: Any) -> Any:
    """A finished trial for a check: ``x`` itself when it is one, else one around its transcript."""
    if isinstance(x, FinishedTrial):
        return x
    transcript = getattr(x, "transcript", None)
    if inspect.ismethod(transcript):
        transcript = transcript()
    if transcript is None:
        raise TypeError(f"verify() takes something that has .transcript, or a transcript; got {type(x).__name__}")
    task = getattr(x, "task", None)
    output = getattr(x, "output", None)
    return FinishedTrial(task if isinstance(task, Task) else Task("test"), output, transcript)


def _what_happened(trial: Any) -> str:
    lines = trial.transcript.summary()
    if not lines:
        return ""
    shown = lines[:_LINES]
    rest = [f"… and {len(lines) - _LINES} more"] if len(lines) > _LINES else []
    return "\nwhat happened:\n" + "\n".join(f"  {line}" for line in [*shown, *rest])
