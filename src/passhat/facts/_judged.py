"""What a judge model said of one trial, kept beside the grade that it makes."""

from __future__ import annotations

from typing import Literal

import msgspec

from passhat.facts._usage import Usage


class JudgeSample(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answer of a judge. ``verdict`` is a word of the judge's closed set.

    ``evidence`` are the passages it quoted, all found in the judged text. ``model`` is the one that was asked, as
    PROVIDER/NAME, ``reported`` the one that its provider says answered. ``order`` tells, of a comparison, which of the
    two texts stood first.
    """

    verdict: str
    reason: str = ""
    evidence: tuple[str, ...] = ()
    model: str = ""
    reported: str | None = None
    order: str = ""
    tries: int = 1  # how often it was asked until it answered in the form that was asked for


class Judged(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a judge came to its grade. A grade stays comparable with another while ``rubric``, ``prompt`` and ``models``
    are the same: what was calibrated for one is void for another.

    ``rubric`` is a hash of the criterion, ``prompt`` one of everything else that the judge is told alike for every
    trial. ``models`` are those that were asked, as PROVIDER/NAME. ``verdict`` is the word that the samples come to,
    None when they come to none. ``usage`` includes answers that couldn't be used.
    ``notes`` say what was cut or changed in the judged text.
    """

    kind: Literal["rubric", "labels", "score", "pairwise"]
    over: Literal["answer", "trace"]
    models: tuple[str, ...]
    rubric: str
    prompt: str
    temperature: float | None = None
    verdict: str | None = None
    samples: tuple[JudgeSample, ...] = ()
    usage: Usage = Usage()
    notes: tuple[str, ...] = ()

    @property
    def disputed(self) -> bool:
        """Whether the samples differ."""
        return len({sample.verdict for sample in self.samples}) > 1

    @property
    def unasked(self) -> bool:
        """Whether the verdict was clear without asking a model, as that on an empty answer is: a rule's, no judge's."""
        return self.verdict is not None and not self.samples

    @property
    def reported(self) -> tuple[str, ...]:
        """The models that answered, as their providers report them, each once."""
        return tuple(dict.fromkeys(sample.reported for sample in self.samples if sample.reported))
