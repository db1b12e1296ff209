"""The verdicts of a run: on its own gates, on those of its tasks, and what they make of its exit code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from passhat.facts import Manifest
from passhat.suite import Gate
from passhat.summary._counted import Counted
from passhat.summary._exit_codes import ExitCode
from passhat.summary._gates import GateJudge, Terms, exit_code
from passhat.summary._rates import Population
from passhat.summary._report import GateRow
from passhat.summary._worlds import Headline


class Verdicts(NamedTuple):
    """A row for each gate, what an undecided one does, the exit code, and why it isn't 0."""

    rows: tuple[GateRow, ...]
    undecided: Literal["pass", "fail"]
    code: ExitCode
    why: str


def judge_gates(
    counted: Counted,
    headline: Headline,
    population: Population,
    gates: Sequence[Gate],
    terms: Terms,
) -> Verdicts:
    """Judge the gates of a run and of its tasks."""
    judge = GateJudge(counted.manifest, headline, population, counted.amounts, terms, counted.not_needed)
    of_run = [judge.judge(gate) for gate in gates]
    of_tasks = counted.task_gates.judge(headline, terms)
    policy = undecided_policy(counted.manifest, terms.undecided)
    code, why = exit_code(
        [*of_run, *counted.task_gates.deciding(of_tasks, terms.undecided)],
        gates,
        counted.task_gates.loose(headline),
        headline.policy,
        undecided_fails=policy == "fail",
        tampered=terms.tampered,
    )
    return Verdicts((*of_run, *of_tasks), policy, code, why)


def undecided_policy(manifest: Manifest, asked: str | None) -> Literal["pass", "fail"]:
    """Whether a gate of the run that stays undecided lets it pass: as asked, as the suite says, or by its kind.

    Raises ValueError for another word.

    >>> undecided_policy(Manifest(run_id="r", suite="s", kind="regression"), None)
    'fail'
    """
    word = asked or manifest.undecided or ("fail" if manifest.kind == "regression" else "pass")
    if word not in ("pass", "fail"):
        raise ValueError(f"undecided={word!r}: must be 'pass' or 'fail'")
    return "fail" if word == "fail" else "pass"
