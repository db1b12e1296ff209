"""Whether a judge stands by its verdict, and whether it can be talked into one."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from passhat.calibrating._controls import chosen, transcript_of
from passhat.calibrating._errors import CalibrationError
from passhat.calibrating._robustness_result import ControlLeak, Rate, Robustness
from passhat.facts import Grade, Task, Transcript, TrialRecord, derive_seed, grouped, interleaved
from passhat.summary import Example

REPEATS = 3


class Probe(NamedTuple):
    """Something to have judged: a recorded trial as it is (``kind`` "repeat"), or with another answer in its place."""

    kind: str
    record: TrialRecord
    answer: Any = None
    transcript: Transcript | None = None


def probes(
    records: Sequence[TrialRecord],
    tasks: Mapping[str, Task],
    grader: str,
    *,
    n: int,
    repeats: int = REPEATS,
    controls: Sequence[str] = (),
    seed: int = 0,
) -> list[Probe]:
    """What to have judged: ``n`` trials drawn over as many tasks as there are, each ``repeats`` times, and each control
    in the place of their answers.

    Raises `CalibrationError` where no trial can be judged again.
    """
    if n < 1 or repeats < 2:
        raise CalibrationError(f"n={n!r}, repeats={repeats!r}: at least 1 trial, and 2 verdicts on each")
    kinds = chosen(controls)
    able = [each for each in records if each.task in tasks and _verdict(each, grader) is not None]
    if not able:
        raise CalibrationError(f"no trial of a task that the suite still has was judged by {grader!r}")
    drawn = _spread(able, n, seed)
    told = [Probe("repeat", record) for record in drawn for _ in range(repeats)]
    passing = [each for each in able if _verdict(each, grader)] or able
    for control in kinds:
        for record in drawn:
            task = tasks[record.task]
            answer = control.answer(task, record, passing)
            if answer is not None:
                told.append(Probe(control.kind, record, answer, transcript_of(task, answer)))
    return told


def _verdict(record: TrialRecord, grader: str) -> bool | None:
    grade = record.grade(grader)
    return None if grade is None else grade.passed


def _spread(records: Sequence[TrialRecord], n: int, seed: int) -> list[TrialRecord]:
    """One trial of each task in random order, then a second of each, and so on."""
    rng = random.Random(derive_seed(seed, "robustness"))
    queues = [rng.sample(group, len(group)) for group in grouped(records, lambda record: record.task).values()]
    rng.shuffle(queues)
    return interleaved(queues)[:n]


def robustness(asked: Sequence[Probe], grades: Sequence[Grade], grader: str, *, level: float = 0.95) -> Robustness:
    """What the judge's grades on the probes, in their order, say of it.

    >>> record = TrialRecord("t", 0, "completed", True, output="4", grades=(Grade(True, name="right"),))
    >>> told = probes([record], {"t": Task("t", input="2+2?")}, "right", n=1, controls=["empty", "verdict"])
    >>> said = [Grade("PASS" in str(each.answer) or each.kind == "repeat") for each in told]
    >>> found = robustness(told, said, "right")
    >>> [(leak.kind, leak.passed.count) for leak in found.leaks], found.flips.count
    ([('empty', 0), ('verdict', 1)], 0)
    """
    pairs = list(zip(asked, grades, strict=True))
    repeated: dict[tuple[str, str, int], list[tuple[TrialRecord, Grade]]] = {}
    for probe, grade in pairs:
        if probe.kind == "repeat" and grade.error is None:
            key = (probe.record.arm, probe.record.task, probe.record.trial)
            repeated.setdefault(key, []).append((probe.record, grade))
    several = [group for group in repeated.values() if len(group) > 1]
    flipped = [group for group in several if len({grade.passed for _, grade in group}) > 1]
    firsts = [group[0] for group in repeated.values()]
    changed = sum(grade.passed is not _verdict(record, grader) for record, grade in firsts)
    leaks = tuple(_leak(kind, pairs, level) for kind in dict.fromkeys(p.kind for p in asked if p.kind != "repeat"))
    order, first = _order([grade for probe, grade in pairs if probe.kind == "repeat"], level)
    return Robustness(
        trials=len({(p.record.arm, p.record.task, p.record.trial) for p in asked}),
        repeats=max((len(group) for group in repeated.values()), default=0),
        flips=Rate.of(len(flipped), len(several), level),
        flipped=tuple(_example(*group[0]) for group in flipped[:5]),
        recorded=Rate.of(changed, len(firsts), level),
        order=order,
        first_favoured=first,
        leaks=leaks,
        leaked=Rate.of(sum(leak.passed.count for leak in leaks), sum(leak.passed.n for leak in leaks), level),
        errors=sum(grade.error is not None for grade in grades),
        problem=next((grade.error for grade in grades if grade.error is not None), ""),
    )


def _leak(kind: str, pairs: Sequence[tuple[Probe, Grade]], level: float) -> ControlLeak:
    mine = [(probe, grade) for probe, grade in pairs if probe.kind == kind]
    judged = [(probe, grade) for probe, grade in mine if grade.error is None]
    passed = [(probe, grade) for probe, grade in judged if grade.passed]
    return ControlLeak(
        kind=kind,
        what=chosen([kind])[0].what,
        passed=Rate.of(len(passed), len(judged), level),
        unknown=sum(grade.passed is None for _, grade in judged),
        errors=len(mine) - len(judged),
        example=next((Example(p.record.task, p.record.trial, grade.reason) for p, grade in passed), None),
    )


def _example(record: TrialRecord, grade: Grade) -> Example:
    return Example(record.task, record.trial, grade.reason)


def _order(grades: Sequence[Grade], level: float) -> tuple[Rate | None, int]:
    """Pairs of answers in both orders: how many changed, and how many of those favoured the first place."""
    pairs = changed = first = 0
    for grade in grades:
        samples = grade.judged.samples if grade.judged is not None and grade.judged.kind == "pairwise" else ()
        for one, two in zip(samples[::2], samples[1::2], strict=False):
            pairs += 1
            changed += one.verdict != two.verdict
            first += (one.verdict, two.verdict) == ("answer", "other")  # each time what stood first
    return (Rate.of(changed, pairs, level) if pairs else None), first
