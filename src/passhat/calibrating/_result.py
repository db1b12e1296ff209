"""The one object that says how far a judge agrees with people, and what its rate would be by theirs.

Encoded as JSON it is ``calibrate --json``. Rates are in 0..1, intervals are [low, high]; None is *unknown* or
*refused*, never 0.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from passhat.calibrating._robustness_result import Range, Robustness
from passhat.summary import Agreement, ExitCode, Finding

SCHEMA = 1
Method = Literal["post-stratified", "Rogan–Gladen"]
Dimension = Literal["arm", "tag", "family", "task"]


class Share(msgspec.Struct, frozen=True):
    """A share of ``n`` labelled trials, with its interval; None where there are none."""

    estimate: float | None
    interval: Range | None
    n: int


class Quality(msgspec.Struct, frozen=True, kw_only=True):
    """A judge beside people. ``table`` rows: people pass, people fail; columns: the judge passes, fails; in trials.

    ``sensitivity``: of what people pass, the share that the judge passes; ``specificity``: of what people fail, the
    share that it fails. ``precision``: of what the judge passes, the share that people pass; ``precision_fail``: of
    what it fails, the share that people fail. ``agreement`` is the raw one, ``kappa`` Cohen's (None: undefined,
    both sides used one and the same verdict only). ``weighted``: labels weren't a plain random sample, so that each
    counts for the trials that it stands for; ``n`` of a share is then the number of equal labels that say as much.
    """

    table: tuple[tuple[int, int], tuple[int, int]]
    labels: int
    sensitivity: Share
    specificity: Share
    precision: Share
    precision_fail: Share
    agreement: Share
    kappa: float | None
    kappa_interval: Range | None
    better_than_chance: float | None
    weighted: bool = False


class Estimate(msgspec.Struct, frozen=True):
    """A pass rate. ``these_tasks`` allows for chance in trials and labels, ``tasks_like_these`` for the choice of
    tasks too (None where that can't be claimed)."""

    estimate: float
    these_tasks: Range
    tasks_like_these: Range | None
    method: str


class Correction(msgspec.Struct, frozen=True, kw_only=True):
    """The pass rate as the judge sees it (``raw``), as people see it through the judge (``corrected``), and why.

    ``people`` is what people say alone, without the judge, where the labels are a plain random sample. ``refused`` says
    why there is no corrected rate, ``way_out`` what would give one. ``passed_too_many`` and ``failed_too_many`` are
    the judge's errors, in trials out of ``judged``.
    """

    judged: int
    raw: Estimate
    people: Estimate | None = None
    corrected: Estimate | None = None
    method: Method | None = None
    passed_too_many: float | None = None
    failed_too_many: float | None = None
    why: str = ""
    refused: str = ""
    way_out: str = ""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """The judge on a part of the trials; ``corrected`` is None with fewer than 10 labels, or where it is refused."""

    by: Dimension
    name: str
    judged: int
    quality: Quality
    raw: float | None
    corrected: Estimate | None


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Trials of the labelled run: judged, of them read by people, and what came of it; and what isn't used.

    ``labelled`` have a verdict of people, ``drawn`` of them by chance. ``other_labels`` are labels of whole trials in
    which other graders decide too, ``other_rubric`` those that were given on another rubric than the one that judged.
    ``unknown`` and ``errors`` are trials that the grader didn't judge, ``unasked`` those with an empty answer, which
    fails without asking a judge.
    """

    judged: int
    labelled: int
    drawn: int
    unclear: int
    ties: int
    blind: int
    tasks_labelled: int
    tasks: int
    other_labels: int
    other_rubric: int
    unknown: int
    errors: int
    unasked: int


class Needed(msgspec.Struct, frozen=True):
    """So many labels in all make the corrected interval about so wide. ``labels`` is None where no number does."""

    width: float
    labels: int | None


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """How far the grader agrees with people. ``labels_from`` is the run that was labelled, ``run`` the one whose rate
    is corrected. ``robustness`` is there when the judge was asked again."""

    schema: int = SCHEMA
    run: str
    labels_from: str
    grader: str
    level: float
    counts: Counts
    quality: Quality
    correction: Correction
    parts: tuple[Part, ...]
    needed: tuple[Needed, ...]
    raters: tuple[Agreement, ...]
    findings: tuple[Finding, ...]
    robustness: Robustness | None = None

    @property
    def exit_code(self) -> ExitCode:
        """1 where a control passed; 3 where one couldn't be judged, or nobody read a trial and nothing else was asked
        for; 4 where the corrected rate is refused; else 0."""
        checked = self.robustness
        if checked is not None and checked.leaky:
            return ExitCode.GATE_NOT_MET
        if checked is not None and checked.errors:
            return ExitCode.INCOMPLETE
        if not self.counts.labelled and not self.counts.other_rubric:
            return ExitCode.INCOMPLETE if checked is None else ExitCode.FINE
        return ExitCode.UNDECIDED if self.correction.corrected is None else ExitCode.FINE

    def to_json(self) -> bytes:
        """The calibration as JSON, UTF-8, on one line, with its exit code."""
        return msgspec.json.encode({**msgspec.structs.asdict(self), "exit_code": int(self.exit_code)})
