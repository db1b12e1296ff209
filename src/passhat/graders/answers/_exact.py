"""The answer is exactly what was expected."""

from __future__ import annotations

from typing import Any

from passhat.facts import Grade, NotJSON, as_json
from passhat.graders._check import Check
from passhat.graders._compare import checked_tolerance, differences, few, same
from passhat.graders._expected import WHOLE, checked, expected_of
from passhat.graders._levels import levels, normal


class Exact(Check):
    """See `exact`."""

    def __init__(self, expect: Any, part: Any, normalise: tuple[str, ...], tolerance: float) -> None:
        self.name = "exact"
        self.expect = expect
        self.part = part
        self.normalise = normalise
        self.tolerance = tolerance

    def __call__(self, trial: Any) -> Grade:
        """Compare the trial's output with the expectation."""
        expected = as_json(expected_of(self.expect, trial.task), name="expected")
        try:
            output = as_json(answer_of(trial, self.part), name="output")
        except (NotJSON, LookupError) as error:
            return Grade(False, str(error), evidence="answer")
        expected, output = normal(expected, self.normalise), normal(output, self.normalise)
        if same(expected, output, self.tolerance):
            return Grade(True, evidence="answer")
        return Grade(False, few(differences(expected, output, self.tolerance)), evidence="answer")


def exact(
    expect: Any = WHOLE,
    *,
    part: Any = None,
    normalise: bool | tuple[str, ...] | list[str] = (),
    tolerance: float = 0.0,
) -> Exact:
    """The output equals the expectation: ``task.expected``, a key of it, a value, or a function of the task.

    Numbers compare as numbers (25 is 25.0) within ``tolerance``; True is not 1, and "25" is not 25.
    ``normalise=True`` compares text without regard to case, kinds of space and Unicode forms; or name what to level:
    "strip", "case", "spaces", "unicode", "punctuation". ``part`` is a key of the output, or a function of it.

    >>> from passhat.facts import Task
    >>> from passhat.trial import FinishedTrial
    >>> exact()(FinishedTrial(Task("t", expected={"n": 3}), {"n": 4})).reason
    'n: expected 3, found 4'
    """
    return Exact(checked(expect, "exact"), part, levels(normalise), checked_tolerance(tolerance))


def answer_of(trial: Any, part: Any) -> Any:
    """The trial's output, or the part of it that ``part`` names: a key, an index, or a function of the output."""
    output = trial.output
    if part is None:
        return output
    if callable(part):
        return part(output)
    try:
        return output[part]
    except (KeyError, IndexError, TypeError):
        raise LookupError(f"the output has no part {part!r}: {output!r:.100}") from None
