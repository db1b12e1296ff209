"""The one object that holds what a comparison says. Encoded as JSON it is ``compare --json``.

Rates and differences of rates are in 0..1 and -1..1 (0.05 is 5 points), times in seconds, money in US dollars, counts
are [passed, trials]. Differences are candidate minus baseline. None is *unknown* or *refused*, never 0.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from passhat.summary import ChangedTask, ExitCode, Finding

SCHEMA = 1
Range = tuple[float, float]
CountPair = tuple[int, int]
Target = Literal["these tasks", "tasks like these"]
Verdict = Literal["better", "worse", "no difference", "can't tell"]


class Claim(msgspec.Struct, frozen=True):
    """A difference about one target: its interval, and the p value of the named test."""

    interval: Range
    p: float
    test: str
    note: str = ""


class Lift(msgspec.Struct, frozen=True):
    """By how much one rate differs. ``tasks_like_these`` is None where nothing can be said of other tasks."""

    rate: str
    baseline: float
    candidate: float
    estimate: float
    these_tasks: Claim
    tasks_like_these: Claim | None


class Blocked(msgspec.Struct, frozen=True):
    """A task that could not be compared, and why."""

    task: str
    reason: str


class TaskPair(msgspec.Struct, frozen=True):
    """One task on both sides."""

    task: str
    before: CountPair
    after: CountPair
    tags: tuple[str, ...] = ()


class TagLift(msgspec.Struct, frozen=True):
    """The difference of pass@1 over the tasks with one tag. Tags aren't adjusted for their number."""

    tag: str
    pairs: int
    baseline: float
    candidate: float
    estimate: float
    these_tasks: Range


class Delta(msgspec.Struct, frozen=True):
    """The mean of an amount a trial on both sides, over the ``pairs`` tasks in which both sides know it wholly.

    All are None where no task has it on both sides. ``p`` is that of the sign-flip test over tasks.
    """

    pairs: int
    baseline: float | None
    candidate: float | None
    delta: float | None
    p: float | None


class LookFacts(msgspec.Struct, frozen=True):
    """The planned look that a verdict was reached at: ``look`` of ``looks``, when ``tasks`` of ``planned`` were in.

    ``p`` is that of the sign-flip test then, ``boundary`` what it had to reach (O'Brien and Fleming). ``stopped`` says
    that tasks were left out: the difference is then no estimate.
    """

    look: int
    looks: int
    tasks: int
    planned: int
    p: float
    boundary: float
    stopped: bool


class Needs(msgspec.Struct, frozen=True):
    """What would find a true difference of ``difference`` four times in five.

    ``tasks`` and ``trials`` (of each task, on each side) come on top of what there is; either alone is enough. None is
    *no number would*, or more than a thousand trials.
    """

    difference: float
    tasks: int | None
    trials: int | None


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One candidate against the baseline. ``pairs`` tasks of ``total`` were compared; fewer than all is *partial*.

    ``verdict`` rests on pass@1 and the comparison's ``decided_by``; ``message`` says it in words. ``wins``, ``losses``
    and ``ties`` count tasks by their pass rates. ``gain`` is the share of the room above the baseline that was gained.
    ``look`` is the planned look that decided, in a run that could stop early. ``if_missing`` is the lift at worst and
    at best for the candidate, whatever trials without a verdict had been.
    """

    name: str
    pairs: int
    total: int
    partial: bool
    blocked: tuple[Blocked, ...]
    lift: tuple[Lift, ...]
    verdict: Verdict
    message: str
    wins: int
    losses: int
    ties: int
    gain: float | None
    if_missing: Range | None
    missing: int
    needs: Needs | None
    changed_tasks: tuple[ChangedTask, ...]
    tested_tasks: int
    changed_note: str
    by_task: tuple[TaskPair, ...]
    by_tag: tuple[TagLift, ...]
    telemetry: dict[str, Delta]
    findings: tuple[Finding, ...]
    look: LookFacts | None = None

    @property
    def first(self) -> Lift | None:
        """The difference of pass@1; None without a pair."""
        return self.lift[0] if self.lift else None


class ArmFacts(msgspec.Struct, frozen=True):
    """One side of the comparison: what it was, and what all of its trials spent, failed ones included.

    ``partial`` names the sums that are known subtotals only.
    """

    name: str
    run: str
    arm: str
    suite: str
    started: str
    model: str | None
    model_source: str
    commit: str | None
    tasks: int
    trials: int
    missing: int
    model_calls: int
    tokens: int | None
    dollars: float | None
    seconds: float | None
    partial: tuple[str, ...]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A baseline and its candidates; each candidate is compared with the baseline only.

    ``margin`` is the difference that matters: a candidate that is worse by less doesn't fail, and "no difference" means
    none as large. ``alpha`` is the p value that a verdict needs: with several candidates it is shared among them.
    """

    schema: int = SCHEMA
    title: str
    baseline: str
    candidates: tuple[Candidate, ...]
    arms: tuple[ArmFacts, ...]
    level: float
    alpha: float
    margin: float
    decided_by: Target
    exit_code: int
    exit_reason: str = ""

    def to_json(self) -> bytes:
        """The comparison as JSON, UTF-8, on one line."""
        return msgspec.json.encode(self)

    @property
    def worse(self) -> bool:
        """Whether a candidate is worse by the margin or more, or a task got worse where none may."""
        return self.exit_code == ExitCode.GATE_NOT_MET
