"""What several samples say together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from passhat.facts import JudgeSample
from passhat.graders.judge._settings import UNKNOWN


def majority(words: Sequence[str]) -> str | None:
    """The word that more than half of all say; None when there is none, or when it is *unknown*.

    >>> majority(["pass", "pass", "fail"]), majority(["pass", "fail"]), majority(["unknown", "unknown", "pass"])
    ('pass', None, None)
    """
    ((word, count),) = Counter(words).most_common(1)
    return word if 2 * count > len(words) and word != UNKNOWN else None


def counted(words: Sequence[str]) -> str:
    """Words with how many said each: ``3 pass, 2 fail``."""
    return ", ".join(f"{count} {word}" for word, count in Counter(words).most_common())


def reason_of(samples: Sequence[JudgeSample], verdict: str | None) -> str:
    """Why, in the words of the first sample that says so; without a verdict how the samples are divided."""
    words = [sample.verdict for sample in samples]
    said = next((sample.reason for sample in samples if sample.verdict == verdict), "")
    if verdict is None:
        first = samples[0].reason
        return (
            f"no verdict ({counted(words)}), for people to decide{f': {first}' if len(samples) == 1 and first else ''}"
        )
    return said if len(set(words)) == 1 else f"{counted(words)}: {said}".rstrip(": ")
