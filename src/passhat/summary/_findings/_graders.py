"""Rules about the graders: those that failed, and those that never say anything else."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from passhat.facts import Role, count, named
from passhat.summary._findings._evidence import Evidence
from passhat.summary._report import Finding
from passhat.summary._tables import GraderRate

_MANY = 10
_FEW_TASKS = 3


def grader_errors(evidence: Evidence) -> Iterator[Finding]:
    """A grader that fails is not a pass."""
    for grader in evidence.report.graders:
        if grader.errors:
            seen = [task.graders[grader.name].error for task in evidence.headline.tasks if grader.name in task.graders]
            reason = next((f": {error}" for error in seen if error), "")
            yield Finding(
                "grader-errors",
                "error" if not grader.n else "warning",
                f"Grader {grader.name!r} itself failed in {count(grader.errors, 'trial')}; "
                f"{_left(evidence, grader)}{reason}",
            )


def refused_code(evidence: Evidence) -> Iterator[Finding]:
    """A file that somebody wrote meanwhile isn't only a grader's fault."""
    if files := list(evidence.tally.refused):
        yield Finding(
            "refused-code",
            "warning",
            f"{named(files)} changed after the run had begun, by you or by an agent, so graders didn't import "
            f"{'it' if len(files) == 1 else 'them'}: look at what changed, restore or remove it, then have the trials "
            f"judged again (passhat regrade {evidence.manifest.run_id}); passhat resume refuses it as the run did",
        )


def _left(evidence: Evidence, grader: GraderRate) -> str:
    """What it means for a trial that this grader failed, and whether the grade is still made up."""
    if grader.role != Role.ADVISORY:
        return "such a trial has no verdict unless another required grader failed it"
    stands = "it is advisory, so the trial's verdict stands without it, and passhat resume doesn't ask it again"
    run = evidence.manifest.run_id
    return f"{stands} (passhat regrade {run} --grader {shlex.quote(grader.name)} does)" if run else stands


def one_answer_only(evidence: Evidence) -> Iterator[Finding]:
    """A grader that always says the same may be unable to say anything else."""
    tasks = {
        name: sum(name in task.graders for task in evidence.headline.tasks)
        for name in (grader.name for grader in evidence.report.graders)
    }
    saturated = all(task.c == task.n for task in evidence.headline.tasks)
    passed = sum(task.c for task in evidence.headline.tasks) + evidence.report.trials.missing
    for grader in evidence.report.graders:
        if grader.n < _MANY or tasks[grader.name] < _FEW_TASKS or grader.only_scores:
            continue
        if grader.passed == 0:
            yield Finding(
                "grader-never-passes",
                "warning",
                f"Grader {grader.name!r} passed none of {grader.n} trials: is it able to pass? Run it on a reference "
                "solution",
            )
        elif grader.passed == grader.n and not saturated:
            yield Finding(
                "grader-never-fails",
                "note",
                f"Grader {grader.name!r} passed all {grader.n} trials{', failed ones too' * (grader.n > passed)}: "
                "is it able to fail? Try it on a wrong outcome",
            )


RULES = (grader_errors, refused_code, one_answer_only)
