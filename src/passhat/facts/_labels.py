"""What people say of a trial after reading it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Literal

import msgspec

from passhat.facts._trials import TrialKey

Fault = Literal["agent", "task", "grader", "environment", "simulator"]
LONGEST_RATER = 100
LEAST_PROBABILITY = 1e-9
"""No run is so large that chance draws a trial of it more rarely."""


class Label(msgspec.Struct, frozen=True, omit_defaults=True):
    """One person's verdict on one trial; ``at`` is UTC, ISO 8601.

    ``sample`` says how the trial came to be read. *random*: drawn from all that were eligible, each with the same
    ``probability``. *weighted*: drawn with a ``probability`` that differs between strata. *passed*: drawn so from those
    that passed. *failed*: every failed trial is offered. *disputed*: its graders don't agree. *picked*: somebody chose
    it.
    """

    task: str
    trial: int
    verdict: Literal["pass", "fail", "unclear"]
    rater: str
    at: str
    arm: str = ""
    fault: Fault | None = None
    note: str = ""
    grader: str = ""  # the criterion that was judged, when it was one and not the whole trial
    blind: bool = False  # the judge's verdict was hidden
    sample: str = ""  # how the trial was chosen: "random", "weighted", "passed", "failed", …
    probability: float | None = None  # with which it was drawn, in 0..1; None when it wasn't drawn
    withdrawn: bool = False  # takes back what this rater said of this trial before
    rubric: str = ""  # of a judge's criterion: the hash of the rubric that judged it then (`Judged.rubric`)

    @property
    def key(self) -> TrialKey:
        """The trial that it is about."""
        return self.arm, self.task, self.trial


def can_be_a_rater(name: str) -> bool:
    """Whether somebody can be called so in labels: printable, with no comma, by which names are parted, and not long.

    >>> [can_be_a_rater(name) for name in ("ann", "Ann B.", "", "ann,ben", "a" * 101, "a\u202eb")]
    [True, True, False, False, False, False]
    """
    return bool(name.strip()) and name.isprintable() and len(name) <= LONGEST_RATER and "," not in name


def can_be_drawn_with(probability: float | None) -> bool:
    """Whether a trial may have been drawn with this probability: above 0 and at most 1, or none is known.

    >>> [can_be_drawn_with(value) for value in (None, 0.25, 1, 0, -1, 5, float("nan"))]
    [True, True, True, False, False, False, False]
    """
    return probability is None or LEAST_PROBABILITY <= probability <= 1


def answers_rubric(label: Label, rubric: str) -> bool:
    """Whether a label can answer this rubric: it does unless it says that it was given on another.

    >>> label = Label("t1", 0, "fail", "ann", "", grader="kind", rubric="3f2a")
    >>> answers_rubric(label, "3f2a"), answers_rubric(label, "90bc"), answers_rubric(label, "")
    (True, False, True)
    """
    return not label.rubric or not rubric or label.rubric == rubric


def contradicts_itself(label: Label) -> bool:
    """Whether a label passes a trial and says that the agent is to blame.

    >>> contradicts_itself(Label("t1", 0, "pass", "ann", "", fault="agent"))
    True
    """
    return label.verdict == "pass" and label.fault == "agent"


def standing(labels: Iterable[Label]) -> list[Label]:
    """What still holds: of each rater, trial and criterion the last label, unless it was withdrawn; oldest first.

    >>> first = Label("t1", 0, "fail", "ann", "2026-11-30T10:00:00Z")
    >>> second = Label("t1", 0, "pass", "ann", "2026-11-30T10:05:00Z")
    >>> [label.verdict for label in standing([first, second])]
    ['pass']
    """
    last: dict[tuple[str, str, int, str, str], Label] = {}
    for label in labels:
        key = (label.arm, label.task, label.trial, label.grader, label.rater)
        last.pop(key, None)
        last[key] = label
    return [label for label in last.values() if not label.withdrawn]


def is_about(label: Label, started: str) -> bool:
    """Whether a label can be about the attempt that began at ``started``: a trial that ran again is another one.

    Where one of the times isn't known, it is.

    >>> label = Label("t1", 0, "fail", "ann", "2026-11-30T10:00:00Z")
    >>> is_about(label, "2026-11-30T09:58:12.340+00:00"), is_about(label, "2026-12-01T08:00:00.000+00:00")
    (True, False)
    """
    said, began = _moment(label.at), _moment(started)
    return said is None or began is None or said + timedelta(seconds=1) > began  # labels have whole seconds


def _moment(text: str) -> datetime | None:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)
