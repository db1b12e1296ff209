"""Several graders as one: all of them, any of them, or enough of them by weight."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import Any

from passhat.facts import Grade, Role
from passhat.graders._check import Check
from passhat.graders._names import GraderSetup, checked_threshold, checked_weight, grader_names, is_async
from passhat.graders._run import EPSILON, run_grader, run_grader_async
from passhat.graders._wrapped import as_check


class Combined(Check):
    """Graders that are asked together, on one copy of the final state, and whose grades make one.

    Advisory parts are told in the reason and decide nothing.
    """

    def __init__(self, graders: Sequence[Any], word: str, name: str | None) -> None:
        if not graders:
            raise GraderSetup(f"{word} needs graders")
        self.graders = tuple(as_check(item) for item in graders)
        self.names = grader_names(self.graders)
        self.is_async = any(is_async(item) for item in self.graders)
        own = f"{word.replace('_', ' ')}: {', '.join(self.names)}"
        self.name = name or (own if len(own) <= 80 else f"{own[:79]}…")

    def __call__(self, trial: Any) -> Any:
        """Ask all of them; an async one makes it something to await."""
        if self.is_async:
            return self._ask(trial)
        return self._made([run_grader(g, trial, name=n) for g, n in zip(self.graders, self.names, strict=True)])

    async def _ask(self, trial: Any) -> Grade:
        waiting = {}
        grades: dict[int, Grade] = {}
        for index, (item, name) in enumerate(zip(self.graders, self.names, strict=True)):
            if is_async(item):
                waiting[index] = run_grader_async(item, trial, name=name)
            else:  # on this thread: the environment may be tied to it
                grades[index] = run_grader(item, trial, name=name)
        grades.update(zip(waiting, await asyncio.gather(*waiting.values()), strict=True))
        return self._made([grades[index] for index in range(len(self.graders))])

    def _made(self, grades: Sequence[Grade]) -> Grade:
        deciding = [grade for grade in grades if grade.role is not Role.ADVISORY]
        made = self._decided(deciding) if deciding else Grade(True)
        reason = "\n".join(line for grade in grades if (line := told(grade)))
        evidence = ", ".join(dict.fromkeys(grade.evidence for grade in grades if grade.evidence))
        return Grade(made.passed, reason, made.score, error=made.error, evidence=evidence)

    def _decided(self, grades: Sequence[Grade]) -> Grade:
        raise NotImplementedError


class AllOf(Combined):
    """See `all_of`."""

    def _decided(self, grades: Sequence[Grade]) -> Grade:
        score = mean(grades)
        if any(grade.passed is False for grade in grades):
            return Grade(False, score=score)
        return undecided(grades, score, Grade(True, score=score))


def all_of(*graders: Any, name: str | None = None) -> AllOf:
    """All of them pass. Any failure fails it, whatever else erred; else an error or unknown part leaves it open.

    The score is the weighted mean of the parts' scores, 0 when a critical part fails.

    >>> from passhat.graders import all_of, grade
    >>> short, polite = (lambda trial: len(trial.output) < 20), (lambda trial: "please" in trial.output)
    >>> grade(all_of(short, polite), "Wait, please.").passed
    True
    """
    return AllOf(graders, "all_of", name)


class AnyOf(Combined):
    """See `any_of`."""

    def _decided(self, grades: Sequence[Grade]) -> Grade:
        scores = [grade.score_value for grade in grades if grade.score_value is not None]
        score = max(scores, default=None)
        if any(grade.role is Role.CRITICAL and grade.passed is False for grade in grades):
            return Grade(False, score=0.0)
        if any(grade.passed for grade in grades):
            return undecided([g for g in grades if g.role is Role.CRITICAL], score, Grade(True, score=score))
        return undecided(grades, score, Grade(False, score=score))


def any_of(*graders: Any, name: str | None = None) -> AnyOf:
    """At least one of them passes, whatever else erred. A critical part must pass all the same.

    The score is the best part's.

    >>> from passhat.graders import any_of, grade
    >>> short, polite = (lambda trial: len(trial.output) < 20), (lambda trial: "please" in trial.output)
    >>> grade(any_of(short, polite), "Wait.").passed
    True
    """
    return AnyOf(graders, "any_of", name)


class Weighted(Combined):
    """See `weighted`."""

    def __init__(self, graders: Sequence[Any], threshold: float, name: str | None) -> None:
        super().__init__(graders, "weighted", name)
        bar = checked_threshold(threshold)
        if bar is None:
            raise GraderSetup("weighted needs a threshold in 0..1; reaching it is enough")
        self.threshold = bar
        if not any(item.weight > 0 for item in self.graders if item.role is not Role.ADVISORY):
            raise GraderSetup("weighted: no deciding part has a weight above 0")

    def _decided(self, grades: Sequence[Grade]) -> Grade:
        if any(grade.role is Role.CRITICAL and grade.passed is False for grade in grades):
            return Grade(False, score=0.0)
        total = math.fsum(grade.weight for grade in grades)
        known = math.fsum(grade.weight * grade.score_value for grade in grades if grade.score_value is not None) / total
        unknown = math.fsum(grade.weight for grade in grades if grade.score_value is None) / total
        bar = (1.0 if self.threshold is None else self.threshold) - EPSILON
        if known + unknown < bar:
            return Grade(False, score=min(known, 1.0))
        if known >= bar:
            critical = [grade for grade in grades if grade.role is Role.CRITICAL]
            return undecided(critical, None, Grade(True, score=min(known, 1.0)))
        return undecided([grade for grade in grades if grade.score_value is None], None, Grade(None))


def weighted(
    graders: Mapping[Any, float] | Sequence[tuple[Any, float]] | Sequence[Any],
    threshold: float,
    *,
    name: str | None = None,
) -> Weighted:
    """The weighted mean of the parts' scores reaches ``threshold`` (in 0..1); reaching it is enough.

    ``graders`` are (grader, weight) pairs, a mapping of graders to weights, or graders that state their own weights.
    A critical part that fails makes it fail with score 0. Where a part is unknown or erred, the outcome is known all
    the same when no score of that part could change it.

    >>> from passhat.facts import Task
    >>> from passhat.trial import FinishedTrial
    >>> check = weighted([(lambda trial: True, 4), (lambda trial: False, 1)], 0.8)
    >>> grade = check(FinishedTrial(Task("t")))
    >>> grade.passed, grade.score
    (True, 0.8)
    """
    pairs: Sequence[Any] = tuple(graders.items()) if isinstance(graders, Mapping) else tuple(graders)
    parts = []
    for item in pairs:
        if isinstance(item, tuple):
            if len(item) != 2:
                raise GraderSetup(f"weighted: {item!r} is no (grader, weight) pair")
            parts.append(as_check(item[0]).as_(weight=checked_weight(item[1])))
        else:
            parts.append(as_check(item))
    return Weighted(parts, threshold, name)


class Not(Combined):
    """See `not_`."""

    def _decided(self, grades: Sequence[Grade]) -> Grade:
        (grade,) = grades
        if grade.passed is None:
            return Grade(None, error=grade.error)
        return Grade(not grade.passed, score=None if grade.score is None else 1 - grade.score)


def not_(grader: Any, *, name: str | None = None) -> Not:
    """The grader fails. What is unknown or erred stays so: not knowing is no failure.

    >>> from passhat.graders import not_, grade
    >>> polite = lambda trial: "please" in trial.output
    >>> grade(not_(polite), "Wait.").passed
    True
    """
    check = as_check(grader).as_(role=Role.REQUIRED)
    return Not([check], "not", name or f"not {check.name}")


def mean(grades: Sequence[Grade]) -> float | None:
    """The weighted mean of the known scores; 0 when a critical part failed, None without any."""
    if any(grade.role is Role.CRITICAL and grade.passed is False for grade in grades):
        return 0.0
    known = [(value, grade.weight) for grade in grades if (value := grade.score_value) is not None]
    total = math.fsum(weight for _, weight in known)
    return math.fsum(value * weight for value, weight in known) / total if total > 0 else None


def undecided(grades: Sequence[Grade], score: float | None, known: Grade) -> Grade:
    """An open grade when a part erred (with its error) or is unknown; ``known`` when all parts are known."""
    for grade in grades:
        if grade.error is not None:
            return Grade(None, score=score, error=f"{grade.name}: {grade.error}")
    return Grade(None, score=score) if any(grade.passed is None for grade in grades) else known


def told(grade: Grade) -> str:
    """A line for a part that didn't simply pass."""
    if grade.passed is True and not grade.reason:
        return ""
    words: dict[bool | None, str] = {
        True: "passed",
        False: "failed",
        None: "unknown" if grade.error is None else "error",
    }
    role = f", {grade.role}" if grade.role is not Role.REQUIRED else ""
    said = grade.error or grade.reason
    return f"{grade.name} ({words[grade.passed]}{role}){f': {said}' if said else ''}"
