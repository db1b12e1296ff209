"""What a run measured, how, and when: the content of ``run.json``."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from passhat.facts._limits import Limits
from passhat.facts._metric_values import MetricValue
from passhat.facts._usage import Usage

EVERY_TRIAL = "every trial"  # the gate of a task of which all trials must pass
ONLY_RECORDED = "none"  # that of a task whose outcomes bear on nothing
NO_MODEL = "none"  # the model of a suite whose agent asks none
ModelSource = Literal["scripted", "simulated", "replayed", "live", "mixed", "unseen"]
FELL_BACK = "each trial started a fresh interpreter, because "
"""How the note of `Manifest.isolation_notes` begins that says why no process was kept warm; the reason follows."""
SCHEMA = 1


class GitState(msgspec.Struct, frozen=True):
    """The commit of the project under test; ``dirty`` when the working tree differed from it, None when git can't tell.

    ``changes`` is a hash of how it differed; empty when it didn't, or when that isn't known.
    """

    commit: str
    dirty: bool | None
    changes: str = ""

    @property
    def name(self) -> str:
        """The commit, with "+" when the tree differed from it and "?" when that isn't known."""
        return self.commit + ("?" if self.dirty is None else "+" * self.dirty)


class TaskCount(msgspec.Struct, frozen=True):
    """Counts of one task (of one arm) when the run ended: n counted, c successes, missing without a verdict."""

    task: str
    n: int
    c: int
    missing: int = 0
    arm: str = ""


class TaskGate(msgspec.Struct, frozen=True):
    """What one task has to reach by itself: the rule of one test in a session of tests.

    ``gate`` is a gate's text, or `EVERY_TRIAL`, or `ONLY_RECORDED`. ``undecided`` is what an undecided gate counts as,
    ``model_source`` who answered this task. ``xfail`` is "may fail" or "must fail" for a test that is expected to;
    ``broken`` says why a test could judge nothing.
    """

    task: str
    gate: str
    arm: str = ""
    undecided: Literal["pass", "fail"] = "fail"
    model_source: ModelSource = "unseen"
    xfail: Literal["", "may fail", "must fail"] = ""
    broken: str = ""

    @property
    def has_bar(self) -> bool:
        """Whether ``gate`` is a gate's text: a bound decides, and each look at it counts."""
        return self.gate not in (EVERY_TRIAL, ONLY_RECORDED)

    @property
    def key(self) -> str:
        """What looks at it are kept under, beside those at gates of the whole run."""
        return f"{self.gate} in {self.task}"


class Damage(msgspec.Struct, frozen=True):
    """A file of the run that wasn't as its one writer had left it, as the writer found when it looked.

    While nobody has gone on with the run, only the first ``records`` bytes of ``trials.jsonl`` are its writer's, and
    ``digest`` is their hash; None says that all of the file is. ``lasting``: what was changed can't be cut off, because
    nobody knows how it was; so is each change of ``run.json``, which was written anew only when its writer looked.
    """

    file: str
    problem: str
    records: int | None = None
    digest: str = ""
    lasting: bool = False


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything needed to know what a run's numbers describe. Times are UTC in ISO 8601, hashes SHA-256 in hex."""

    run_id: str
    suite: str
    schema: int = SCHEMA
    passhat: str = ""
    started: str = ""
    ended: str | None = None
    state: Literal["running", "finished", "interrupted", "stopped", "damaged"] = "running"
    stop_reason: str | None = None
    damages: tuple[Damage, ...] = ()  # files that others wrote to while this ran
    source_file: str | None = None  # "evals/eval_support.py", relative to the project, and "::suite"
    kind: Literal["capability", "regression"] = "capability"
    asked: Literal["scripted", "structural", "evaluation"] = "evaluation"
    model_source: ModelSource = "unseen"  # who answered; who is to answer while the run has never finished
    source_planned: ModelSource | None = None  # who was to answer
    isolation: str = "inline"
    containment: str = "none"  # "proved", "kernel", "best effort", "none"
    guard: str = ""  # barred from acting outside: "guard" (no signals, no tracing), "confine" (no writing), "none"
    isolation_notes: tuple[str, ...] = ()  # why it isn't what was asked for; packages that no server kept warm
    model_requested: str | None = None
    judge_models: tuple[str, ...] = ()  # PROVIDER/NAME of the models that judge, the run's own first
    judge_source: ModelSource | None = None  # who answered the judges; None without any
    models_reported: dict[str, int] = {}  # "name@fingerprint" -> number of calls
    sampling: dict[str, list[Any]] = {}  # setting seen on the wire -> its distinct values
    trials: int = 1
    trials_of: dict[str, dict[str, int]] = {}  # arm -> task -> trials meant for it, where that isn't ``trials``
    task_ids: tuple[str, ...] = ()
    task_tags: dict[str, tuple[str, ...]] = {}
    task_splits: dict[str, str] = {}  # of the tasks whose split isn't "holdout"
    task_families: dict[str, str] = {}  # of the tasks that belong to a family
    arms: tuple[str, ...] = ("",)
    baseline: str | None = None
    seed: int = 0
    order: Literal["task", "round", "shuffled"] = "round"
    stop: Literal["full", "when-decided"] = "full"  # whether trials that can change no verdict are left out
    batches: tuple[tuple[str, ...], ...] = ()  # tasks before each planned look at a comparison that may stop early
    concurrency: int = 1
    limits: Limits = Limits()
    missing_policy: str = "bound"
    level: float = 0.95
    gates: tuple[str, ...] = ()
    task_gates: tuple[TaskGate, ...] = ()  # of tasks that are judged one by one, once their trials have ended
    undecided: Literal["pass", "fail"] | None = None
    tasks_hash: str = ""
    task_hashes: dict[str, str] = {}  # task id -> hash of everything that defines the task
    input_hashes: dict[str, str] = {}  # task id -> hash of what the agent was asked
    duplicate_inputs: tuple[tuple[str, ...], ...] = ()  # groups of task ids that ask the same thing
    graders: dict[str, str] = {}  # name -> hash of its source
    files: dict[str, str] = {}  # project files that the agent's process imported -> hash
    importable: tuple[
        str, ...
    ] = ()  # other Python files that could be imported then; at most the 1000 next to the suite
    data: dict[str, str] = {}  # the suite's tasks file, template and data -> hash when the run began
    data_changed: tuple[str, ...] = ()  # those that were different when it ended, or was resumed
    git: GitState | None = None
    sampled_from: str | None = None
    hand_picked: bool = False
    owner: str | None = None
    variance: tuple[str, ...] = ()  # declared or seen sources of variance
    host: str = ""
    platform: str = ""
    python: str = ""
    counts: tuple[TaskCount, ...] = ()
    metrics: dict[str, tuple[MetricValue, ...]] = {}  # arm -> what the suite's metrics said when the run ended
    usage: Usage | None = None
    judge_usage: Usage | None = None  # what judges spent, beside ``usage``
    seconds: float | None = None
    resumed: int = 0

    def planned(self, task: str, arm: str = "") -> int:
        """How many trials of a task were meant to be run in an arm.

        >>> run = Manifest(run_id="r", suite="s", trials=8, trials_of={"": {"short": 3}})
        >>> run.planned("short"), run.planned("long")
        (3, 8)
        """
        return self.trials_of.get(arm, {}).get(task, self.trials)

    @property
    def plan_is_whole(self) -> bool:
        """Whether the plan names every trial that was meant: tests may become known only as they run."""
        return bool(self.task_ids) and (self.ended is not None or bool(self.task_hashes))

    @property
    def damage(self) -> Damage | None:
        """What ended the run, if others wrote to its files and it wasn't resumed since."""
        last = self.damages[-1] if self.damages else None
        return last if last is not None and last.records is not None else None

    @property
    def tampered(self) -> bool:
        """Whether others wrote to the run's files, and a resume hasn't made good for it or can't."""
        return self.damage is not None or any(each.lasting or each.file == "run.json" for each in self.damages)

    @property
    def main_arm(self) -> str:
        """The baseline; without one the first arm."""
        return self.baseline if self.baseline is not None and self.baseline in self.arms else self.arms[0]
