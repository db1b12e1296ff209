"""What `evaluate` returns: both rates, their uncertainty, and what a reader must know to use them."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from passhat.facts import PasshatError, TrialRecord

if TYPE_CHECKING:
    from passhat.stats import Interval


class TaskResult(msgspec.Struct, frozen=True):
    """Counts of one task: ``n`` trials with a verdict, ``c`` successes, ``missing`` trials without a verdict."""

    n: int
    c: int
    missing: int = 0


class Rates(msgspec.Struct, frozen=True):
    """pass@1 and pass^k of a group of tasks, in 0..1, each with the bounds that missing trials leave open."""

    tasks: int
    pass_at_1: float
    pass_hat_k: float
    pass_at_1_bounds: tuple[float, float]
    pass_hat_k_bounds: tuple[float, float]


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """A result together with the record without which its numbers mean nothing."""

    model: str
    date: str  # UTC, ISO 8601
    k: int
    tasks: int
    pass_at_1: float
    pass_hat_k: float
    pass_at_1_interval: tuple[float, float]
    pass_hat_k_interval: tuple[float, float]
    passhat: str
    trials: int
    missing: int
    model_calls: int | None  # None: unseen, the agent's requests didn't pass through us
    seed: int
    failures: dict[str, int]
    notes: tuple[str, ...]
    model_version: str | None = None
    provider_version: str | None = None
    model_seed: int | None = None
    sampling: dict[str, Any] = {}

    def stale(self, *, today: datetime.date | None = None, model: str | None = None, days: int = 30) -> str:
        """Why the result no longer describes the present, in a sentence; empty while it does.

        A result describes a model at a time. It is stale when it is older than ``days`` or when ``model``, the name
        or version that is in use now, is another.
        """
        if model is not None and model not in (self.model, self.model_version):
            return f"stale: measured on {self.model_version or self.model}, and {model} is in use now"
        age = (today or datetime.datetime.now(datetime.UTC).date()) - datetime.date.fromisoformat(self.date[:10])
        if age.days > days:
            return f"stale: measured {age.days} days ago, on {self.date[:10]}; a model can change behind its name"
        return ""


@dataclass(frozen=True, kw_only=True)
class EvalResult:
    """The outcome of `evaluate`: ``tasks`` × ``k`` trials, and how often the agent succeeded.

    ``pass_at_1`` is the mean over tasks of successes / k, ``pass_hat_k`` the share of tasks that succeeded in all
    their k trials; both in 0..1. A trial that a grader couldn't judge is *missing*: the two rates count it as failed
    and ``rates.pass_at_1_bounds`` shows what it could have been. Tasks with ``split="tune"`` are not in these numbers;
    ``tune`` has theirs. ``by_task`` is keyed by task id. ``failures`` counts failed trials by kind: *timeout*,
    *provider_error* (by the agent's own exception: we saw no request), *agent_error* (with the exception's own
    ``kind`` after a colon), *predicate_false*, *predicate_error*, *grades*. ``notes`` are sentences to read beside the
    numbers. ``model_calls`` is None: requests don't pass through this door, so they are unknown and not 0.
    """

    k: int
    rates: Rates
    tune: Rates | None
    by_task: Mapping[str, TaskResult]
    by_tag: Mapping[str, Rates]
    failures: Mapping[str, int]
    trials: Sequence[TrialRecord] = field(repr=False)
    per_trial_ms: int | None
    seed: int
    date: str
    passhat: str
    distinct_tasks: int
    notes: tuple[str, ...]
    model_calls: int | None = None

    @property
    def tasks(self) -> int:
        """How many tasks the two rates are about."""
        return self.rates.tasks

    @property
    def pass_at_1(self) -> float:
        """Mean over tasks of successes / k."""
        return self.rates.pass_at_1

    @property
    def pass_hat_k(self) -> float:
        """Share of tasks that succeeded in all k trials. Never derive it as ``pass_at_1 ** k``."""
        return self.rates.pass_hat_k

    @property
    def missing(self) -> int:
        """Trials that no verdict could be given on."""
        return sum(count.missing for count in self.by_task.values())

    def interval(
        self,
        rate: Literal["pass@1", "pass^k"] = "pass@1",
        *,
        of: Literal["these tasks", "tasks like these"] = "these tasks",
        level: float = 0.95,
    ) -> Interval:
        """The interval of one of the two rates, for *these tasks* or for *tasks like these*."""
        from passhat.stats import interval

        held_out = {record.task for record in self.trials if record.split == "holdout"}
        wins = [count.c for task, count in self.by_task.items() if task in held_out]
        size = self.k if rate == "pass^k" else 1
        return interval(self.k, wins, k=size, of=of, level=level)

    def publish(
        self,
        *,
        model: str,
        model_version: str | None = None,
        provider_version: str | None = None,
        model_seed: int | None = None,
        sampling: Mapping[str, Any] | None = None,
    ) -> Published:
        """The result with its record, ready to be stored: ``msgspec.json.encode(result.publish(model=…))``.

        ``model`` names what answered, also when it was a simulation ("simulated: 85 % coin"). Raises `PasshatError`
        without it: a rate with no model attached means nothing.
        """
        if not isinstance(model, str) or not model.strip():
            raise PasshatError(f"publish(model={model!r}): name the model that answered, or the simulation of one")
        return Published(
            model=model,
            model_version=model_version,
            provider_version=provider_version,
            model_seed=model_seed,
            sampling=dict(sampling or {}),
            date=self.date,
            k=self.k,
            tasks=self.tasks,
            pass_at_1=self.pass_at_1,
            pass_hat_k=self.pass_hat_k,
            pass_at_1_interval=self.interval("pass@1").ends,
            pass_hat_k_interval=self.interval("pass^k").ends,
            passhat=self.passhat,
            trials=len(self.trials),
            missing=self.missing,
            model_calls=self.model_calls,
            seed=self.seed,
            failures=dict(self.failures),
            notes=self.notes,
        )

    def __str__(self) -> str:
        lines = [f"{self.tasks} tasks x {self.k} trials, {self.date[:10]}, passhat {self.passhat}"]
        for label, rate, value in (
            ("pass@1", "pass@1", self.pass_at_1),
            (f"pass^{self.k}", "pass^k", self.pass_hat_k),
        ):
            here, there = (
                self.interval(rate, of=of)  # type: ignore[arg-type]
                for of in ("these tasks", "tasks like these")
            )
            lines.append(
                f"{label:<8}{value:.3f}  these tasks [{here.low:.3f}, {here.high:.3f}]"
                f"  tasks like these [{there.low:.3f}, {there.high:.3f}] if they were a random sample"
            )
        if self.failures:
            lines.append("failed: " + ", ".join(f"{kind} {count}" for kind, count in self.failures.items()))
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def rates_of(counts: Sequence[TaskResult], k: int) -> Rates:
    """Both rates of some tasks, computed in exact fractions."""
    size = len(counts)

    def mean(wins: Sequence[int]) -> float:
        return float(Fraction(sum(wins), size * k))

    def whole(wins: Sequence[int]) -> float:
        return float(Fraction(sum(win == k for win in wins), size))

    low = [count.c for count in counts]
    high = [count.c + count.missing for count in counts]
    return Rates(size, mean(low), whole(low), (mean(low), mean(high)), (whole(low), whole(high)))


def count_tasks(trials: Sequence[TrialRecord]) -> dict[str, TaskResult]:
    """Counts by task id, in the order in which the tasks first appear."""
    counts: dict[str, list[int]] = {}
    for record in trials:
        row = counts.setdefault(record.task, [0, 0, 0])
        if record.passed is None:
            row[2] += 1
        else:
            row[0] += 1
            row[1] += record.passed
    return {task: TaskResult(*row) for task, row in counts.items()}


def failures_of(trials: Sequence[TrialRecord]) -> dict[str, int]:
    """How many trials failed by kind, the most frequent first."""
    return dict(Counter(_kind(record) for record in trials if record.passed is False).most_common())


def _kind(record: TrialRecord) -> str:
    if record.error is not None:
        return record.error.kind
    said_no = record.grades[0].name == "passes" and record.grades[0].passed is False
    return "predicate_false" if said_no else "grades"
