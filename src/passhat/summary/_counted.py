"""What one pass over a run's records leaves: everything that is said of the run is computed from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from passhat.facts import Manifest, TrialRecord
from passhat.suite import Gate
from passhat.summary._amounts import Amounts, kept_amounts
from passhat.summary._judging import JudgeTally
from passhat.summary._measure import unit_keys
from passhat.summary._tally import Tally, TaskTally
from passhat.summary._task_gates import TaskGates
from passhat.summary._worlds import Headline


@dataclass(frozen=True)
class Counted:
    """The counts of one arm: of its trials, of what they took, of its judges, and for the gates of its tasks."""

    manifest: Manifest
    tally: Tally
    amounts: Amounts
    judges: JudgeTally
    task_gates: TaskGates

    @classmethod
    def of(
        cls,
        manifest: Manifest,
        records: Iterable[TrialRecord],
        tally: Tally,
        gates: Sequence[Gate],
        planned: int | Mapping[str, int] | None,
    ) -> Counted:
        """Count ``records`` into an empty tally, and what is needed beside it to judge ``gates``."""
        amounts = Amounts(kept_amounts(gates), unseen=manifest.model_source == "unseen")
        counted = cls(manifest, tally, amounts, JudgeTally(), TaskGates(manifest, tally.arm))
        for record in records:
            if tally.add(record):
                amounts.see(record)
                counted.task_gates.see(record)
                counted.judges.see(record)
        tally.finish(planned)
        return counted

    @property
    def headline(self) -> Headline:
        """The tasks outside the tune split; all of them when there are no others. Tasks skipped whole are out."""
        planned = [task for task in self.tally.tasks.values() if task.planned]
        held_out = [task for task in planned if task.split != "tune"]
        tasks = ((task.task, task.family) for task in self.tally.tasks.values())
        keys = unit_keys(tasks, self.manifest.duplicate_inputs)
        return Headline(held_out or planned, self.tally.policy, keys)

    @property
    def not_needed(self) -> list[TaskTally]:
        """The held-out tasks of which no trial was run, because a run that stops early needed none."""
        tasks = self.tally.tasks.values()
        return [task for task in tasks if task.unplanned and not task.planned and task.split != "tune"]

    @property
    def tampered(self) -> str:
        """Why nothing is proved whatever the counts say: others than the runner wrote to the run's records, or to what
        its trials read; empty when neither did."""
        if self.manifest.state == "damaged" or self.manifest.tampered or self.tally.unforeseen:
            return "others wrote to the run's files"
        return "what its trials read was changed" if self.manifest.data_changed else ""
