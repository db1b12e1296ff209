"""Metrics of a component that decides between labels: a router, an intent classifier."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from passhat.facts import MetricValue, canonical_json
from passhat.graders._expected import WHOLE, expected_of
from passhat.graders._levels import levels, normal
from passhat.graders.answers._exact import answer_of
from passhat.metrics._gather import Gathered, Observed, checked_level, gather, mean_value
from passhat.metrics._ratio import ratio_value

NONE = "(none)"
OTHER = "(other)"


class Classification:
    """See `classification`."""

    def __init__(self, labels: Sequence[Any] | None, expect: Any, predicted: Any, normalise: Any, level: float) -> None:
        if isinstance(labels, str):
            raise ValueError(f"labels={labels!r}: must be a list of labels")
        self.name = "accuracy"
        self.normalise = levels(normalise)
        self.labels = None if labels is None else tuple(self._label(label) for label in labels)
        if self.labels is not None and (len(set(self.labels)) < len(self.labels) or not self.labels):
            raise ValueError(f"labels={labels!r}: must be different labels, at least one")
        self.expect = expect
        self.predicted = predicted
        self.level = checked_level(level)

    def __call__(self, trials: Sequence[Any]) -> MetricValue:
        """Accuracy over these trials, with the confusion matrix and each class's figures."""
        gathered = gather(
            trials,
            lambda trial: (self._wanted(trial), self._found(trial)),
            lambda trial: (self._wanted(trial), NONE),
        )
        observed = gathered.observed
        right = [Observed(task, unit, float(a == b)) for task, unit, (a, b) in observed]
        known = {a for _, _, (a, _) in observed} | {b for _, _, (_, b) in observed if b not in (NONE, OTHER)}
        labels = self.labels if self.labels is not None else tuple(sorted(known))
        parts = tuple(part for label in labels for part in self._of_class(label, observed))
        return mean_value(
            self.name,
            Gathered(right, gathered.missing),
            self.level,
            parts=parts,
            details=confusion_details(labels, [value for _, _, value in observed]),
        )

    def _of_class(self, label: str, observed: Sequence[Observed]) -> list[MetricValue]:
        def ratio(name: str, top: Any, bottom: Any) -> MetricValue:
            pairs = [Observed(t, u, (float(top(a, b)), float(bottom(a, b)))) for t, u, (a, b) in observed]
            return ratio_value(f"{name} of {label}", Gathered(pairs, 0), self.level)

        return [
            ratio("precision", lambda a, b: a == b == label, lambda a, b: b == label),
            ratio("recall", lambda a, b: a == b == label, lambda a, b: a == label),
            ratio("F1", lambda a, b: 2 * (a == b == label), lambda a, b: (a == label) + (b == label)),
        ]

    def _label(self, value: Any) -> str:
        return str(normal(value, self.normalise)) if isinstance(value, str) else canonical_json(value)

    def _wanted(self, trial: Any) -> str:
        label = self._label(expected_of(self.expect, trial.task))
        if self.labels is not None and label not in self.labels:
            known = ", ".join(self.labels)
            raise ValueError(f"task {trial.task.id!r} expects the label {label!r}, which is none of {known}")
        return label

    def _found(self, trial: Any) -> str:
        try:
            value = answer_of(trial, self.predicted)
            label = NONE if value is None or value == "" else self._label(value)
        except (LookupError, TypeError, AttributeError, ValueError):
            return NONE
        return label if self.labels is None or label in (NONE, *self.labels) else OTHER


def classification(
    labels: Sequence[Any] | None = None,
    *,
    expect: Any = WHOLE,
    predicted: Any = None,
    normalise: bool | Sequence[str] = (),
    level: float = 0.95,
) -> Classification:
    """How often the right label is given; which are taken for which; precision, recall and F1 of each class.

    ``expect`` is the right label (``task.expected``, a key of it, or a function of the task), ``predicted`` the part of
    the output that holds the label. With ``labels`` anything else that is given counts as "(other)"; a trial that
    failed or gave nothing counts as "(none)": both are wrong.

    The value is accuracy, as the mean over tasks. ``parts`` are "precision of X", "recall of X" and "F1 of X", pooled
    over trials. ``details`` holds ``labels``, ``confusion`` (expected → predicted → count), ``support`` and
    ``macro_f1``.

    >>> from passhat import FinishedTrial, Task
    >>> said = {"t1": ("refund", "refund"), "t2": ("refund", "delivery"), "t3": ("delivery", "delivery")}
    >>> trials = [FinishedTrial(Task(name, expected=right), given) for name, (right, given) in said.items()]
    >>> figures = classification()(trials)
    >>> round(figures.value, 3), figures.details["confusion"]["refund"]["delivery"]
    (0.667, 1)
    """
    return Classification(labels, expect, predicted, normalise, level)


def confusion(pairs: Sequence[tuple[str, str]]) -> dict[str, dict[str, int]]:
    """Counts of (expected, predicted) pairs, as expected → predicted → count.

    >>> confusion([("a", "a"), ("a", "b"), ("b", "b")])
    {'a': {'a': 1, 'b': 1}, 'b': {'b': 1}}
    """
    table: dict[str, dict[str, int]] = {}
    for expected, predicted in pairs:
        row = table.setdefault(expected, {})
        row[predicted] = row.get(predicted, 0) + 1
    return table


def confusion_details(labels: Sequence[str], pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The matrix, the number of cases of each class, and the mean F1 over classes that occur."""
    table = confusion(pairs)
    f1: list[float] = []
    for label in labels:
        right = table.get(label, {}).get(label, 0)
        cases = sum(table.get(label, {}).values()) + sum(row.get(label, 0) for row in table.values())
        if cases:
            f1.append(2 * right / cases)
    return {
        "labels": list(labels),
        "confusion": table,
        "support": {label: sum(table.get(label, {}).values()) for label in labels},
        "macro_f1": math.fsum(f1) / len(f1) if f1 else None,
    }
