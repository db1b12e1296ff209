"""The one object that holds a suite's history. Encoded as JSON it is ``history --json``."""

from __future__ import annotations

import msgspec

from passhat.summary import ChangedTask, Finding, GateRow, JudgeAgreement

SCHEMA = 1
Range = tuple[float, float]


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One run, or one arm of it: pass@1 with both intervals. ``commit`` ends in "+" when the tree was dirty.

    ``stale`` says why the run doesn't measure what the newest one does (other tasks, other graders), if it doesn't.
    ``left_out`` is the number of trials that the run, all arms together, didn't need once its verdict was certain:
    where it isn't 0 the rate is no estimate.
    """

    run: str
    arm: str
    path: str
    started: str
    state: str
    host: str
    commit: str | None
    model: str | None
    models_reported: tuple[str, ...]
    model_source: str
    tasks: int
    trials: int
    missing: int
    left_out: int
    pass_at_1: float | None
    these_tasks: Range | None
    tasks_like_these: Range | None
    stale: str
    gates: tuple[str, ...]


class JudgePoint(msgspec.Struct, frozen=True):
    """How far a grader agreed with people in one run; ``changed``: what differs in it from the labelled run before."""

    run: str
    started: str
    agreement: JudgeAgreement
    changed: tuple[str, ...] = ()


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What changed between two runs, over the ``shared`` tasks that both measured and that are still the same.

    ``added`` and ``removed`` tasks are in one of the two suites only; ``unmeasured`` ones are in both, and one of the
    runs has no verdict on them.
    """

    before: str
    after: str
    shared: int
    redefined: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    unmeasured: tuple[str, ...]
    tasks: tuple[ChangedTask, ...]
    note: str


class Reruns(msgspec.Struct, frozen=True, kw_only=True):
    """Finished runs of one commit, model, set of tasks and graders, taken together.

    ``repeats`` are those of ``runs`` that say nothing new: they have the seed of an earlier one, and its outcomes or a
    model that gives the same answers again. Their trials aren't counted twice. ``gates`` are judged over all trials
    that count, at the look that the newest run is: each earlier run in which a gate wasn't met was one. A row's
    ``error`` is the chance that any of its looks meets a bar that the agent only just misses.
    """

    commit: str
    runs: tuple[str, ...]
    trials: int
    pass_at_1: float | None
    these_tasks: Range | None
    gates: tuple[GateRow, ...]
    message: str
    repeats: tuple[str, ...] = ()


class History(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of a suite, oldest first, and what changed."""

    schema: int = SCHEMA
    suite: str
    level: float
    runs: tuple[Point, ...]
    since_last: Changes | None
    since: Changes | None
    reruns: tuple[Reruns, ...]
    findings: tuple[Finding, ...]
    judges: tuple[JudgePoint, ...] = ()

    def to_json(self) -> bytes:
        """The history as JSON, UTF-8, on one line."""
        return msgspec.json.encode(self)
