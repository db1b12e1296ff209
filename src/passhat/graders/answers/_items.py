"""The answer is a list, or a set, of the expected items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passhat.facts import Grade, NotJSON, as_json
from passhat.graders._compare import checked_tolerance, few, same, short
from passhat.graders._expected import WHOLE, checked, expected_of
from passhat.graders._levels import levels, normal
from passhat.graders._names import GraderSetup
from passhat.graders._pairing import pair_alike, parts_of_json
from passhat.graders._run import EPSILON
from passhat.graders.answers._answer import AnswerCheck, Part, failed, passed


class Items(AnswerCheck):
    """See `items`."""

    def __init__(
        self, expect: Any, extras: bool, distinct: bool, tolerance: float, normalise: Any, split: str | None, part: Part
    ) -> None:
        if split is not None and not split:
            raise GraderSetup("split='' separates nothing; give the text between two items, such as ','")
        self.name = "items"
        self.expect = checked(expect, "answers.items")
        self.extras = extras
        self.distinct = distinct
        self.tolerance = checked_tolerance(tolerance)
        self.normalise = levels(normalise)
        self.split = split
        self.part = part

    def _judge(self, found: Any, trial: Any) -> Grade:
        wanted = as_json(expected_of(self.expect, trial.task), name="expected")
        if not isinstance(wanted, list):
            raise GraderSetup(f"answers.items: a list is expected, got {short(wanted)}")
        if isinstance(found, str) and self.split is not None:
            found = [item.strip() for item in found.split(self.split) if item.strip()]
        try:
            found = as_json(found, name="output")
        except NotJSON as error:
            return failed(str(error))
        if not isinstance(found, list):
            return failed(f"the answer is no list: {short(found)}")
        return self._compared(self._ready(wanted), self._ready(found))

    def _ready(self, values: list[Any]) -> list[Any]:
        ready: list[Any] = []
        for item in values:
            level = normal(item, self.normalise)
            if not self.distinct or not any(same(level, other) for other in ready):
                ready.append(level)
        return ready

    def _compared(self, wanted: list[Any], found: list[Any]) -> Grade:
        pairs = pair_alike(wanted, found, self.tolerance, parts_of_json, lambda a, b: same(a, b, self.tolerance))
        used = set(pairs.values())
        missing = [item for index, item in enumerate(wanted) if index not in pairs]
        extra = [] if self.extras else [item for index, item in enumerate(found) if index not in used]
        whole = max(len(wanted) + len(extra), 1)
        score = 1.0 if not missing and not extra else len(pairs) / whole
        lines = [f"missing {short(item)}" for item in missing] + [f"unexpected {short(item)}" for item in extra]
        bar = 1.0 if self.threshold is None else self.threshold
        if score >= bar - EPSILON:
            return Grade(True, few(lines), score=score, evidence="answer") if lines else passed(score=score)
        return failed(f"{len(pairs)} of {len(wanted)} expected items\n{few(lines, 8)}", score=score)


def items(
    expect: Any = WHOLE,
    *,
    extras: bool = False,
    distinct: bool = False,
    tolerance: float = 0.0,
    normalise: bool | Sequence[str] = (),
    split: str | None = None,
    part: Part = None,
) -> Items:
    """The answer is a list of exactly the expected items, in any order (`exact` compares lists in order).

    Items are paired one to one, as many as can be. ``extras=True`` forgives items that weren't expected;
    ``distinct=True`` compares as sets; ``split=","`` makes a list of text first. The score is the share of pairs among
    all that was expected or superfluous; ``items(…).as_(threshold=0.8)`` lets a part of them pass.

    >>> from passhat.graders import answers, grade
    >>> grade(answers.items(), ["b", "a"], expected=["a", "b"]).passed
    True
    """
    return Items(expect, extras, distinct, tolerance, normalise, split, part)
