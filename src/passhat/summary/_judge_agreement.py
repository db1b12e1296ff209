"""How far each grader of a run agrees with people, in a row a grader: what a history shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from passhat.facts import Label, TrialRecord, standing
from passhat.stats import judge_quality
from passhat.summary._people import JudgeVersion, judged_trials
from passhat.summary._rates import ends
from passhat.summary._tables import Range

Table = tuple[tuple[int, int], tuple[int, int]]


class JudgeAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """One grader beside people, over its labelled trials. ``table`` rows: people pass, people fail; columns: it passes,
    fails. ``drawn`` of the ``labels`` trials were drawn by chance; where some weren't, the figures are those of the
    choice. A figure is None where no label speaks to it. ``versions`` are those of the grader that judged them.
    """

    grader: str
    labels: int
    drawn: int
    table: Table
    sensitivity: float | None
    sensitivity_interval: Range | None
    specificity: float | None
    specificity_interval: Range | None
    kappa: float | None
    kappa_interval: Range | None
    versions: tuple[JudgeVersion, ...]


def judge_agreements(
    records: Iterable[TrialRecord], labels: Iterable[Label], *, level: float = 0.95
) -> tuple[JudgeAgreement, ...]:
    """A row for each grader that people's labels speak to, in the order in which the graders came; all arms together.

    >>> from passhat.facts import Grade, Status
    >>> records = [TrialRecord("t", i, Status.COMPLETED, i < 6, grades=(Grade(i < 6, name="tone"),)) for i in range(10)]
    >>> labels = [Label("t", i, "pass" if i < 5 else "fail", "ann", "") for i in range(10)]
    >>> [(row.grader, row.labels, row.sensitivity, row.specificity) for row in judge_agreements(records, labels)]
    [('tone', 10, 1.0, 0.8)]
    """
    said = standing(labels)
    about = {label.key for label in said}
    read = [each for each in records if each.key in about] if about else []
    names = dict.fromkeys(grade.name for record in read for grade in record.grades)
    rows = (_row(name, read, said, level) for name in names)
    return tuple(row for row in rows if row is not None)


def _row(grader: str, records: Sequence[TrialRecord], labels: Sequence[Label], level: float) -> JudgeAgreement | None:
    found = judged_trials(records, labels, grader)
    clear = [each for each in found.trials if each.people in ("pass", "fail")]
    if not clear:
        return None
    quality = judge_quality(found.table, level=level)
    return JudgeAgreement(
        grader=grader,
        labels=len(clear),
        drawn=sum(each.drawn for each in clear),
        table=found.table,
        sensitivity=quality.sensitivity,
        sensitivity_interval=ends(quality.sensitivity_interval),
        specificity=quality.specificity,
        specificity_interval=ends(quality.specificity_interval),
        kappa=None if quality.kappa is None else quality.kappa.kappa,
        kappa_interval=None if quality.kappa is None else quality.kappa.interval.ends,
        versions=tuple(dict.fromkeys(each.version for each in clear)),
    )
