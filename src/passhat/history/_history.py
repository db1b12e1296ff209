"""A suite over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from passhat.facts import count, plural
from passhat.history._changes import changes
from passhat.history._collect import Found, collect
from passhat.history._errors import HistoryError
from passhat.history._judges import judge_findings, judge_points
from passhat.history._points import commit_of, left_out, point, stale_against
from passhat.history._reruns import reruns
from passhat.history._result import History
from passhat.summary import Finding

STALE_DAYS = 30
"""After so many days a result says little about a model that its provider may have changed."""


def history(
    suite: str,
    roots: Sequence[Path | str] = (".passhat",),
    *,
    since: str | None = None,
    level: float = 0.95,
    current: Mapping[str, str] | None = None,
    now: datetime | None = None,
) -> History:
    """All runs of ``suite`` below ``roots``, what changed since the last and since a chosen one, and re-runs pooled.

    ``since`` is the id of a run, or a unique beginning or end of one, or a commit. ``current`` maps the tasks of the
    suite as it is now to their hashes, so that results of tasks that have changed are called stale. Raises
    `HistoryError` when there is no run.
    """
    found, problems = collect(suite, roots)
    newest = found[-1]
    points = tuple(
        point(each, arm, level, stale_against(each.manifest, newest.manifest))
        for each in found
        for arm in each.manifest.arms
    )
    judges = judge_points(found, level)
    comparable = [each for each in found[:-1] if each.manifest.main_arm == newest.manifest.main_arm]
    return History(
        suite=suite,
        level=level,
        runs=points,
        since_last=changes(comparable[-1], newest, 1 - level) if comparable else None,
        since=None if since is None else changes(_chosen(found, since), newest, 1 - level),
        reruns=reruns(found, level),
        findings=(
            *_findings(found, problems, current, now or datetime.now(UTC)),
            *judge_findings(judges, 1 - level),
        ),
        judges=judges,
    )


def _chosen(found: Sequence[Found], text: str) -> Found:
    named = [
        each
        for each in found
        if each.manifest.run_id == text
        or (text and (each.manifest.run_id.startswith(text) or each.manifest.run_id.endswith(text)))
        or (len(text) >= 4 and (commit_of(each.manifest) or "").startswith(text))
    ]
    exact = [each for each in named if each.manifest.run_id == text]
    if len(exact or named) == 1:
        return (exact or named)[0]
    commits = {commit_of(each.manifest) for each in named}
    if len(commits) == 1 and None not in commits:  # several runs of the commit that was named: the last of them
        return named[-1]
    known = ", ".join(each.manifest.run_id for each in found[-5:])
    what = f"{len(named)} runs answer" if named else "no run answers"
    raise HistoryError(f"{what} to {text!r}; the newest are {known}")


def _findings(
    found: Sequence[Found], problems: Sequence[str], current: Mapping[str, str] | None, now: datetime
) -> Iterator[Finding]:
    for problem in problems:
        yield Finding("unreadable", "warning", problem)
    newest = found[-1].manifest
    age = _days(newest.started, now)
    if age is not None and age > STALE_DAYS:
        yield Finding("stale", "warning", f"the newest run is {age} days old: run it again before relying on it")
    if current is not None:
        yield from _outdated(newest.task_hashes, current)
    if newest.state != "finished":
        yield Finding("unfinished", "warning", f"the newest run is {newest.state}: its rates are of what it got to")
    stopped = [each for each in found if left_out(each)]
    if stopped:
        text = (
            f"{len(stopped)} of {count(len(found), 'run')} stopped early, once the verdict was certain: such a run's "
            "rates are no estimates, and aren't taken together with others"
        )
        yield Finding("stopped-early", "warning", text)
    yield from _models(found)


def _outdated(recorded: Mapping[str, str], current: Mapping[str, str]) -> Iterator[Finding]:
    changed = tuple(task for task, hash_ in current.items() if task in recorded and recorded[task] != hash_)
    new = tuple(task for task in current if task not in recorded)
    if changed:
        text = f"{count(len(changed), 'task')} changed since the newest run: their results are stale"
        yield Finding("stale-tasks", "warning", text, changed)
    if new and recorded:
        text = f"{count(len(new), 'task')} of the suite {plural(len(new), 'was', 'were')} never run"
        yield Finding("never-run", "note", text, new)


def _models(found: Sequence[Found]) -> Iterator[Finding]:
    """Where the name stayed and what the provider served didn't."""
    last: dict[str | None, tuple[str, ...]] = {}
    for each in found:
        run = each.manifest
        served = tuple(sorted(run.models_reported))
        before = last.get(run.model_requested)
        if served and before and before != served:
            name = run.model_requested or "the agent's own model"
            text = f"{run.run_id}: {name} was answered by {', '.join(served)}, before by {', '.join(before)}"
            yield Finding("model-changed", "warning", text)
        if served:
            last[run.model_requested] = served


def _days(started: str, now: datetime) -> int | None:
    try:
        moment = datetime.fromisoformat(started)
    except ValueError:
        return None
    return (now - (moment if moment.tzinfo else moment.replace(tzinfo=UTC))).days
