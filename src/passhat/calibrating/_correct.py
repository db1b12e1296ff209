"""The pass rate as people would have judged it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from passhat.calibrating import _words
from passhat.calibrating._refusing import (
    HERE,
    SAMPLE,
    Refusal,
    biased_elsewhere,
    changed,
    concentrated,
    no_better_than_chance,
    not_drawn,
    other_rubric,
)
from passhat.calibrating._result import Correction, Estimate, Method
from passhat.calibrating._weights import Weighed, by_unit, effective_table, plain, strata_of, table_of
from passhat.facts import grouped
from passhat.stats import (
    MIN_TASKS_POPULATION,
    Corrected,
    Refused,
    Stratum,
    clopper_pearson,
    interval,
    rogan_gladen,
    rogan_gladen_by_task,
    stratified_rate,
    stratified_rate_by_task,
    wilson,
)

SINGLE_TRIALS = "Wilson of single trials"


class Asked(NamedTuple):
    """What the correction is asked for: the run's trials, those that are labelled, and how."""

    judged: Sequence[Weighed]
    labelled: Sequence[Weighed]  # the same, or another run's
    elsewhere: str  # the name of the other run; empty where the labels are of this one
    level: float
    population: bool  # whether the tasks may be taken for a sample
    other_rubric: int = 0  # labels that were given on another rubric


def correct(asked: Asked) -> Correction:
    """Correct the judge's rate, or say why that can't be done."""
    judged = asked.judged
    raw = _raw(asked)
    people = None if asked.elsewhere else _people(asked)
    found = _refused(asked) or _corrected(asked, raw, people)
    if isinstance(found, Correction):
        return found
    return Correction(judged=len(judged), raw=raw, people=people, refused=found.reason, way_out=found.way_out)


def _raw(asked: Asked) -> Estimate:
    """The judge's own rate, over trials. Its interval is the report's, whose rate is the same where tasks have equally
    many trials; else the report weighs each task alike, and this is the interval of single trials."""
    tasks = list(grouped(asked.judged, lambda each: (each.trial.arm, each.trial.task)).values())
    passes, sizes = [sum(each.trial.judge for each in task) for task in tasks], [len(task) for task in tasks]
    rate = sum(passes) / sum(sizes)
    if len(set(sizes)) == 1:
        known = interval(sizes, passes, of="these tasks", level=asked.level)
        return Estimate(rate, known.ends, None, known.method)
    return Estimate(rate, wilson(sum(passes), sum(sizes), level=asked.level).ends, None, SINGLE_TRIALS)


def _refused(asked: Asked) -> Refusal | None:
    read = [each for each in asked.labelled if each.weight is not None]
    if not read and asked.other_rubric:
        return other_rubric(asked.other_rubric)
    if not read:
        return Refusal("no trial has a verdict of people", SAMPLE)
    trials = [each.trial for each in (read if asked.elsewhere else asked.labelled)]
    refusal = changed(trials, [each.trial for each in asked.judged], elsewhere=bool(asked.elsewhere))
    if refusal is not None:
        return refusal
    if not asked.elsewhere:
        return not_drawn(asked.labelled)
    return biased_elsewhere(asked.labelled) or no_better_than_chance(effective_table(asked.labelled), asked.level)


def _people(asked: Asked) -> Estimate | None:
    """What people say without the judge: an estimate only where chance drew what they read."""
    read = [each for each in asked.judged if each.weight]
    if not read or not plain(asked.judged) or not_drawn(asked.judged) is not None:
        return None
    passes = sum(each.passes for each in read)
    known = clopper_pearson(passes, len(read), level=asked.level)
    return Estimate(passes / len(read), known.ends, None, known.method)


def _corrected(asked: Asked, raw: Estimate, people: Estimate | None) -> Correction | Refusal:
    method: Method = "Rogan–Gladen" if asked.elsewhere else "post-stratified"
    try:
        item = _rogan_gladen(asked) if asked.elsewhere else stratified_rate(strata_of(asked.judged), level=asked.level)
    except Refused as error:  # elsewhere: what the judge did here doesn't fit the labels there, and more won't help
        return Refusal(str(error), HERE if asked.elsewhere else SAMPLE)
    by_task = _by_task(asked)
    these = item.interval
    if asked.elsewhere or concentrated(asked.labelled) is not None:
        # a judge that some tasks fool errs otherwise on other tasks; single items would hide that
        if isinstance(by_task, Refusal):
            return by_task
        these = by_task.interval
    spread = asked.population and len({each.trial.task for each in asked.judged}) >= MIN_TASKS_POPULATION
    like_these = None if isinstance(by_task, Refusal) or not spread else by_task.interval.ends
    corrected = Estimate(item.estimate, these.ends, like_these, these.method)
    too_many, too_few = _errors(asked, item.estimate)
    found = Correction(
        judged=len(asked.judged),
        raw=raw,
        people=people,
        corrected=corrected,
        method=method,
        passed_too_many=too_many,
        failed_too_many=too_few,
    )
    return _words.explained(found, effective_table(asked.labelled), asked.elsewhere)


def _rogan_gladen(asked: Asked) -> Corrected:
    passed = sum(each.trial.judge for each in asked.judged)
    return rogan_gladen(table_of(asked.labelled), passed, len(asked.judged), level=asked.level)


def _by_task(asked: Asked) -> Corrected | Refusal:
    """The interval over tasks, or why there is none."""
    here, there = by_unit(asked.judged), by_unit(asked.labelled)
    try:
        if not asked.elsewhere:
            return stratified_rate_by_task([strata_of(unit) for unit in here], level=asked.level)
        counts = [(sum(each.trial.judge for each in unit), len(unit)) for unit in here]
        return rogan_gladen_by_task([table_of(unit) for unit in there], counts, level=asked.level)
    except Refused as error:
        read = sum(any(each.weight is not None for each in unit) for unit in there)
        return Refusal(str(error), HERE if asked.elsewhere and len(here) < read else SAMPLE)


def _errors(asked: Asked, estimate: float) -> tuple[float, float]:
    """How many of the judged trials the judge passed, and failed, against people."""
    total = len(asked.judged)
    if asked.elsewhere:
        (tp, missed), (slipped, tn) = table_of(asked.labelled)
        too_many = total * (1 - estimate) * slipped / (slipped + tn)
        too_few = total * estimate * missed / (tp + missed)
        return too_many, too_few
    _, passed, failed = strata_of(asked.judged)
    wrong = [each for each in asked.judged if each.weight == 0 and each.passes is not each.trial.judge]
    too_many = sum(each.trial.judge for each in wrong) + _share(passed, fails=True)
    return too_many, sum(not each.trial.judge for each in wrong) + _share(failed, fails=False)


def _share(stratum: Stratum, *, fails: bool) -> float:
    return stratum.items * (1 - stratum.share if fails else stratum.share)
