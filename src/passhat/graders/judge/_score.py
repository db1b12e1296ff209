"""One of a few levels, each described."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from passhat.facts import Grade, JudgeSample, Role
from passhat.graders._names import GraderSetup
from passhat.graders._run import EPSILON
from passhat.graders.judge._judge import Judge
from passhat.graders.judge._settings import LONGEST, UNKNOWN, Models, Over, settings_of
from passhat.graders.judge._voting import counted, reason_of
from passhat.trial import FinishedTrial

if TYPE_CHECKING:
    from passhat.facts import Task


class Score(Judge):
    """See `score`."""

    kind = "score"

    def __init__(self, levels: Mapping[int, str], *given: Any) -> None:
        super().__init__(*given)
        self.levels = dict(sorted(levels.items()))
        self.words = (*map(str, self.levels), UNKNOWN)

    def _meaning(self) -> Any:
        return [(str(level), text) for level, text in self.levels.items()]

    def _place(self, level: float) -> float:
        """A level in 0..1."""
        low, high = min(self.levels), max(self.levels)
        return (level - low) / (high - low)

    def _decide(self, samples: Sequence[JudgeSample], trial: FinishedTrial) -> tuple[str | None, Grade]:
        words = [sample.verdict for sample in samples]
        given = [int(word) for word in words if word != UNKNOWN]
        if 2 * len(given) <= len(words):
            return None, Grade(None, reason_of(samples, None))
        middle = statistics.median(given)
        score = self._place(middle)
        said = reason_of(samples, str(int(middle)) if middle == int(middle) else None)
        reason = f"{middle:g} of {max(self.levels)}: {said}".rstrip(": ")
        if self.threshold is None:
            return f"{middle:g}", Grade(None, reason, score=score)
        bar = self.threshold - EPSILON
        reached = sum(self._place(level) >= bar for level in given)
        if 2 * reached > len(words) or score >= bar:
            return f"{middle:g}", Grade(True, reason, score=score)
        if 2 * (len(given) - reached) > len(words):
            return f"{middle:g}", Grade(False, reason, score=score)
        return None, Grade(None, f"no verdict ({counted(words)}), for people to decide", score=score)


def score(
    name: str,
    criterion: str,
    levels: Mapping[int, str],
    *,
    threshold: int | None = None,
    over: Over = "answer",
    samples: int = 1,
    temperature: float | None = None,
    model: Models = None,
    reference: Callable[[Task], Any] | None = None,
    role: Role | str = Role.REQUIRED,
    weight: float = 1.0,
    longest: int = LONGEST,
    same_model_ok: bool = False,
) -> Score:
    """A judge model puts a trial on one of a few levels, each described in words.

    ``levels`` maps whole numbers to what they mean. The grade's score is the median of the samples, the lowest level
    as 0 and the highest as 1. ``threshold`` is the level from which on it passes: the judge never says that it passes.
    Samples on both sides in equal numbers are *unresolved* unless their median reaches it. ``threshold=None`` records
    without failing; the role is advisory. The rest is as for `rubric`. Prefer `rubric`: people agree more
    on yes and no.

    >>> clear = score("clear", "How clear is it?", {1: "muddled", 2: "readable", 3: "plain"}, threshold=2)
    >>> clear.threshold
    0.5
    """
    good = isinstance(levels, Mapping) and len(levels) > 1
    if not good or any(isinstance(level, bool) or not isinstance(level, int) for level in levels):
        raise GraderSetup(f"judge {name!r}: levels={levels!r}: map two or more whole numbers to what they mean")
    settings = settings_of(
        name,
        over=over,
        samples=samples,
        temperature=temperature,
        model=model,
        reference=reference,
        longest=longest,
        same_model_ok=same_model_ok,
    )
    made = Score(levels, name, criterion, settings, Role.ADVISORY if threshold is None else role, weight)
    if threshold is not None:
        if isinstance(threshold, bool) or threshold not in levels:
            raise GraderSetup(f"judge {name!r}: threshold={threshold!r}: must be one of the levels, or None")
        made.threshold = made._place(threshold)
    return made
