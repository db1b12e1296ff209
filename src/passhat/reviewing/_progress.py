"""How far one person has come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from passhat.facts import Label, TrialRecord, is_about
from passhat.reviewing._list import ReadingItem
from passhat.summary import TrialKey, key_of


class Progress(msgspec.Struct, frozen=True):
    """Of a reading list: what this rater has judged (``done``), and what is left, in order."""

    done: tuple[ReadingItem, ...]
    left: tuple[ReadingItem, ...]

    @property
    def total(self) -> int:
        """The length of the list."""
        return len(self.done) + len(self.left)


def progress_of(items: Sequence[ReadingItem], labels: Iterable[Label], rater: str, *, grader: str = "") -> Progress:
    """What is left of a list for one rater. ``labels`` are those that stand, of anybody on anything."""
    said: set[TrialKey] = {key_of(label) for label in labels if label.rater == rater and label.grader == grader}
    done = tuple(item for item in items if item.key in said)
    return Progress(done, tuple(item for item in items if item.key not in said))


def labels_of(records: Iterable[TrialRecord], labels: Iterable[Label]) -> list[Label]:
    """The labels that are about these trials as they are: not those on an attempt that was run again since."""
    labels = list(labels)
    keys = {key_of(label) for label in labels}
    began = {key: record.started for record in records if (key := (record.arm, record.task, record.trial)) in keys}
    return [label for label in labels if key_of(label) in began and is_about(label, began[key_of(label)])]
