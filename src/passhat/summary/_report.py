"""The one object that holds what a run's numbers say. Encoded as JSON it is ``report --json``.

Rates, scores and shares are in 0..1, intervals are [low, high], times in seconds, money in US dollars. None is
*unknown* or *refused*, never 0; a finding says why.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from passhat.facts import Manifest, MetricValue, ModelSource
from passhat.stats import OrderVerdict
from passhat.summary._exit_codes import ExitCode
from passhat.summary._tables import ErrorRow, GraderRate, GroupRow, Judging, Range, Reading, TaskRow, UsageTotals

SCHEMA = 1
MissingPolicy = Literal["bound", "fail", "exclude", "exclude-provider"]
Severity = Literal["error", "warning", "note"]
GateVerdict = Literal["met", "not met", "undecided", "incomplete"]


class TrialCounts(msgspec.Struct, frozen=True):
    """How many trials were planned, have a verdict, and have none; and what the latter count as."""

    planned: int
    counted: int
    missing: int
    policy: MissingPolicy


class Rate(msgspec.Struct, frozen=True):
    """pass@k or pass^k of the suite: the mean over tasks of their unbiased estimates, each from its own trials.

    ``these_tasks`` allows for the noise of trials only, ``tasks_like_these`` for the choice of tasks too (None
    where that can't be claimed). ``if_missing`` is the estimate if every missing trial had failed, and if every one had
    passed; None when nothing is missing. ``estimate`` is None when k is beyond the trials there are.
    """

    k: int
    estimate: float | None
    these_tasks: Range | None
    tasks_like_these: Range | None
    if_missing: Range | None
    method: str


class Score(msgspec.Struct, frozen=True):
    """Partial credit: the mean over tasks of their mean score. ``n`` is the number of trials behind it.

    ``partial_credit`` is False when every score was 0 or 1 and equal to the trial's verdict: it then repeats pass@1.
    """

    estimate: float
    these_tasks: Range
    tasks_like_these: Range | None
    if_missing: Range | None
    n: int
    partial_credit: bool
    method: str


class OrderRow(msgspec.Struct, frozen=True):
    """Whether results depend on the order of trials. ``p`` is Bonferroni's over the ``tests``, None if not testable.

    ``note`` is what was found, or the power that there was to find it, or why it can't be tested. ``tests`` has the p
    value of each: "runs" (a result repeats the one before), "trend" (drift), "rounds" (an outage of all tasks).
    """

    verdict: OrderVerdict
    note: str
    p: float | None
    tests: dict[str, float]


class Finding(msgspec.Struct, frozen=True):
    """Something a reader has to know before using the numbers. ``tasks`` names the tasks it is about, if it is."""

    rule: str
    severity: Severity
    message: str
    tasks: tuple[str, ...] = ()


class GateRow(msgspec.Struct, frozen=True):
    """A gate and what the trials make of it.

    ``bound`` is the one-sided bound that decided (the proving one while undecided), None where the rate has no
    bound. ``looks`` says which look at the gate this is: earlier runs of the same code that didn't meet it count, and
    so do trials that were added. ``level`` is that of this look; ``error`` is the chance that one of all looks meets a
    bar that the agent only just misses. ``message`` says it in words. Of an undecided gate ``needed_trials`` says
    about how many trials of each task would decide it at its next look if the rates stayed as they are, and
    ``needed_tasks`` how many tasks, of a gate about tasks like these; None where that isn't known, or far too many.
    """

    gate: str
    verdict: GateVerdict
    bound: float | None
    looks: int
    estimate: float | None
    level: float
    message: str
    error: float | None = None
    task: str = ""  # the task that it is about alone; all of them where empty
    needed_trials: int | None = None
    needed_tasks: int | None = None

    @property
    def label(self) -> str:
        """The gate, and the task where it is about one."""
        return f"{self.gate} in {self.task}" if self.task else self.gate


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All that a run says. ``tasks`` is the number of tasks in the headline: those of split *tune* stand apart.

    ``order`` says whether trials depend on those before them, None where no task has two trials. ``flip_rate`` is the
    share of tasks (with at least 2 trials) that both passed and failed. ``failures`` and ``missing`` count trials by
    status; *completed* among the failures are those that a grader failed. ``undecided`` is what an undecided gate
    counts as.
    """

    schema: int = SCHEMA
    title: str
    run: Manifest
    arm: str
    asked: str
    model_source: ModelSource
    isolation: str
    tasks: int
    trials: TrialCounts
    level: float
    pass_at: tuple[Rate, ...]
    pass_hat: tuple[Rate, ...]
    score: Score | None
    order: OrderRow | None
    flip_rate: float | None
    verdicts: dict[str, int]
    graders: tuple[GraderRate, ...]
    by_task: tuple[TaskRow, ...]
    by_tag: tuple[GroupRow, ...]
    by_split: tuple[GroupRow, ...]
    failures: dict[str, int]
    missing: dict[str, int]
    errors: tuple[ErrorRow, ...]
    usage: UsageTotals
    findings: tuple[Finding, ...]
    gates: tuple[GateRow, ...]
    undecided: Literal["pass", "fail"]
    exit_code: int
    exit_reason: str = ""  # why it isn't 0
    metrics: tuple[MetricValue, ...] = ()  # what the suite's metrics said when the run ended
    refused_files: tuple[str, ...] = ()  # not imported by graders, since they changed after the run had begun
    regrade: str | None = None  # the id of the regrade whose grades these are; None is the run's own
    judging: Judging | None = None  # None where no model judged
    reading: Reading | None = None  # None where nobody could have read it: a table, a run that is still in memory

    def rate(self, k: int, *, hat: bool = False) -> Rate | None:
        """pass@k (pass^k with ``hat=True``), or None when the report doesn't have it."""
        return next((rate for rate in (self.pass_hat if hat else self.pass_at) if rate.k == k), None)

    @property
    def conservative_ks(self) -> range:
        """The k above 1 that are more than half of the trials of a task, as far as the report has them; often none.

        Their intervals about these tasks follow the rule nT/k, which widens with k whatever the agent does.
        """
        ns = [row.n for row in self.by_task if row.n and row.split != "tune"] or [
            row.n for row in self.by_task if row.n
        ]
        least = min(ns, default=0)
        found = range(max(2, least // 2 + 1), least + 1)
        return found if any(row.k in found and "bound rule" in row.method for row in self.pass_hat) else range(0)

    @property
    def gates_verdict(self) -> GateVerdict | None:
        """One word for all gates, as far as they bear on the exit code; None where there are none."""
        if not self.gates:
            return None
        failed: dict[int, GateVerdict] = {ExitCode.GATE_NOT_MET: "not met", ExitCode.INCOMPLETE: "incomplete"}
        undecided = any(row.verdict == "undecided" for row in self.gates)
        return failed.get(self.exit_code, "undecided" if undecided else "met")

    @property
    def pass_at_1(self) -> float | None:
        """The mean success rate, None when no trial counts."""
        first = self.rate(1)
        return None if first is None else first.estimate

    def to_json(self) -> bytes:
        """The report as JSON, UTF-8, on one line."""
        return msgspec.json.encode(self)
