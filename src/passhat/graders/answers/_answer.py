"""What the checks of an answer share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from passhat.facts import Grade
from passhat.graders._check import Check
from passhat.graders._compare import short
from passhat.graders.answers._exact import answer_of

Part = str | int | Callable[[Any], Any] | None


class AnswerCheck(Check):
    """A check of the trial's output, or of a ``part`` of it: a key, an index, or a function of the output."""

    part: Part = None

    def __call__(self, trial: Any) -> Grade:
        """Grade the part of the output that is meant; an output without that part fails."""
        try:
            found = answer_of(trial, self.part)
        except LookupError as error:
            return failed(str(error))
        return self._judge(found, trial)

    def _judge(self, found: Any, trial: Any) -> Grade:
        raise NotImplementedError


def passed(*, score: float | None = None) -> Grade:
    """A pass that rests on the answer."""
    return Grade(True, score=score, evidence="answer")


def failed(reason: str, *, score: float | None = None) -> Grade:
    """A failure that rests on the answer."""
    return Grade(False, reason, score=score, evidence="answer")


def no_text(found: Any) -> Grade:
    """The failure of an answer that should be text."""
    return failed(f"the answer is no text: {short(found)}")
