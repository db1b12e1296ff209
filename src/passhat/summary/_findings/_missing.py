"""Rules about trials that are missing, failed for others' reasons, or ran more than once."""

from __future__ import annotations

from collections.abc import Iterator

from passhat.facts import Status, count, named, plural
from passhat.summary._findings._evidence import Evidence, percent
from passhat.summary._report import Finding

_MANY = 0.1
_TREATED = {
    "bound": "they are left out of the estimates, and the bounds beside these say what they could change",
    "exclude-provider": "they are left out of the estimates, and the bounds beside these say what they could change",
    "fail": "they count as failures (--missing fail)",
    "exclude": "they are left out (--missing exclude), which flatters the agent if failing trials are lost more often",
}


def missing_trials(evidence: Evidence) -> Iterator[Finding]:
    """Missing is never dropped in silence."""
    trials = evidence.report.trials
    if not trials.missing:
        return
    why = ", ".join(f"{Status(status).words} {number}×" for status, number in evidence.report.missing.items())
    yield Finding(
        "missing-trials",
        "warning",
        f"{trials.missing} of {count(trials.planned, 'trial')} have no verdict ({why}): {_TREATED[trials.policy]}",
        tuple(task.task for task in evidence.headline.tasks if task.missing),
    )


def stopped(evidence: Evidence) -> Iterator[Finding]:
    """The reason (a limit, a provider that lets nobody in) is said; without any verdict it is the whole news."""
    run = evidence.manifest
    if run.state == "stopped" and run.stop_reason:
        yield Finding(
            "stopped",
            "warning" if evidence.report.trials.counted else "error",
            f"The run was stopped before its end, and can be resumed: {run.stop_reason}",
        )


def one_sided(evidence: Evidence) -> Iterator[Finding]:
    """Where a grader failed, a failure may be known from another grader, and a pass from none."""
    tasks = [task for task in evidence.headline.tasks if task.ungraded]
    known, lost = (sum(getattr(task, name) for task in tasks) for name in ("failed_anyway", "ungraded"))
    if not known or evidence.headline.policy == "fail":
        return
    first = next(iter(evidence.report.pass_at), None)
    bounds = first.if_missing if first is not None else None
    between = "" if bounds is None else f" ({bounds[0]:.3f} to {bounds[1]:.3f})"
    counted = count(known, "counts as a failure", "count as failures")
    gone = count(lost, "is missing", "are missing")
    again = "passhat regrade" if evidence.report.regrade or evidence.tally.refused else "passhat resume"
    yield Finding(
        "one-sided",
        "warning",
        f"A grader failed on {count(known + lost, 'trial')} of {count(len(tasks), 'task')}: {counted} all "
        f"the same, by another required grader, and {gone}, among them every trial that would pass. "
        f"pass@1, its interval and these tasks lean to failure: read the bounds{between}, and have the trials graded "
        f"again ({again} {evidence.manifest.run_id})",
        tuple(task.task for task in tasks),
    )


def untested_tasks(evidence: Evidence) -> Iterator[Finding]:
    """Tasks that the estimates can't include."""
    untested = [task.task for task in evidence.headline.tasks if not evidence.headline.trials(task)]
    number = len(untested)
    if untested:
        yield Finding(
            "untested-tasks",
            "error" if number == len(evidence.headline.tasks) else "warning",
            f"{count(number, 'task has', 'tasks have')} no trial with a verdict and {plural(number, 'is', 'are')} in "
            f"no estimate ({named(untested)})",
            tuple(untested),
        )


def provider_errors(evidence: Evidence) -> Iterator[Finding]:
    """The provider's failures look like the agent's."""
    number = evidence.report.failures.get("provider_error", 0)
    if number:
        yield Finding(
            "provider-errors",
            "warning",
            f"{count(number, 'trial')} failed because the provider did (429, 5xx or no answer) and count as failures "
            "of the agent; --missing exclude-provider makes them missing instead",
        )


def limits(evidence: Evidence) -> Iterator[Finding]:
    """Bounds that many trials reach measure the bounds."""
    failures, counted = evidence.report.failures, evidence.report.trials.counted
    number = failures.get("timeout", 0) + failures.get("limit", 0)
    if counted and number / counted > _MANY:
        yield Finding(
            "limits-reached",
            "warning",
            f"{count(number, 'trial')} ({percent(number / counted)}) reached a time limit or another bound and count "
            "as failures: if that is not what you meant to measure, raise Limits(...)",
        )


def retried(evidence: Evidence) -> Iterator[Finding]:
    """Earlier attempts were paid for."""
    number = evidence.report.usage.retried
    if number:
        yield Finding(
            "retried",
            "note",
            f"{count(number, 'attempt')} failed for reasons outside the agent and {plural(number, 'was', 'were')} "
            f"run again; time, tokens and dollars include them{_passed_later(evidence.report.usage.passed_later)}",
        )


def _passed_later(number: int) -> str:
    if not number:
        return ""
    return f". {count(number, 'pass', 'passes')} came on a later try: passhat show RUN names them and why they had one"


def partial_sums(evidence: Evidence) -> Iterator[Finding]:
    """A sum over partly known values is a known subtotal."""
    partial = evidence.report.usage.partial
    if partial:
        names = ", ".join(name.replace("_", " ") for name in partial)
        yield Finding(
            "partial-sums",
            "note",
            f"Not every model call said what it spent: the sums of {names} are known subtotals, the true ones "
            "are higher",
        )


def other_arms(evidence: Evidence) -> Iterator[Finding]:
    """A report is about one arm."""
    others = evidence.tally.other_arms
    if others:
        names = named(f"{arm!r} ({number} trials)" for arm, number in sorted(others.items()))
        yield Finding("one-arm", "note", f"This report is about arm {evidence.report.arm!r}; left out: {names}")


RULES = (
    missing_trials,
    stopped,
    one_sided,
    untested_tasks,
    provider_errors,
    limits,
    retried,
    partial_sums,
    other_arms,
)
