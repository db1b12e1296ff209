"""What the judges of a run said and spent: apart from the agent's spending, and with what they left open."""

from __future__ import annotations

from collections import Counter

from passhat.facts import Grade, Judged, Manifest, TrialRecord
from passhat.summary._spend import Spend
from passhat.summary._tables import Example, JudgeRow, Judging

_REASON = 500


class _OneJudge:
    """What one judge said, over all trials."""

    def __init__(self, grade: Grade, judged: Judged) -> None:
        self.first = judged
        self.role = grade.role.value
        self.verdicts: Counter[str] = Counter()
        self.judged = self.unresolved = self.disputed = self.errors = self.asked_again = self.changed = 0
        self.failed_anyway = self.unasked = 0
        self.open: Example | None = None

    def add(self, record: TrialRecord, grade: Grade, judged: Judged) -> None:
        self.judged += 1
        self.disputed += judged.disputed
        self.changed += bool(judged.notes) and not judged.unasked
        self.asked_again += any(sample.tries > 1 for sample in judged.samples)
        if grade.error is not None:
            self.errors += 1
            self.failed_anyway += record.passed is False
        elif judged.unasked:
            self.unasked += 1
        elif judged.verdict is not None:
            self.verdicts[judged.verdict] += 1
        else:
            self.unresolved += 1
            self.open = self.open or Example(record.task, record.trial, grade.reason[:_REASON])

    def row(self, name: str) -> JudgeRow:
        return JudgeRow(
            name=name,
            kind=self.first.kind,
            over=self.first.over,
            models=self.first.models,
            role=self.role,
            judged=self.judged,
            verdicts=dict(self.verdicts.most_common()),
            unresolved=self.unresolved,
            disputed=self.disputed,
            errors=self.errors,
            asked_again=self.asked_again,
            altered=self.changed,
            example=self.open,
            failed_anyway=self.failed_anyway,
            unasked=self.unasked,
        )


class JudgeTally:
    """Counts trial by trial, in memory that grows with the number of judges."""

    def __init__(self) -> None:
        self._spend = Spend()
        self._reported: Counter[str] = Counter()
        self._judges: dict[str, _OneJudge] = {}

    def see(self, record: TrialRecord) -> None:
        """Count what judges said of a trial, and spent on it."""
        if record.judge_usage.model_calls:
            self._spend.add(record.judge_usage)
        for grade in record.grades:
            judged = grade.judged
            if judged is not None:
                self._judges.setdefault(grade.name, _OneJudge(grade, judged)).add(record, grade, judged)
                self._reported.update(sample.reported for sample in judged.samples if sample.reported)

    def row(self, manifest: Manifest) -> Judging | None:
        """What there is to say; None when nothing was judged by a model."""
        if not self._judges and not self._spend.model_calls:
            return None
        spend = self._spend
        return Judging(
            models=manifest.judge_models,
            source=manifest.judge_source,
            reported=dict(self._reported.most_common()),
            model_calls=spend.model_calls,
            tokens=spend.tokens,
            dollars=spend.dollars,
            partial=spend.partial_names,
            judges=tuple(judge.row(name) for name, judge in self._judges.items()),
        )
