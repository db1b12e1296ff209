"""How far one person has come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from passhat.facts import Label, TrialKey, answers_rubric
from passhat.reviewing._list import ReadingItem


class Progress(msgspec.Struct, frozen=True):
    """Of a reading list: what this rater has judged (``done``), and what is left, in order."""

    done: tuple[ReadingItem, ...]
    left: tuple[ReadingItem, ...]

    @property
    def total(self) -> int:
        """The length of the list."""
        return len(self.done) + len(self.left)


def progress_of(
    items: Sequence[ReadingItem],
    labels: Iterable[Label],
    rater: str,
    *,
    grader: str = "",
    rubrics: Mapping[TrialKey, str] | None = None,
) -> Progress:
    """What is left of a list for one rater. ``labels`` are those that stand, of anybody on anything.

    ``rubrics`` are those by which the ``grader`` judged: what was said on another is to be said again.
    """
    known = rubrics or {}
    said: set[TrialKey] = {
        label.key
        for label in labels
        if label.rater == rater and label.grader == grader and answers_rubric(label, known.get(label.key, ""))
    }
    done = tuple(item for item in items if item.key in said)
    return Progress(done, tuple(item for item in items if item.key not in said))
