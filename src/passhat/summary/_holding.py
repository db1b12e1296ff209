"""Which labels hold: those on the attempt that counts, and not on one that was run again since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from passhat.facts import Label, TrialKey, TrialRecord, is_about


def starts(records: Iterable[TrialRecord]) -> dict[TrialKey, str]:
    """When each trial of a run began."""
    return {record.key: record.started for record in records}


def holding(labels: Iterable[Label], began: Mapping[TrialKey, str]) -> list[Label]:
    """The labels that are about these trials as they are; ``began`` says when each of the trials began.

    >>> said = [Label("t", trial, "pass", "ann", "2026-11-30T10:00:00Z") for trial in range(3)]
    >>> times = {("", "t", 0): "2026-11-30T09:00:00Z", ("", "t", 1): "2026-11-30T11:00:00Z"}
    >>> [label.trial for label in holding(said, times)]
    [0]
    """
    return [label for label in labels if (when := began.get(label.key)) is not None and is_about(label, when)]
