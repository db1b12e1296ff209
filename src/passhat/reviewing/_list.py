"""Which trials to read, in which order, and why each."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Sequence
from typing import Literal, get_args

import msgspec

from passhat.facts import TrialKey, TrialRecord, derive_seed, grouped, interleaved
from passhat.reviewing._disputes import disputes
from passhat.reviewing._draw import spread
from passhat.reviewing._errors import ReviewError

Kind = Literal["failed", "disputed", "passed", "random"]
KINDS: tuple[Kind, ...] = get_args(Kind)
DEFAULT_PASSED = 10
DEFAULT_RANDOM = 60


class ReadingItem(msgspec.Struct, frozen=True):
    """One trial to read. ``sample`` and ``probability`` go onto its label; ``why`` is for the person who reads."""

    arm: str
    task: str
    trial: int
    sample: str
    why: str = ""
    probability: float | None = None

    @property
    def key(self) -> TrialKey:
        """The trial."""
        return self.arm, self.task, self.trial


def reading_list(
    records: Iterable[TrialRecord],
    *,
    kinds: Collection[Kind] | None = None,
    passed: int = DEFAULT_PASSED,
    drawn: int = DEFAULT_RANDOM,
    seed: int = 0,
    grader: str = "",
    tasks: Collection[str] = (),
    arm: str | None = None,
    blind: bool = False,
) -> list[ReadingItem]:
    """The trials to read: failed ones first (one of each task, then the next), then disputed ones, then passed ones.

    ``passed`` are drawn at random from all that passed, spread over the tasks, each with the same probability; those
    that are disputed too may be among them. With ``grader`` it is about that grader's verdicts, and by default
    *random*: ``drawn`` trials from all that it judged, each with the same probability, which is what a calibration of
    it needs. ``blind`` mixes the order, which would else give the verdicts away. The same ``seed`` gives everybody the
    same list. Where ``tasks`` are named, every trial counts as *picked*.

    Raises `ReviewError` for a task, an arm or a grader that no trial has.
    """
    usual: tuple[Kind, ...] = ("random",) if grader else ("failed", "disputed", "passed")
    wanted = usual if kinds is None else kinds
    found = _Eligible(grader)
    for record in records:
        if (not tasks or record.task in tasks) and arm in (None, record.arm):
            found.add(record)
    _check(found, grader, tasks, arm)
    word = "picked" if tasks else ""
    groups: dict[Kind, list[ReadingItem]] = {
        "random": _drawn(found.judged, drawn, seed, "random", word, "drawn at random"),
        "failed": [ReadingItem(*key, word or "failed", found.why.get(key, "failed")) for key in _in_turn(found.failed)],
        "disputed": [ReadingItem(*key, word or "disputed", found.why[key]) for key in _in_turn(found.disputed)],
        "passed": _drawn(found.passed, passed, seed, "passed", word, "drawn from those that passed"),
    }
    chosen: dict[TrialKey, ReadingItem] = {}
    for kind, items in groups.items():
        for item in items if kind in wanted else ():
            before = chosen.setdefault(item.key, item)
            if kind == "passed" and before.sample == "disputed":
                # it was drawn, whatever else it is: leaving disputed ones out would bend the sample
                chosen[item.key] = msgspec.structs.replace(item, why=before.why)
    listed = list(chosen.values())
    if blind:
        random.Random(derive_seed(seed, "blind order")).shuffle(listed)
    return listed


class _Eligible:
    """The trials of each kind, in one pass."""

    def __init__(self, grader: str) -> None:
        self._grader = grader
        self.failed: list[TrialKey] = []
        self.passed: list[TrialKey] = []
        self.disputed: list[TrialKey] = []
        self.judged: list[TrialKey] = []
        self.why: dict[TrialKey, str] = {}
        self.seen = False
        self.arms: set[str] = set()
        self.tasks: set[str] = set()
        self.graders: set[str] = set()

    def add(self, record: TrialRecord) -> None:
        """Sort one trial in."""
        self.seen = True
        self.arms.add(record.arm)
        self.tasks.add(record.task)
        self.graders.update(grade.name for grade in record.grades)
        key = record.key
        verdict = record.passed
        if self._grader:
            grade = record.grade(self._grader)
            if grade is None or grade.error is not None or (grade.judged is not None and grade.judged.unasked):
                return
            verdict = grade.passed
        elif not record.counts:
            return
        if verdict is not None:
            (self.passed if verdict else self.failed).append(key)
        found = disputes(record, grader=self._grader)
        if found:
            self.disputed.append(key)
            self.why[key] = "; ".join(found)
        if verdict is not None or found:
            self.judged.append(key)


def _check(found: _Eligible, grader: str, tasks: Collection[str], arm: str | None) -> None:
    if not found.seen and (tasks or arm is not None):
        asked = ", ".join([*map(repr, tasks), *([f"arm {arm!r}"] if arm is not None else [])])
        raise ReviewError(f"no recorded trial of {asked}; passhat show RUN lists the trials")
    if missing := [task for task in tasks if task not in found.tasks]:
        raise ReviewError(f"no recorded trial of task {missing[0]!r}; passhat show RUN lists the trials")
    if grader and grader not in found.graders:
        known = ", ".join(sorted(filter(None, found.graders))) or "none with a name"
        raise ReviewError(f"no trial has a grade of {grader!r}; the graders are: {known}")


def _by_task(keys: Sequence[TrialKey]) -> dict[tuple[str, str], list[TrialKey]]:
    return grouped(sorted(keys), lambda key: key[:2])


def _in_turn(keys: Sequence[TrialKey]) -> list[TrialKey]:
    return interleaved(_by_task(keys).values())


def _drawn(keys: Sequence[TrialKey], n: int, seed: int, sample: str, word: str, why: str) -> list[ReadingItem]:
    chosen = spread(_by_task(keys), n, random.Random(derive_seed(seed, "reading", sample)))
    probability = None if word or not keys else min(1.0, n / len(keys))
    return [ReadingItem(*key, word or sample, why, probability) for key in chosen]
