"""What a regrade says: which verdicts flipped and why, what can't be judged again, the rates before and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from passhat.facts import Grade, Role, TrialRecord

if TYPE_CHECKING:
    from passhat.records import RunReader
    from passhat.summary import Rate

Word = Literal["same", "changed", "new", "kept", "gone"]


class GradeChange(msgspec.Struct, frozen=True):
    """What one grader said of a trial in the run, and says now; ``passed`` is None for no verdict or no grade."""

    grader: str
    before: bool | None
    after: bool | None
    why_before: str = ""
    why_after: str = ""


class Flip(msgspec.Struct, frozen=True):
    """A trial whose verdict is another one now, and the grades that made it so."""

    task: str
    trial: int
    arm: str
    before: bool | None
    after: bool | None
    grades: tuple[GradeChange, ...]


class NotJudged(msgspec.Struct, frozen=True):
    """A trial that can't be judged again, and why."""

    task: str
    trial: int
    arm: str
    why: str


class TaskFlips(msgspec.Struct, frozen=True):
    """The flips of one task: trials that pass now, that fail now, that have no verdict any more."""

    task: str
    pass_now: int
    fail_now: int
    without_now: int


class ArmRates(msgspec.Struct, frozen=True):
    """pass@1 of one arm by the run's own grades and by these, and how many trials each rests on and misses."""

    arm: str
    before: Rate | None
    after: Rate | None
    counted_before: int
    counted_after: int
    missing_before: int
    missing_after: int


class Regraded(msgspec.Struct, frozen=True, kw_only=True):
    """A regrade of a run: ``run`` stays as it is, the new grades are in ``file``.

    ``graders`` says of each grader whether it is the *same* as in the run, *changed* or *new*, *kept* (it wasn't asked
    again: its grades are the run's), or *gone*. ``judged`` trials have new grades; ``without`` have none because of how
    they ended; ``unreached`` were left when the regrade was interrupted. ``other_answers`` are tasks whose expected
    answer isn't the run's. ``files_changed`` are files that grading imports and that are new or changed since the
    run began, by the user or by an agent, and ``changed_at`` when that was (UTC): a grader whose own source is the
    *same* may call what is in them. ``judge_models`` could be asked now,
    ``judge_models_then`` in the run; ``dollars`` is what judges spent, None when unknown.
    """

    id: str
    run: str
    suite: str
    file: str
    isolation: str
    graders: dict[str, Word]
    judged: int
    without: int
    unreached: int
    flips: tuple[Flip, ...]
    by_task: tuple[TaskFlips, ...]
    scores_changed: int
    not_judged: tuple[NotJudged, ...]
    other_answers: tuple[str, ...]
    rates: tuple[ArmRates, ...]
    files_changed: tuple[str, ...] = ()
    changed_at: dict[str, str] = {}
    judge_models: tuple[str, ...] = ()
    judge_models_then: tuple[str, ...] = ()
    judge_calls: int = 0
    dollars: float | None = None
    interrupted: bool = False
    schema: int = 1

    @property
    def path(self) -> Path:
        """The file with the new grades."""
        return Path(self.file)

    @property
    def whole(self) -> bool:
        """Whether every trial that graders look at has a new verdict."""
        return not (self.unreached or self.not_judged)


class Changes:
    """Collects what changes, trial by trial."""

    def __init__(self) -> None:
        self.judged = self.without = self.scores = 0
        self.flips: list[Flip] = []
        self.not_judged: list[NotJudged] = []

    def see(self, old: TrialRecord, new: TrialRecord) -> None:
        """A trial that was judged again."""
        self.judged += 1
        self.scores += old.score != new.score
        if old.passed is not new.passed:
            changed = tuple(_changed(old.grades, new.grades))
            self.flips.append(Flip(old.task, old.trial, old.arm, old.passed, new.passed, changed))

    def cannot(self, record: TrialRecord, why: str) -> None:
        """A trial that can't be."""
        self.not_judged.append(NotJudged(record.task, record.trial, record.arm, why))

    def sort(self, tasks: Sequence[str]) -> None:
        """Bring the flips into the order of the run's tasks."""
        place = {task: number for number, task in enumerate(tasks)}
        self.flips.sort(key=lambda flip: (place.get(flip.task, len(place)), flip.arm, flip.trial))

    def by_task(self) -> tuple[TaskFlips, ...]:
        """The flips, counted by task."""
        counts: dict[str, Counter[bool | None]] = {}
        for flip in self.flips:
            counts.setdefault(flip.task, Counter())[flip.after] += 1
        return tuple(TaskFlips(task, now[True], now[False], now[None]) for task, now in counts.items())


def _changed(before: Sequence[Grade], after: Sequence[Grade]) -> Iterable[GradeChange]:
    """The deciding grades that differ."""
    old = {grade.name: grade for grade in before if grade.role is not Role.ADVISORY}
    new = {grade.name: grade for grade in after if grade.role is not Role.ADVISORY}
    for name in dict.fromkeys([*old, *new]):
        one, two = old.get(name), new.get(name)
        passed = (None if one is None else one.passed, None if two is None else two.passed)
        if passed[0] is not passed[1] or (one is None) != (two is None):
            yield GradeChange(name, *passed, _why(one), _why(two))


def _why(grade: Grade | None) -> str:
    if grade is None:
        return "no such grade"
    return grade.error or grade.reason


def grader_words(before: Mapping[str, str], now: Mapping[str, str], chosen: Sequence[str]) -> dict[str, Word]:
    """What became of each grader. ``chosen`` are those asked again, all when empty.

    >>> grader_words({"a": "1", "b": "1", "c": "1"}, {"a": "1", "b": "2", "d": "1"}, ())
    {'a': 'same', 'b': 'changed', 'd': 'new', 'c': 'gone'}
    >>> grader_words({"a": "1", "b": "1"}, {"a": "2", "b": "2"}, ("a",))
    {'a': 'changed', 'b': 'kept'}
    """
    words: dict[str, Word] = {}
    for name, version in now.items():
        if not chosen or name in chosen:
            words[name] = "new" if name not in before else "same" if before[name] == version else "changed"
    for name in before:
        if name not in words:
            words[name] = "kept" if chosen else "gone"
    return words


def rates_of(reader: RunReader, grades: str) -> tuple[ArmRates, ...]:
    """pass@1 of each arm, by the run's own grades and by those of a regrade."""
    from passhat.summary import summarize

    manifest, rows = reader.manifest, []
    for arm in manifest.arms:
        before = summarize(manifest, reader.trials(), arm=arm, gates=())
        after = summarize(manifest, reader.trials(grades=grades), arm=arm, gates=())
        counts = (before.trials.counted, after.trials.counted, before.trials.missing, after.trials.missing)
        rows.append(ArmRates(arm, before.rate(1), after.rate(1), *counts))
    return tuple(rows)
