"""Two answers to one task, compared in both orders."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from passhat.facts import Grade, JudgeSample, Role
from passhat.graders._names import GraderSetup
from passhat.graders._version import source_version
from passhat.graders.judge._at_once import answers
from passhat.graders.judge._judge import Judge
from passhat.graders.judge._settings import LONGEST, UNKNOWN, Models, settings_of
from passhat.graders.judge._texts import as_text
from passhat.graders.judge._voting import counted, majority
from passhat.trial import FinishedTrial, ModelAccess

if TYPE_CHECKING:
    from passhat.facts import Task


class Pairwise(Judge):
    """See `pairwise`."""

    kind = "pairwise"
    words = ("first", "second", "tie", UNKNOWN)

    def __init__(self, against: Callable[[Task], Any], tie: Literal["pass", "fail"], *given: Any) -> None:
        super().__init__(*given)
        self.against = against
        self.tie = tie

    @property
    def calls(self) -> int:
        """Each sample is two calls, one an order."""
        return 2 * super().calls

    def _rule(self) -> Any:
        return [self.tie, source_version(self.against)]

    def _blocks(self, trial: FinishedTrial) -> dict[str, str]:
        blocks = {"task": as_text(trial.input)} if trial.input is not None else {}
        return {**blocks, "own": as_text(trial.output), "other": as_text(self.against(trial.task))}

    async def _ask(
        self,
        name: str,
        access: ModelAccess,
        blocks: Mapping[str, str],
        notes: dict[str, None],
        *,
        at_once: bool,
    ) -> tuple[list[JudgeSample], BaseException | None]:
        """Each sample in both orders; a verdict is told as *answer* or *other*, whatever stood first."""
        from passhat.graders.judge._asking import client_of

        rest = {key: text for key, text in blocks.items() if key not in ("own", "other")}
        own, other = blocks["own"], blocks["other"]
        orders = {
            "answer first": self._question({**rest, "first": own, "second": other}, notes),
            "answer second": self._question({**rest, "first": other, "second": own}, notes),
        }
        async with client_of(name, access) as model:
            both = [functools.partial(self._sample, model, name, question, order) for order, question in orders.items()]
            given, failure = await answers(both * self.settings.samples, at_once=at_once)
        told = [msgspec.structs.replace(sample, verdict=_whose(sample.verdict, sample.order)) for sample in given]
        return told, failure

    def _decide(self, samples: Sequence[JudgeSample], trial: FinishedTrial) -> tuple[str | None, Grade]:
        pairs = list(zip(samples[::2], samples[1::2], strict=True))
        agreed = [one.verdict if one.verdict == two.verdict else "changed with the order" for one, two in pairs]
        verdict = majority(agreed)
        if verdict in (None, "changed with the order"):
            return None, Grade(None, f"no verdict ({counted(agreed)}), for people to decide")
        said = next(one.reason for (one, _), word in zip(pairs, agreed, strict=True) if word == verdict)
        passed = verdict == "answer" or (verdict == "tie" and self.tie == "pass")
        words = {"answer": "better", "other": "worse", "tie": "as good"}[str(verdict)]
        return verdict, Grade(passed, f"{words}: {said}".rstrip(": "))


def _whose(verdict: str, order: str) -> str:
    if verdict not in ("first", "second"):
        return verdict
    return "answer" if order == f"answer {verdict}" else "other"


def pairwise(
    name: str,
    criterion: str,
    *,
    against: Callable[[Task], Any] | None = None,
    tie: Literal["pass", "fail"] = "pass",
    samples: int = 1,
    temperature: float | None = None,
    model: Models = None,
    role: Role | str = Role.REQUIRED,
    weight: float = 1.0,
    longest: int = LONGEST,
    same_model_ok: bool = False,
) -> Pairwise:
    """A judge model compares the trial's answer with another one, each time in both orders.

    ``against(task)`` is the other answer, by default the task's expected one. Only what both orders agree on counts;
    the rest is *unresolved*. The trial passes when its answer is better, and with ``tie="pass"`` when it is as good.
    Each sample is two calls; more than half of the samples decide. The rest is as for `rubric`.

    >>> pairwise("as helpful as ours", "It helps the customer on.").calls
    2
    """
    if against is not None and not callable(against):
        raise GraderSetup(f"judge {name!r}: against={against!r}: must be a function of the task")
    if tie not in ("pass", "fail"):
        raise GraderSetup(f"judge {name!r}: tie={tie!r}: must be 'pass' or 'fail'")
    settings = settings_of(
        name, samples=samples, temperature=temperature, model=model, longest=longest, same_model_ok=same_model_ok
    )
    return Pairwise(against or _expected, tie, name, criterion, settings, role, weight)


def _expected(task: Task) -> Any:
    return task.expected
