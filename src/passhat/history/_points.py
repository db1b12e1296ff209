"""One run as a point of a history."""

from __future__ import annotations

from passhat.facts import Manifest, Status, TaskCount, count
from passhat.history._collect import Found
from passhat.history._result import Point
from passhat.records import RunReader
from passhat.stats import MIN_TASKS_POPULATION, interval, suite_rate


def counts_of(found: Found) -> tuple[TaskCount, ...]:
    """Counts a task and arm: those that a finished run left, else counted from its records."""
    if found.manifest.counts:
        return found.manifest.counts
    tally: dict[tuple[str, str], list[int]] = {}
    for record in RunReader(found.path).trials():
        if record.counts:
            row = tally.setdefault((record.arm, record.task), [0, 0, 0])
            row[2 if record.passed is None else 0] += 1
            row[1] += record.passed is True
    return tuple(TaskCount(task, n, c, missing, arm) for (arm, task), (n, c, missing) in tally.items())


def left_out(found: Found) -> int:
    """How many trials a run didn't need, because it could stop early: what it measured is then no estimate."""
    if found.manifest.stop == "full":
        return 0
    return sum(record.status is Status.NOT_NEEDED for record in RunReader(found.path).trials())


def held_out(manifest: Manifest, counts: tuple[TaskCount, ...], arm: str) -> dict[str, tuple[int, int]]:
    """(trials, passed) of each task with a verdict; tasks of split *tune* stand apart where there are others."""
    rows = {count.task: (count.n, count.c) for count in counts if count.arm == arm and count.n}
    apart = {task: row for task, row in rows.items() if manifest.task_splits.get(task) != "tune"}
    return apart or rows


def point(found: Found, arm: str, level: float, stale: str) -> Point:
    """What a history shows of one arm of a run."""
    run = found.manifest
    counts = counts_of(found)
    rows = held_out(run, counts, arm)
    rate = these = like = None
    if rows:
        ns, cs = [n for n, _ in rows.values()], [c for _, c in rows.values()]
        rate = suite_rate(ns, cs)
        ends = interval(ns, cs, level=level)
        these = (ends.low, ends.high)
        if not run.hand_picked and len(ns) >= MIN_TASKS_POPULATION and not run.task_families:
            ends = interval(ns, cs, of="tasks like these", level=level)
            like = (ends.low, ends.high)
    return Point(
        run=run.run_id,
        arm=arm,
        path=str(found.path),
        started=run.started,
        state=run.state,
        host=run.host,
        commit=commit_of(run),
        model=run.model_requested,
        models_reported=tuple(sorted(run.models_reported)),
        model_source=run.model_source,
        tasks=len(rows),
        trials=sum(n for n, _ in rows.values()),
        missing=sum(count.missing for count in counts if count.arm == arm),
        left_out=left_out(found),
        pass_at_1=rate,
        these_tasks=these,
        tasks_like_these=like,
        stale=stale,
        gates=run.gates,
    )


def commit_of(run: Manifest) -> str | None:
    """The commit, with "+" when the tree was dirty and "?" when git couldn't say."""
    return None if run.git is None else run.git.name


def stale_against(run: Manifest, newest: Manifest) -> str:
    """Why a run doesn't measure what the newest does; empty when it does, as far as the manifests tell."""
    reasons = []
    if run.task_hashes and newest.task_hashes:
        both = [task for task in run.task_ids if task in newest.task_hashes]
        changed = sum(run.task_hashes.get(task) != newest.task_hashes[task] for task in both)
        other = len(set(run.task_ids) ^ set(newest.task_ids))
        if changed:
            reasons.append(f"{count(changed, 'task')} redefined since")
        if other:
            reasons.append(f"{count(other, 'task')} added or removed since")
    elif run.tasks_hash != newest.tasks_hash:
        reasons.append("other tasks")
    if run.graders != newest.graders:
        reasons.append("other graders")
    if run.model_source != newest.model_source and not {run.model_source, newest.model_source} <= {"live", "unseen"}:
        reasons.append(f"a {run.model_source} model")
    return ", ".join(reasons)
