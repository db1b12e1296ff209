"""The tables of a report: of tasks, graders, groups, errors, money, judges, and of what people read.

Units and None are those of the report.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from passhat.facts import ModelSource

Range = tuple[float, float]
TaskVerdict = Literal["solid", "flaky", "never", "too few", "untested"]


class Example(msgspec.Struct, frozen=True):
    """One trial that shows it: what `passhat show RUN TASK TRIAL` takes."""

    task: str
    trial: int
    reason: str


class GraderRate(msgspec.Struct, frozen=True):
    """How often one grader was satisfied, over the trials it judged: an invariant, measured.

    ``n`` is the number of trials it judged, ``passed`` those it passed; ``estimate`` weighs every task the same.
    ``errors`` counts the trials in which the grader itself failed, ``unknown`` those in which it couldn't tell.
    ``score`` is the mean over the ``scored`` trials. ``only_scores``: it decides nothing and no bar was set for its
    score, so that it can't be said to pass a trial.
    """

    name: str
    n: int
    passed: int
    estimate: float | None
    these_tasks: Range | None
    role: str
    errors: int
    unknown: int
    score: float | None
    example: Example | None
    scored: int = 0
    only_scores: bool = False


class TaskRow(msgspec.Struct, frozen=True):
    """One task: n trials with a verdict, c of them passed.

    ``interval`` is Wilson's, None below 3 trials. ``seconds``, ``tokens`` and ``dollars`` are sums over the ``ran``
    trials that were started, earlier attempts included; ``partial`` names the sums in which some parts were unknown.
    ``outcomes`` is one sign a trial in trial order: ``+`` passed, ``-`` failed, ``?`` missing (the first 100).
    """

    task: str
    n: int
    c: int
    estimate: float | None
    interval: Range | None
    verdict: TaskVerdict
    score: float | None
    seconds: float | None
    tokens: int | None
    dollars: float | None
    missing: int
    ran: int
    partial: tuple[str, ...]
    outcomes: str
    split: str
    family: str | None
    tags: tuple[str, ...]


class GroupRow(msgspec.Struct, frozen=True):
    """pass@1 of the tasks that share a tag or a split."""

    name: str
    tasks: int
    n: int
    c: int
    missing: int
    estimate: float | None
    these_tasks: Range | None


class ErrorRow(msgspec.Struct, frozen=True):
    """Trials that ended in the same way: a status, and the kind and type of the error."""

    status: str
    kind: str
    type: str
    count: int
    missing: bool
    example: Example


class UsageTotals(msgspec.Struct, frozen=True):
    """What the whole run spent: all arms' share of this report, failed trials and earlier attempts included.

    ``partial`` names the sums in which some parts were unknown: those are known subtotals. ``cached_tokens`` is part of
    ``input_tokens``, ``reasoning_tokens`` of ``output_tokens``. ``retried`` counts attempts that were run again, and
    ``passed_later`` the passes of trials that had one.
    """

    model_calls: int
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    tokens: int | None
    dollars: float | None
    seconds: float | None
    trials: int
    retried: int
    passed_later: int
    partial: tuple[str, ...]


class JudgeRow(msgspec.Struct, frozen=True, kw_only=True):
    """What one judge said of the ``judged`` trials.

    ``verdicts`` counts trials by the word that its samples came to, ``unresolved`` those where they came to none and
    people have to decide (``example`` is one), ``unasked`` those that failed by rule, as their answer is empty,
    ``errors`` those in which it couldn't be asked, of which
    ``failed_anyway`` by another required grader: those aren't graded again. ``disputed`` trials have samples that
    differ, whatever they came to. ``asked_again`` counts trials in which an answer in another form was
    thrown away, ``altered`` those whose text was cut or had characters that can't be seen.
    """

    name: str
    kind: str
    over: str
    models: tuple[str, ...]
    role: str
    judged: int
    verdicts: dict[str, int]
    unresolved: int
    disputed: int
    errors: int
    asked_again: int
    altered: int
    example: Example | None
    failed_anyway: int = 0
    unasked: int = 0


class Judging(msgspec.Struct, frozen=True, kw_only=True):
    """The models that judged, and what they spent beside the agent: never part of ``usage``.

    ``models`` were asked (PROVIDER/NAME), ``reported`` counts answers by the model that its provider named. ``partial``
    names the sums in which some parts were unknown.
    """

    models: tuple[str, ...]
    source: ModelSource | None
    reported: dict[str, int]
    model_calls: int
    tokens: int | None
    dollars: float | None
    partial: tuple[str, ...]
    judges: tuple[JudgeRow, ...]


class Agreement(msgspec.Struct, frozen=True):
    """Two raters over the ``n`` trials that both judged (pass, fail or unclear); ``agreed`` times they said the same.

    ``observed`` is the raw agreement, None at n = 0. ``kappa`` is Cohen's, with its interval; None where it is
    undefined because both used one and the same verdict only.
    """

    raters: tuple[str, str]
    n: int
    agreed: int
    observed: float | None
    kappa: float | None
    interval: Range | None


class RateWithout(msgspec.Struct, frozen=True):
    """pass@1 without the failures that people blame on something other than the agent: c of n trials, beside pass@1.

    It rests on the failures that were read, and nothing is taken from the passes: an upper reading, never the headline.
    """

    taken_out: int
    n: int
    c: int
    estimate: float | None
    these_tasks: Range | None
    tasks_like_these: Range | None
    method: str


class Reading(msgspec.Struct, frozen=True):
    """What people found who read transcripts of the headline's trials.

    ``failed_read`` of ``failed`` failures were read, and ``passed_read`` of ``passed``. ``faults`` counts the failures
    read by whom they are blamed on; *raters differ* where people don't agree. ``failed_cleared`` are failures that all
    who read them call passes, ``passed_failed`` passes that all who read them call failures.
    """

    failed: int
    failed_read: int
    passed: int
    passed_read: int
    missing_read: int
    raters: tuple[str, ...]
    faults: dict[str, int]
    failed_cleared: int
    passed_failed: int
    without: RateWithout | None
    agreement: tuple[Agreement, ...]
