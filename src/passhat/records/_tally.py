"""Counts a task and totals a run, kept while records go by."""

from __future__ import annotations

from passhat.facts import Manifest, TaskCount, TrialRecord, Usage

_NOTHING = Usage()


class Tally:
    """What the records so far add up to, in memory that depends on the number of tasks only."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], list[int]] = {}  # n, c, missing, not planned
        self._usage = Usage()
        self._judges = Usage()
        self.records = 0

    def add(self, record: TrialRecord) -> None:
        """Count one record; what its earlier attempts spent was spent too."""
        count = self._counts.setdefault((record.arm, record.task), [0, 0, 0, 0])
        if not record.counts:
            count[3] += 1
        elif record.passed is None:
            count[2] += 1
        else:
            count[0] += 1
            count[1] += record.passed
        spent = [record.usage, *[attempt.usage for attempt in record.attempts]]
        if any(usage != _NOTHING for usage in spent):
            self._usage = Usage.total([self._usage, *spent])
        if record.judge_usage != _NOTHING:
            self._judges = Usage.total([self._judges, record.judge_usage])
        self.records += 1

    @property
    def usage(self) -> Usage:
        """What all records spent together."""
        return self._usage

    @property
    def judge_usage(self) -> Usage | None:
        """What judges spent on all records; None when none was asked."""
        return self._judges if self._judges.model_calls else None

    def counts(self, manifest: Manifest) -> tuple[TaskCount, ...]:
        """One count a task and arm, in the manifest's order; a planned trial without a record is missing."""
        planned = [(arm, task) for arm in manifest.arms for task in manifest.task_ids]
        known = set(planned)
        rest = [] if manifest.plan_is_whole else [key for key in self._counts if key not in known]
        rows = []
        for key in [*planned, *rest]:
            n, c, missing, unplanned = self._counts.get(key, (0, 0, 0, 0))
            if key in known:
                missing = max(missing, manifest.planned(key[1], key[0]) - n - unplanned)
            rows.append(TaskCount(key[1], n, c, missing, key[0]))
        return tuple(rows)
