"""A judge calibrated against people."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from passhat.calibrating._correct import Asked, correct
from passhat.calibrating._errors import CalibrationError
from passhat.calibrating._findings import findings
from passhat.calibrating._needed import needed
from passhat.calibrating._parts import parts_of, uneven
from passhat.calibrating._quality import quality_of
from passhat.calibrating._result import Calibration, Counts, Dimension
from passhat.calibrating._weights import Weighed, weigh
from passhat.facts import Label, TrialRecord
from passhat.summary import Agreement, JudgedTrials, agreements, judged_trials

ALL: tuple[Dimension, ...] = ("arm", "tag", "family")


class Labelled(NamedTuple):
    """A run's name, its records, and what people say of its trials."""

    run: str
    records: Iterable[TrialRecord]
    labels: Sequence[Label]


def calibrate(
    run: Labelled,
    grader: str,
    *,
    elsewhere: Labelled | None = None,
    by: Sequence[Dimension] = ALL,
    level: float = 0.95,
    hand_picked: bool = False,
) -> Calibration:
    """Say how far ``grader`` agrees with people, and what its pass rate in ``run`` would be by their verdicts.

    Labels of the run itself, drawn by chance, correct its rate by post-stratification. With ``elsewhere`` the labels of
    another run, judged by the same version of the grader, do so by Rogan and Gladen's formula. Where neither may be
    done ``correction.refused`` says why. ``hand_picked`` tasks are a sample of nothing. Raises `CalibrationError` for
    a grader that judged nothing.

    >>> from passhat.facts import Grade, Status
    >>> records = [TrialRecord(task=f"t{i // 4}", trial=i % 4, status=Status.COMPLETED, passed=i % 10 < 7,
    ...                        grades=(Grade(i % 10 < 7, name="tone"),)) for i in range(200)]
    >>> labels = [Label(f"t{i // 4}", i % 4, "pass" if i % 10 < 6 else "fail", "ann", "", sample="random", blind=True)
    ...           for i in range(0, 200, 3)]
    >>> found = calibrate(Labelled("run", records, labels), "tone")
    >>> found.quality.table, found.correction.raw.estimate, round(found.correction.corrected.estimate, 2)
    (((40, 0), (7, 20)), 0.7, 0.6)
    """
    here = _judged(run, grader)
    there = here if elsewhere is None else _judged(elsewhere, grader)
    judged = weigh(here.trials)
    labelled = judged if elsewhere is None else weigh(there.trials)
    asked = Asked(judged, labelled, "" if elsewhere is None else elsewhere.run, level, not hand_picked)
    asked = asked._replace(other_rubric=_other_rubric(there))
    counts, quality = _counts(there, labelled), quality_of(labelled, level)
    source = run if elsewhere is None else elsewhere
    correction = correct(asked)
    names = {"run": run.run, "labelled": source.run, "grader": grader}
    way_out = correction.way_out.format(**{name: shlex.quote(said) for name, said in names.items()})
    correction = msgspec.structs.replace(correction, way_out=way_out)
    parts = tuple(parts_of(asked, by, corrected=correction.corrected is not None))
    said = [*findings(counts, quality, correction, labelled, there), *uneven(parts, quality.table, 1 - level)]
    return Calibration(
        run=run.run,
        labels_from=source.run,
        grader=grader,
        level=level,
        counts=counts,
        quality=quality,
        correction=correction,
        parts=parts,
        needed=needed(asked, correction),
        raters=_raters(there.labels, grader, level),
        findings=tuple(sorted(said, key=lambda each: each.severity != "warning")),
    )


def _judged(run: Labelled, grader: str) -> JudgedTrials:
    found = judged_trials(run.records, run.labels, grader)
    if grader not in found.seen:
        known = ", ".join(map(repr, found.seen)) or "none"
        raise CalibrationError(f"{run.run}: no grader {grader!r} judged a trial of it; its graders are: {known}")
    if not found.trials:
        raise CalibrationError(
            f"{run.run}: {grader!r} passed or failed no trial ({found.unknown} it could not tell, {found.errors} it "
            f"failed on, {found.unasked} with an empty answer): judge them again with `passhat regrade`"
        )
    return found


def _other_rubric(found: JudgedTrials) -> int:
    return sum(each.why == "rubric" for each in found.set_aside)


def _raters(labels: Sequence[Label], grader: str, level: float) -> tuple[Agreement, ...]:
    """How far people agree among themselves: the best that a judge can be asked for."""
    own = any(label.grader == grader for label in labels)
    return agreements(labels, grader=grader if own else "", level=level)


def _counts(found: JudgedTrials, labelled: Sequence[Weighed]) -> Counts:
    read = [each for each in labelled if each.weight is not None]
    return Counts(
        judged=len(labelled),
        labelled=len(read),
        drawn=sum(bool(each.weight) for each in read),
        unclear=sum(each.trial.people == "unclear" for each in labelled),
        ties=sum(each.trial.people == "tie" for each in labelled),
        blind=sum(each.trial.blind for each in read),
        tasks_labelled=len({each.trial.task for each in read}),
        tasks=len({each.trial.task for each in labelled}),
        other_labels=found.other_labels,
        other_rubric=_other_rubric(found),
        unknown=found.unknown,
        errors=found.errors,
        unasked=found.unasked,
    )
