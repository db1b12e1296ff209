"""One criterion, met or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from passhat.facts import Grade, JudgeSample, Role
from passhat.graders._names import GraderSetup
from passhat.graders._run import EPSILON
from passhat.graders.judge._judge import Judge
from passhat.graders.judge._settings import LONGEST, UNKNOWN, Models, Over, settings_of
from passhat.graders.judge._texts import as_text
from passhat.graders.judge._voting import counted, majority, reason_of
from passhat.trial import FinishedTrial

if TYPE_CHECKING:
    from passhat.facts import Task


class Rubric(Judge):
    """See `rubric`."""

    kind = "rubric"
    words = ("pass", "fail", UNKNOWN)

    def _without_asking(self, trial: FinishedTrial) -> Grade | None:
        """Nothing meets no criterion: an empty answer can't talk a judge into a pass."""
        if self.settings.over == "trace" or as_text(trial.output).strip():
            return None
        judged = self._judged(self.models, [], "fail", {"failed without asking: the answer is empty": None})
        return Grade(False, "the answer is empty", score=0.0, judged=judged, evidence="answer")

    def _decide(self, samples: Sequence[JudgeSample], trial: FinishedTrial) -> tuple[str | None, Grade]:
        words = [sample.verdict for sample in samples]
        verdict = majority(words)
        reason = reason_of(samples, verdict)
        if verdict is None:
            return None, Grade(None, reason)
        share = words.count("pass") / len(words)
        if verdict == "pass" and self.threshold is not None and share < self.threshold - EPSILON:
            verdict = "fail"
            reason = f"{counted(words)}, and a share of {self.threshold:g} must say pass"
        return verdict, Grade(verdict == "pass", reason, score=share)


def rubric(
    name: str,
    criterion: str,
    *,
    over: Over = "answer",
    samples: int = 1,
    temperature: float | None = None,
    model: Models = None,
    threshold: float | None = 0.5,
    reference: Callable[[Task], Any] | None = None,
    role: Role | str = Role.REQUIRED,
    weight: float = 1.0,
    longest: int = LONGEST,
    same_model_ok: bool = False,
) -> Rubric:
    """A judge model says pass, fail or unknown to one criterion.

    ``over`` is what it reads: the task and the "answer", or the whole "trace" besides. Each of ``samples`` answers is
    asked for in a call of its own, of each ``model`` (PROVIDER/NAME, or several: a panel; by default the run's
    judge). The verdict is what more than half of all answers say; a tie, or more than half *unknown*, is *unresolved*:
    a matter for people. With a ``threshold`` above 0.5 that share must say pass. ``threshold=None`` records the verdict
    and never fails a trial: the role becomes advisory. ``reference(task)`` is shown beside the answer.
    ``temperature`` None leaves it to the provider; no temperature makes a judge repeatable.

    An answer in another form (a synonym, a further field, a quote that isn't in the text) is asked for afresh, 3 times
    in all; then, and when the provider fails, the grade is an error, never a verdict. An empty answer fails without
    asking. Text of more than ``longest`` characters is cut in the middle, and the grade says so.

    >>> polite = rubric("polite", "The answer is polite, also where it says no.", samples=3)
    >>> polite.calls, polite.role
    (3, <Role.REQUIRED: 'required'>)
    """
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
    made = Rubric(name, criterion, settings, Role.ADVISORY if threshold is None else role, weight)
    if threshold is not None:
        number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
        if not number or not 0.5 <= threshold <= 1:
            raise GraderSetup(
                f"judge {name!r}: threshold={threshold!r}: the share of samples that must say pass is 0.5 (more than "
                "half) to 1; None records the verdict without failing"
            )
        made.threshold = float(threshold)
    return made
