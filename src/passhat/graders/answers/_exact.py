"""The answer is exactly what was expected."""

from __future__ import annotations

import unicodedata
from typing import Any

from passhat.facts import Grade, NotJSON, as_json
from passhat.graders._check import Check
from passhat.graders._compare import checked_tolerance, differences, few, same
from passhat.graders._expected import WHOLE, checked, expected_of
from passhat.graders._names import GraderSetup

NORMAL = ("strip", "case", "spaces", "unicode", "punctuation")


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


def levels(normalise: Any) -> tuple[str, ...]:
    """What to level, from True, False or words."""
    if normalise is True:
        return ("strip", "case", "spaces", "unicode")
    words = (normalise,) if isinstance(normalise, str) else tuple(normalise or ())
    for word in words:
        if word not in NORMAL:
            raise GraderSetup(f"normalise: {word!r} is unknown; use True, or some of {', '.join(NORMAL)}")
    return words


def normal(value: Any, what: tuple[str, ...]) -> Any:
    """The value with all its text levelled.

    >>> normal([" Ａ  b! "], ("strip", "case", "spaces", "unicode", "punctuation"))
    ['a b']
    """
    if not what:
        return value
    if isinstance(value, list | tuple):
        return [normal(item, what) for item in value]
    if isinstance(value, dict):
        return {key: normal(item, what) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    text = unicodedata.normalize("NFKC", value) if "unicode" in what else value
    if "punctuation" in what:
        text = "".join(c for c in text if not unicodedata.category(c).startswith("P"))
    if "case" in what:
        text = text.casefold()
    if "spaces" in what:
        leading, trailing = text[:1].isspace(), text[-1:].isspace()
        words = " ".join(text.split())
        text = f"{' ' if leading and words else ''}{words}{' ' if trailing and words else ''}"
    return text.strip() if "strip" in what else text


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
