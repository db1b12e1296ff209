"""What a reader should know about a comparison beside its verdict."""

from __future__ import annotations

from collections.abc import Iterator

from passhat.comparing._pairs import Pairs
from passhat.comparing._result import Lift
from passhat.comparing._verdict import Judge, moved, too_few_moved
from passhat.facts import count
from passhat.stats import MIN_DIFFERENCES, MIN_TASKS_POPULATION
from passhat.summary import Finding, Report

_MOST = 20
_TRIED = 3  # with fewer trials a task that never passed is nothing odd


def flags(before: Report, after: Report, pairs: Pairs, lift: Lift | None, judge: Judge) -> tuple[Finding, ...]:
    """Findings in a fixed order."""
    return tuple(_flags(before, after, pairs, lift, judge))


def _flags(before: Report, after: Report, pairs: Pairs, lift: Lift | None, judge: Judge) -> Iterator[Finding]:
    if pairs.blocked:
        share = f"{len(pairs.blocked)} of {count(len(pairs.blocked) + len(pairs.pairs), 'task')} could not be compared"
        names = tuple(each.task for each in pairs.blocked[:_MOST])
        yield Finding("partial", "warning", f"{share}: the lift is over a subset", names)
    if lift is None:
        return
    for name, value, note in (("baseline", lift.baseline, "better"), ("candidate", lift.candidate, "how good it is")):
        if value == 1:
            text = f"the {name} passes every trial: these tasks are too easy to show {note}"
            yield Finding(f"{name}-saturated", "note", text)
    floor = tuple(
        p.task for p in pairs.pairs if not p.before.c and not p.after.c and min(p.before.n, p.after.n) >= _TRIED
    )
    if floor:
        words = count(len(floor), "task fails", "tasks fail")
        yield Finding(
            "floor", "note", f"{words} every trial on both sides: suspect the task or its grader", floor[:_MOST]
        )
    if pairs.units >= MIN_TASKS_POPULATION and not pairs.hand_picked and moved(pairs) < MIN_DIFFERENCES:
        text = f"about tasks like these: {too_few_moved(moved(pairs))}"
        yield Finding("too-few-moved", "note", text)
    yield from _tension(lift, judge)
    same = _commits(before), _commits(after)
    if all(same) and same[0] == same[1] and before.run.run_id != after.run.run_id and lift.estimate:
        models = before.run.model_requested == after.run.model_requested
        if models:
            text = "both runs are of one commit and one model: what differs between them is chance, or the provider"
            yield Finding("same-commit", "note", text)


def _commits(report: Report) -> str | None:
    git = report.run.git
    return None if git is None or git.dirty is not False else git.commit


def _tension(lift: Lift, judge: Judge) -> Iterator[Finding]:
    """Where test and interval, or the two targets, don't say the same."""
    claim = judge.claim(lift)
    if claim is not None:
        low, high = claim.interval
        if claim.p <= judge.alpha and low <= 0 <= high:
            text = f"the test finds a difference on {judge.of} and the interval, which is more cautious, touches 0"
            yield Finding("test-and-interval", "note", text)
    other = lift.tasks_like_these
    if judge.of == "these tasks" and other is not None and lift.these_tasks.p <= judge.alpha < other.p:
        text = "these tasks changed; that tasks like these did is not shown"
        yield Finding("these-tasks-only", "note", text)
