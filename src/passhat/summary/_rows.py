"""The tables below the headline: tasks, tags, splits, graders, errors, usage."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from passhat.stats import wilson
from passhat.summary._measure import PassRate
from passhat.summary._spend import Spend
from passhat.summary._tables import ErrorRow, GraderRate, GroupRow, Range, TaskRow, TaskVerdict, UsageTotals
from passhat.summary._tally import ErrorKey, GraderTally, SplitTally, Tally, TaskTally
from passhat.summary._worlds import Headline

MIN_TRIALS = 3
"""Below so many trials a task has no interval and is neither solid nor never solved."""


def verdict_of_task(n: int, c: int) -> TaskVerdict:
    """The word for a task: *solid* (passed every time), *never*, *flaky* (both), *too few* trials, *untested*.

    Two trials that differ are enough for *flaky*; it takes three alike for the other two.

    >>> [verdict_of_task(n, c) for n, c in ((5, 5), (5, 3), (5, 0), (2, 1), (2, 2), (0, 0))]
    ['solid', 'flaky', 'never', 'flaky', 'too few', 'untested']
    """
    if n == 0:
        return "untested"
    if 0 < c < n:
        return "flaky"
    if n < MIN_TRIALS:
        return "too few"
    return "solid" if c else "never"


def task_row(task: TaskTally, n: int, level: float) -> TaskRow:
    """One task with the n that its policy gives it."""
    scored = task.scored + task.unscored_failures
    known = wilson(task.c, n, level=level) if n >= MIN_TRIALS else None
    return TaskRow(
        task=task.task,
        n=n,
        c=task.c,
        estimate=task.c / n if n else None,
        interval=None if known is None else (known.low, known.high),
        verdict=verdict_of_task(n, task.c),
        score=min(1.0, task.score / scored) if task.scored else None,
        seconds=task.seconds or None,
        tokens=task.spend.tokens,
        dollars=task.spend.dollars,
        missing=task.missing,
        ran=task.ran,
        partial=tuple(name for name in task.spend.partial_names if name in ("tokens", "dollars")),
        outcomes=task.outcomes,
        split=task.split,
        family=task.family,
        tags=task.tags,
    )


def group_row(name: str, headline: Headline, level: float) -> GroupRow:
    """pass@1 of some of the tasks."""
    rate = headline.pass_rate()
    return GroupRow(
        name=name,
        tasks=len(headline.tasks),
        n=sum(rate.ns) if rate else 0,
        c=sum(rate.cs) if rate else 0,
        missing=headline.missing,
        estimate=rate.estimate if rate else None,
        these_tasks=_these(rate, level),
    )


def by_tag(headline: Headline, level: float) -> tuple[GroupRow, ...]:
    """A row a tag, in alphabetical order; a task with two tags is in two rows."""
    tags = sorted({tag for task in headline.tasks for tag in task.tags})
    return tuple(
        group_row(tag, replace(headline, tasks=[t for t in headline.tasks if tag in t.tags]), level) for tag in tags
    )


def by_split(tasks: Iterable[TaskTally], headline: Headline, level: float) -> tuple[GroupRow, ...]:
    """A row a split, the headline's first."""
    groups: dict[str, list[TaskTally]] = {}
    for task in (*headline.tasks, *tasks):
        members = groups.setdefault(task.split, [])
        if task not in members:
            members.append(task)
    return tuple(group_row(name, replace(headline, tasks=members), level) for name, members in groups.items())


def grader_rates(headline: Headline, level: float) -> tuple[GraderRate, ...]:
    """A row a grader, in the order in which they were first seen; one that only records a word has none."""
    names = dict.fromkeys(name for task in headline.tasks for name in task.graders)
    rows = (_grader_rate(name, headline, level) for name in names)
    return tuple(row for row in rows if row.n or row.errors or row.unknown or row.scored)


def _grader_rate(name: str, headline: Headline, level: float) -> GraderRate:
    tallies = [task.graders[name] for task in headline.tasks if name in task.graders]
    rate = headline.grader(name, "counted")
    scored = sum(tally.scored for tally in tallies)
    return GraderRate(
        name=name,
        n=sum(tally.n for tally in tallies),
        passed=sum(tally.passed for tally in tallies),
        estimate=rate.estimate if rate else None,
        these_tasks=_these(rate, level),
        role=tallies[0].role,
        errors=sum(tally.errors for tally in tallies),
        unknown=sum(tally.unknown for tally in tallies),
        score=math.fsum(tally.score for tally in tallies) / scored if scored else None,
        example=next((tally.example for tally in tallies if tally.example is not None), None),
        scored=scored,
        only_scores=tallies[0].role == "advisory" and _no_bar(tallies),
    )


def _no_bar(tallies: Sequence[GraderTally]) -> bool:
    """Whether only a full score passes though there is partial credit, or nothing passes or fails at all."""
    if not any(tally.n for tally in tallies):
        return any(tally.scored for tally in tallies)
    return any(tally.above_none for tally in tallies) and not any(tally.below_one for tally in tallies)


def _these(rate: PassRate | None, level: float) -> Range | None:
    if rate is None:
        return None
    low, high = rate.interval("these tasks", level)
    return low, high


def error_rows(splits: Sequence[SplitTally]) -> tuple[ErrorRow, ...]:
    """A row a way to end, the most frequent first."""
    errors: Counter[ErrorKey] = Counter()
    for split in splits:
        errors.update(split.errors)
    rows = []
    for key, count in errors.most_common():
        status, kind, type_, missing, _ = key
        example = next(split.examples[key] for split in splits if key in split.examples)
        rows.append(ErrorRow(status, kind, type_, count, missing, example))
    return tuple(rows)


def usage_totals(tally: Tally) -> UsageTotals:
    """What all tasks spent, those of the tune split too."""
    spend = Spend()
    for task in tally.tasks.values():
        spend.merge(task.spend)
    return UsageTotals(
        model_calls=spend.model_calls,
        input_tokens=spend.whole("input_tokens"),
        cached_tokens=spend.whole("cached_tokens"),
        output_tokens=spend.whole("output_tokens"),
        reasoning_tokens=spend.whole("reasoning_tokens"),
        tokens=spend.tokens,
        dollars=spend.dollars,
        seconds=math.fsum(task.seconds for task in tally.tasks.values()) or None,
        trials=sum(task.ran for task in tally.tasks.values()),
        retried=tally.retried,
        passed_later=tally.passed_later,
        partial=spend.partial_names,
    )
