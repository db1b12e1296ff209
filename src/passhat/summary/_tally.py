"""Counts a run in one pass over its records, in memory that grows with the tasks and not with the trials."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from passhat.facts import RULES, Counts, Grade, Manifest, Role, Status, TrialRecord, refused_files
from passhat.records import BY_CHANGED, NOT_JUDGED
from passhat.summary._report import MissingPolicy
from passhat.summary._spend import Spend
from passhat.summary._tables import Example

PASSED, FAILED, MISSING = "+", "-", "?"
SHOWN_OUTCOMES = 100
_BITS = 1 << 16
_KINDS = 50
_REASON = 500


def _acted_before(record: TrialRecord) -> bool:
    """Whether its agent had a try before this one; an earlier grading is none."""
    return any(RULES[attempt.status].again != "grading only" for attempt in record.attempts)


class GraderTally:
    """What one grader said of one task."""

    __slots__ = (
        "above_none",
        "below_one",
        "error",
        "errors",
        "example",
        "n",
        "passed",
        "role",
        "score",
        "scored",
        "unknown",
    )

    def __init__(self, role: str) -> None:
        self.role = role
        self.n = self.passed = self.errors = self.unknown = self.scored = 0
        self.below_one = self.above_none = 0  # passes that scored less than 1, failures that scored more than 0
        self.score = 0.0
        self.example: Example | None = None
        self.error: str | None = None

    def add(self, record: TrialRecord, grade: Grade) -> None:
        """Count one grade; keep the first failure and the first error to show."""
        if grade.error is not None:
            self.errors += 1
            self.error = self.error or grade.error[:_REASON]
        elif grade.passed is None:
            self.unknown += grade.judged is None or grade.judged.verdict is None
        else:
            self.n += 1
            self.passed += grade.passed
        if grade.error is None and (value := grade.score_value) is not None:
            self.score += value
            self.scored += 1
            self.below_one += grade.passed is True and value < 1
            self.above_none += grade.passed is False and value > 0 and grade.judged is None
        if self.example is None and grade.passed is False:
            self.example = Example(record.task, record.trial, grade.reason[:_REASON])


class TaskTally:
    """The counts of one task: n trials with a verdict, c passed, ``missing`` without one."""

    def __init__(self, task: str, split: str, family: str | None, tags: tuple[str, ...]) -> None:
        self.task = task
        self.split = split
        self.family = family
        self.tags = tags
        self.n = self.c = self.missing = self.ran = self.unplanned = 0
        self.failed_anyway = self.ungraded = 0  # trials on which a grader failed: with a verdict all the same, without
        self.provider = 0  # failures that are the provider's
        self.score = 0.0
        self.scored = self.unscored_failures = 0
        self.partial_credit = False
        self.seconds = 0.0
        self.spend = Spend()
        self.graders: dict[str, GraderTally] = {}
        self.fingerprint = ""
        self.fingerprints = 0
        self.same_fingerprint = True
        self._outcomes: dict[int, str] = {}
        self._seen = 0
        self._seen_far: set[int] = set()

    @property
    def planned(self) -> int:
        """Trials that were meant to be run: those with a verdict and those without."""
        return self.n + self.missing

    @property
    def outcomes(self) -> str:
        """One sign a trial, in trial order."""
        known = "".join(self._outcomes[trial] for trial in sorted(self._outcomes))
        return (known + MISSING * (self.planned - len(known)))[:SHOWN_OUTCOMES]

    def first_time(self, trial: int) -> bool:
        """Whether this trial wasn't counted before; it is now."""
        if trial >= _BITS:
            known = trial in self._seen_far
            self._seen_far.add(trial)
            return not known
        known = bool(self._seen >> trial & 1)
        self._seen |= 1 << trial
        return not known

    def see(self, trial: int, passed: bool | None) -> None:
        """Count one verdict."""
        if passed is None:
            self.missing += 1
        else:
            self.n += 1
            self.c += passed
        if trial < SHOWN_OUTCOMES:
            self._outcomes[trial] = MISSING if passed is None else PASSED if passed else FAILED

    def see_score(self, passed: bool | None, score: float | None) -> None:
        """Count a trial's score. A failure that no grader scored is worth 0; a missing trial isn't counted."""
        if passed is None:
            return
        if score is None:
            self.unscored_failures += not passed
            return
        self.score += score
        self.scored += 1
        self.partial_credit |= score != float(passed)

    def see_fingerprint(self, fingerprint: str) -> None:
        """Remember whether all transcripts were the same."""
        self.same_fingerprint &= bool(fingerprint) and fingerprint == (self.fingerprint or fingerprint)
        self.fingerprint = fingerprint
        self.fingerprints += 1


ErrorKey = tuple[str, str, str, bool, str]  # status, kind, type, missing, message without its particulars


def _stem(message: str) -> str:
    """The message without numbers and quoted values, so that the same fault of many trials is one row."""
    return re.sub(r"\d+|'[^']*'|\"[^\"]*\"", "…", message)[:80]


class SplitTally:
    """How the trials of one split ended."""

    def __init__(self) -> None:
        self.failures: Counter[str] = Counter()
        self.missing: Counter[str] = Counter()
        self.errors: Counter[ErrorKey] = Counter()
        self.examples: dict[ErrorKey, Example] = {}

    def see(self, record: TrialRecord, status: Status, passed: bool | None) -> None:
        """Count a trial that didn't pass."""
        if passed:
            return
        missing = passed is None
        (self.missing if missing else self.failures)[status.value] += 1
        if record.error is None:
            return
        key = (status.value, record.error.kind, record.error.type, missing, _stem(record.error.message))
        if key not in self.examples and len(self.examples) >= _KINDS:
            key = (status.value, "other", "", missing, "")
        self.errors[key] += 1
        self.examples.setdefault(key, Example(record.task, record.trial, record.error.message[:_REASON]))


class Tally:
    """All counts of one arm of a run."""

    def __init__(
        self,
        manifest: Manifest,
        *,
        arm: str,
        policy: MissingPolicy,
        watch: Iterable[tuple[str, int]] = (),
        open_ended: bool = False,
    ) -> None:
        """``open_ended``: whatever is recorded was meant to be run, whether the manifest names it or not."""
        self.arm = arm
        self.policy = policy
        self.watched: dict[tuple[str, int], tuple[bool | None, str]] = {}  # of trials to ``watch``: verdict and start
        self._watch = frozenset(watch)
        self.unforeseen: Counter[str] = Counter()  # by task: records of trials that nobody meant to run
        self._whole = manifest.plan_is_whole and not open_ended
        self.not_regraded = 0
        self.changed_code: Counter[str] = Counter()  # file and time: trials that a regrade judged by it
        self.refused: dict[str, None] = {}  # files that graders weren't allowed to import, in the order found
        self.retried = 0
        self.passed_later = 0
        self.other_arms: Counter[str] = Counter()
        self.splits: dict[str, SplitTally] = {}
        self._manifest = manifest
        self.tasks: dict[str, TaskTally] = {task: self._new(task) for task in manifest.task_ids}

    def _new(self, task: str, record: TrialRecord | None = None) -> TaskTally:
        facts = self._manifest
        split = facts.task_splits.get(task, record.split if record else "holdout")
        family = facts.task_families.get(task, record.family if record else None)
        return TaskTally(task, split, family, facts.task_tags.get(task, record.tags if record else ()))

    def add(self, record: TrialRecord) -> bool:
        """Count a record. Whether it is of the arm, and was meant to be run; of the others only the number is kept.

        Raises ValueError for a trial that occurs twice or has a negative number.
        """
        if record.arm != self.arm:
            self.other_arms[record.arm] += record.counts
            return False
        if self._whole and not self._foreseen(record):
            self.unforeseen[record.task] += 1
            return False
        self._add(record)
        return True

    def _foreseen(self, record: TrialRecord) -> bool:
        return record.task in self.tasks and record.trial < self._manifest.planned(record.task, self.arm)

    def _add(self, record: TrialRecord) -> None:
        task = self.tasks.get(record.task)
        if task is None:
            task = self.tasks[record.task] = self._new(record.task, record)
        elif not task.ran and not task.unplanned:
            self._learn(task, record)
        if record.trial < 0:
            raise ValueError(f"task {record.task!r} has a trial numbered {record.trial}; trials count from 0")
        if not task.first_time(record.trial):
            raise ValueError(f"trial {record.trial} of task {record.task!r} is recorded twice; each may occur once")
        self._spend(task, record)
        if RULES[record.status].counts is Counts.NOT_PLANNED:
            task.unplanned += 1
            return
        task.ran += 1
        self.not_regraded += any(note.startswith(NOT_JUDGED) for note in record.notes)
        self.changed_code.update(note.removeprefix(BY_CHANGED) for note in record.notes if note.startswith(BY_CHANGED))
        passed = self._judge(record)
        if passed is None:
            self.refused.update(dict.fromkeys(file for grade in record.grades for file in refused_files(grade.error)))
        self.passed_later += passed is True and _acted_before(record)
        task.see(record.trial, passed)
        task.provider += passed is False and record.status is Status.PROVIDER_ERROR
        if any(grade.error is not None and grade.role is not Role.ADVISORY for grade in record.grades):
            task.failed_anyway += passed is False
        task.ungraded += passed is None and record.status is Status.GRADER_ERROR
        if (record.task, record.trial) in self._watch:
            self.watched[record.task, record.trial] = passed, record.started
        task.see_score(passed, record.score)
        task.see_fingerprint(record.fingerprint)
        for grade in record.grades:
            name = grade.name or "grader"
            if name not in task.graders:
                task.graders[name] = GraderTally(grade.role.value)
            task.graders[name].add(record, grade)
        self.splits.setdefault(task.split, SplitTally()).see(record, record.status, passed)

    @staticmethod
    def _learn(task: TaskTally, record: TrialRecord) -> None:
        """Take from a task's first record what the manifest didn't tell."""
        task.tags = task.tags or record.tags
        task.family = task.family or record.family
        if task.split == "holdout":
            task.split = record.split

    def _spend(self, task: TaskTally, record: TrialRecord) -> None:
        task.spend.add(record.usage)
        task.seconds += record.seconds
        for attempt in record.attempts:
            task.spend.add(attempt.usage)
            task.seconds += attempt.seconds
        self.retried += len(record.attempts)

    def _judge(self, record: TrialRecord) -> bool | None:
        """What a trial counts as: by the status table, and by the policy for provider errors."""
        counts = RULES[record.status].counts
        if record.status is Status.PROVIDER_ERROR and self.policy == "exclude-provider":
            counts = Counts.MISSING
        if counts is Counts.FAILURE:
            return False
        if counts is Counts.MISSING or (counts is Counts.MISSING_UNLESS_FAILED and record.passed is not False):
            return None
        return record.passed

    def finish(self, planned: int | Mapping[str, int] | None) -> None:
        """Count as missing what was planned and has no record."""
        for task in self.tasks.values():
            wanted = self._planned(planned, task.task)
            absent = max(0, wanted - task.ran - task.unplanned)
            if absent:
                task.missing += absent
                self.splits.setdefault(task.split, SplitTally()).missing[Status.NOT_STARTED.value] += absent

    def _planned(self, planned: int | Mapping[str, int] | None, task: str) -> int:
        if isinstance(planned, int):
            return planned
        meant = self._manifest.planned(task, self.arm)
        return meant if planned is None else planned.get(task, meant)
