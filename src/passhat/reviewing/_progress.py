"""How far one person has come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from passhat.facts import Label, TrialKey
from passhat.reviewing._list import ReadingItem


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
    said: set[TrialKey] = {label.key for label in labels if label.rater == rater and label.grader == grader}
    done = tuple(item for item in items if item.key in said)
    return Progress(done, tuple(item for item in items if item.key not in said))
