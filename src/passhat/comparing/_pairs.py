"""Which tasks can be compared, and why the others can't."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from passhat.comparing._result import Blocked, TaskPair
from passhat.facts import count
from passhat.summary import ArmCounts, Report, TaskRow, unit_keys

World = Literal["counted", "worst", "best"]
"""As counted; or as bad, or as good, for the candidate as the trials without a verdict allow."""


@dataclass(frozen=True)
class Pair:
    """One task with a verdict on both sides. ``unit`` is the independent unit that the task belongs to."""

    before: TaskRow
    after: TaskRow
    unit: tuple[str, str]
    bounded: bool

    @property
    def task(self) -> str:
        """The task's id."""
        return self.before.task

    @property
    def both(self) -> ArmCounts:
        """The counts of both sides."""
        one, two = self.before, self.after
        return ArmCounts(one.n, one.c, one.missing, two.n, two.c, two.missing)

    def counts(self, world: World = "counted") -> tuple[int, int, int, int]:
        """(trials, passed) before, then after."""
        return self.both.counts(world if self.bounded else "counted")

    @property
    def difference(self) -> float:
        """The candidate's pass rate minus the baseline's."""
        n1, c1, n2, c2 = self.counts()
        return c2 / n2 - c1 / n1

    @property
    def row(self) -> TaskPair:
        """As it is stored."""
        n1, c1, n2, c2 = self.counts()
        return TaskPair(self.task, (c1, n1), (c2, n2), self.before.tags or self.after.tags)


@dataclass(frozen=True)
class Pairs:
    """The tasks of both sides, in the baseline's order. ``hand_picked``: they are no sample of anything."""

    pairs: Sequence[Pair]
    blocked: Sequence[Blocked]
    hand_picked: bool

    @property
    def units(self) -> int:
        """Independent units: families, and tasks that ask the same thing, count once."""
        return len({pair.unit for pair in self.pairs})

    @property
    def missing(self) -> int:
        """Trials without a verdict, on both sides, among the tasks compared."""
        return sum(pair.before.missing + pair.after.missing for pair in self.pairs if pair.bounded)

    def with_tag(self, tag: str) -> list[Pair]:
        """The pairs whose task has a tag."""
        return [pair for pair in self.pairs if tag in pair.row.tags]

    @property
    def tags(self) -> list[str]:
        """All tags, in alphabetical order."""
        return sorted({tag for pair in self.pairs for tag in pair.row.tags})


def pair_up(before: Report, after: Report) -> Pairs:
    """Put the tasks of two reports side by side, those of split *tune* left out where there are others."""
    one, two = (_headline(report) for report in (before, after))
    keys = unit_keys(
        ((row.task, row.family) for row in one.values()),
        (*before.run.duplicate_inputs, *after.run.duplicate_inputs),
    )
    bounded = "bound" in (before.trials.policy, after.trials.policy) or "exclude-provider" in (
        before.trials.policy,
        after.trials.policy,
    )
    pairs, blocked = [], []
    for task in dict.fromkeys((*one, *two)):
        reason = _reason(one.get(task), two.get(task))
        if reason:
            blocked.append(Blocked(task, reason))
        else:
            pairs.append(Pair(one[task], two[task], keys[task], bounded))
    return Pairs(pairs, blocked, before.run.hand_picked or after.run.hand_picked)


def _headline(report: Report) -> dict[str, TaskRow]:
    rows = {row.task: row for row in report.by_task if row.n or row.missing}
    held_out = {name: row for name, row in rows.items() if row.split != "tune"}
    return held_out or rows


def _reason(before: TaskRow | None, after: TaskRow | None) -> str:
    """Why a task can't be compared; empty when it can."""
    sides = (("baseline", before), ("candidate", after))
    absent = [side for side, row in sides if row is None]
    if absent:
        return f"not in the {absent[0]}"
    silent = [f"{side}: no verdict, {count(row.missing, 'trial')} missing" for side, row in sides if row and not row.n]
    return "; ".join(silent)
