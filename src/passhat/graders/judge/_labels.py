"""One of a closed set of labels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from passhat.facts import Grade, JudgeSample, Role
from passhat.graders._names import GraderSetup
from passhat.graders._version import source_version
from passhat.graders.judge._judge import Judge
from passhat.graders.judge._settings import LONGEST, UNKNOWN, Models, Over, settings_of
from passhat.graders.judge._voting import majority, reason_of
from passhat.trial import FinishedTrial

if TYPE_CHECKING:
    from passhat.facts import Task

Expected = str | Collection[str] | Callable[[Any], str | Collection[str]] | None


class Labels(Judge):
    """See `labels`."""

    kind = "labels"

    def __init__(self, meanings: Mapping[str, str], expect: Expected, *given: Any) -> None:
        super().__init__(*given)
        self.meanings = tuple(meanings.items())
        self.words = (*meanings, UNKNOWN)
        self.expect = expect

    def _meaning(self) -> Any:
        return [(word, text) for word, text in self.meanings if text]

    def _rule(self) -> Any:
        return source_version(self.expect) if callable(self.expect) else self._wanted(None)

    def _wanted(self, trial: FinishedTrial | None) -> tuple[str, ...] | None:
        """The labels that pass; None without a word on it."""
        expect = self.expect
        if callable(expect) and trial is not None:
            expect = expect(trial.task)
        if expect is None or callable(expect):
            return None
        wanted = (expect,) if isinstance(expect, str) else tuple(expect)
        for word in wanted:
            if word not in self.words[:-1]:
                raise GraderSetup(f"judge {self.name!r}: expect={word!r} is none of {', '.join(self.words[:-1])}")
        return wanted

    def _decide(self, samples: Sequence[JudgeSample], trial: FinishedTrial) -> tuple[str | None, Grade]:
        verdict = majority([sample.verdict for sample in samples])
        reason = reason_of(samples, verdict)
        wanted = self._wanted(trial)
        if verdict is None:
            return None, Grade(None, reason)
        if wanted is None:
            return verdict, Grade(None, f"{verdict}: {reason}".rstrip(": "))
        passed = verdict in wanted
        told = verdict if passed else f"{verdict}, expected {' or '.join(wanted)}"
        return verdict, Grade(passed, f"{told}: {reason}".rstrip(": "))


def labels(
    name: str,
    question: str,
    labels: Sequence[str] | Mapping[str, str],
    *,
    expect: Expected = None,
    over: Over = "trace",
    samples: int = 1,
    temperature: float | None = None,
    model: Models = None,
    reference: Callable[[Task], Any] | None = None,
    role: Role | str = Role.REQUIRED,
    weight: float = 1.0,
    longest: int = LONGEST,
    same_model_ok: bool = False,
) -> Labels:
    """A judge model puts one of a closed set of labels on a trial: was it the right tool, was a handoff due?

    ``labels`` are the words, or words with a line on what each means; *unknown* is always among them. ``expect`` says
    which pass: a label, several, or a function of the task; without it the label is recorded and the role is advisory.
    The rest is as for `rubric`.

    >>> handoff = labels("handoff", "Was the user handed to a person?", ["handed over", "kept"], expect="kept")
    >>> handoff.words
    ('handed over', 'kept', 'unknown')
    """
    meanings = dict(labels) if isinstance(labels, Mapping) else dict.fromkeys(_several(name, labels), "")
    for word in meanings:
        if not isinstance(word, str) or not word.strip() or not word.isprintable() or word == UNKNOWN:
            raise GraderSetup(f"judge {name!r}: label {word!r}: must be a line of text, and not 'unknown'")
    if len(meanings) < 2:
        raise GraderSetup(f"judge {name!r}: labels={labels!r}: give two labels or more")
    settings = settings_of(
        name,
        over=over,
        samples=samples,
        temperature=temperature,
        model=model,
        reference=reference,
        longest=longest,
        same_model_ok=same_model_ok,
    )
    made = Labels(meanings, expect, name, question, settings, Role.ADVISORY if expect is None else role, weight)
    made._wanted(None)
    return made


def _several(name: str, words: Any) -> Sequence[str]:
    if isinstance(words, str) or len(set(words)) < len(tuple(words)):
        raise GraderSetup(f"judge {name!r}: labels={words!r}: give a list of different labels")
    return tuple(words)
