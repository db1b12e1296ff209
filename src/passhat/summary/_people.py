"""What people say of trials that a grader judged: one verdict a trial, and how far the two agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import msgspec

from passhat.facts import (
    Grade,
    Label,
    Role,
    TrialKey,
    TrialRecord,
    answers_rubric,
    can_be_drawn_with,
    is_about,
    standing,
)

PeopleSay = Literal["pass", "fail", "unclear", "tie"]
WhyNot = Literal["older", "no trial", "probability", "rubric"]
_DRAWN = ("random", "weighted")


class JudgeVersion(msgspec.Struct, frozen=True):
    """What has to stay the same for a judge's errors to stay the same; for a grader without a model its code alone.

    ``reported`` are the models that the provider says answered. ``rubric``, ``prompt`` and ``code`` are hashes.
    """

    code: str = ""
    kind: str = ""
    models: tuple[str, ...] = ()
    reported: tuple[str, ...] = ()
    rubric: str = ""
    prompt: str = ""
    temperature: float | None = None

    @classmethod
    def of(cls, grade: Grade) -> JudgeVersion:
        """The version that gave a grade. A judge that wasn't asked, as about an empty answer, has no models in it."""
        judged = grade.judged
        if judged is None:
            return cls(code=grade.version or "")
        asked = bool(judged.samples)
        return cls(
            code=(grade.version or "") if asked else "",
            kind=f"{judged.kind} over the {judged.over}",
            models=judged.models if asked else (),
            reported=tuple(sorted(judged.reported)),
            rubric=judged.rubric,
            prompt=judged.prompt,
            temperature=judged.temperature,
        )

    def changes(self, other: JudgeVersion) -> tuple[str, ...]:
        """What differs, in words: "the rubric (3f2a and 90bc)". What either doesn't know is no difference."""
        names = {"kind": "the kind of judge", "models": "the model asked", "reported": "the model that answered"}
        names |= {"rubric": "the rubric", "prompt": "the prompt", "temperature": "the temperature"}
        found = tuple(
            f"{words} ({_short(one)} and {_short(two)})"
            for name, words in names.items()
            for one, two in ((getattr(self, name), getattr(other, name)),)
            if one != two and (name == "temperature" or (one and two))
        )
        if found or not (self.code and other.code) or self.code == other.code:
            return found
        rest = "its settings (samples, threshold or reference)" if self.kind else "the grader's code"
        return (f"{rest} ({_short(self.code)} and {_short(other.code)})",)


def _short(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return "not set" if value is None else str(value)[:20]


class JudgedTrial(NamedTuple):
    """A trial that the grader passed or failed, and what people say of it; ``people`` is None where nobody read it.

    ``sample``: chance chose it, each trial alike ("random") or not ("weighted"), with ``probability`` (None: unknown).
    Empty where somebody, or a rule, chose it, or nobody read it.
    """

    arm: str
    task: str
    trial: int
    family: str | None
    tags: tuple[str, ...]
    judge: bool
    passed: bool | None
    version: JudgeVersion
    people: PeopleSay | None
    sample: str
    probability: float | None
    blind: bool

    @property
    def drawn(self) -> bool:
        """Whether chance chose it for reading."""
        return bool(self.sample)


class SetAside(NamedTuple):
    """A label that isn't used: it is older than its trial, which ran again since; the run has no such trial; its
    probability is none; or it answers another rubric than the one that judged the trial."""

    label: Label
    why: WhyNot


class JudgedTrials(NamedTuple):
    """All trials of a run as one grader judged them.

    ``unknown`` counts trials in which it couldn't tell, ``errors`` those in which it failed, ``unasked`` those that a
    judge failed by rule, as their answer is empty: no verdict of its model. ``other_labels`` are the
    labels of whole trials in which other graders decide too: they say nothing of this one. ``tuned`` counts trials of
    split *tune* that stand apart. ``labels`` are all that hold on this criterion or on whole trials,
    ``set_aside`` those that don't. ``rubric_unsaid`` counts labels of this criterion that don't say which rubric they
    answered, where a judge has one.
    """

    trials: tuple[JudgedTrial, ...]
    unknown: int
    errors: int
    other_labels: int
    tuned: int
    seen: tuple[str, ...]  # the graders of the run
    labels: tuple[Label, ...]
    set_aside: tuple[SetAside, ...] = ()
    rubric_unsaid: int = 0
    unasked: int = 0

    @property
    def table(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Rows: people pass, people fail. Columns: the judge passes, fails. Unclear and tied trials are left out."""
        cells = Counter((each.people, each.judge) for each in self.trials)
        return (cells["pass", True], cells["pass", False]), (cells["fail", True], cells["fail", False])


def judged_trials(records: Iterable[TrialRecord], labels: Iterable[Label], grader: str) -> JudgedTrials:
    """Put people's verdicts beside those of the grader named ``grader``.

    A label counts for the criterion that it names. One of the whole trial counts where no other grade decides that
    trial, for then its verdict is the grader's. Several raters: the verdict that more than half of them gave; without
    one the trial is a tie. A label on an attempt that was run again counts no more, nor one whose probability can't be
    one, nor one of the criterion that was given on another rubric. Tasks of split *tune* stand apart where there are
    others.
    """
    own, whole = _by_trial(labels, grader)
    trials: list[tuple[str, JudgedTrial]] = []
    unknown = errors = other = unsaid = unasked = 0
    seen: dict[str, None] = {}
    held: list[Label] = []
    aside: list[SetAside] = []
    for record in records:
        seen.update(dict.fromkeys(grade.name for grade in record.grades))
        key = record.key
        grade = record.grade(grader)
        rubric = "" if grade is None else grade.rubric
        said, of_all = (_usable(group.pop(key, ()), record.started, rubric, aside) for group in (own, whole))
        held += said + of_all
        unsaid += sum(not label.rubric for label in said) if rubric else 0
        if grade is None or not record.counts:
            continue
        if not said and of_all:
            said = of_all if _alone(record, grade) else []
            other += len(of_all) if not said else 0
        if grade.passed is None:
            errors, unknown = errors + (grade.error is not None), unknown + (grade.error is None)
            continue
        if grade.judged is not None and grade.judged.unasked:
            unasked += 1
            continue
        trials.append((record.split, _trial(record, grade, said)))
    apart = [trial for split, trial in trials if split != "tune"]
    kept = apart or [trial for _, trial in trials]
    aside += [SetAside(label, "no trial") for group in (own, whole) for left in group.values() for label in left]
    tuned = len(trials) - len(kept)
    return JudgedTrials(
        tuple(kept),
        unknown,
        errors,
        other,
        tuned,
        tuple(seen),
        tuple(held),
        tuple(aside),
        rubric_unsaid=unsaid,
        unasked=unasked,
    )


def _usable(labels: Iterable[Label], began: str, rubric: str, aside: list[SetAside]) -> list[Label]:
    """The labels on a trial that began then and was judged by this rubric; the others are put ``aside``."""
    good = []
    for label in labels:
        if not is_about(label, began):
            aside.append(SetAside(label, "older"))
        elif not can_be_drawn_with(label.probability):
            aside.append(SetAside(label, "probability"))
        elif not answers_rubric(label, rubric):
            aside.append(SetAside(label, "rubric"))
        else:
            good.append(label)
    return good


def _by_trial(labels: Iterable[Label], grader: str) -> tuple[dict[TrialKey, list[Label]], dict[TrialKey, list[Label]]]:
    """The labels of the criterion, and those of whole trials."""
    own: dict[TrialKey, list[Label]] = {}
    whole: dict[TrialKey, list[Label]] = {}
    for label in standing(labels):
        if label.grader in ("", grader):
            group = own if label.grader else whole
            group.setdefault(label.key, []).append(label)
    return own, whole


def _alone(record: TrialRecord, grade: Grade) -> bool:
    """Whether the grade alone made the trial pass or fail."""
    deciding = [each for each in record.grades if each.role is not Role.ADVISORY]
    return deciding == [grade] and record.passed is grade.passed


def _trial(record: TrialRecord, grade: Grade, said: Sequence[Label]) -> JudgedTrial:
    samples = {label.sample for label in said}
    sample = min(samples, default="") if samples <= set(_DRAWN) else ""
    chances = {label.probability for label in said}
    return JudgedTrial(
        arm=record.arm,
        task=record.task,
        trial=record.trial,
        family=record.family,
        tags=record.tags,
        judge=bool(grade.passed),
        passed=record.passed,
        version=JudgeVersion.of(grade),
        people=_majority(said),
        sample=sample,
        probability=chances.pop() if sample and len(chances) == 1 else None,
        blind=bool(said) and all(label.blind for label in said),
    )


def _majority(said: Sequence[Label]) -> PeopleSay | None:
    if not said:
        return None
    [(verdict, votes)] = Counter(label.verdict for label in said).most_common(1)
    return verdict if 2 * votes > len(said) else "tie"
