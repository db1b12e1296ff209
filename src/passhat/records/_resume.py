"""Going on with a run that ended early: what forbids it, and the writer that continues."""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from passhat.facts import RULES, RUN_LIMITS, Attempt, Limits, Manifest, Status, TrialKey, TrialRecord, named
from passhat.records._again import take_over
from passhat.records._damage import cut_to_own
from passhat.records._disk import open_private, replace_durably, sweep_temporaries, sync_folder, write_durably
from passhat.records._encode import SafeEncoder
from passhat.records._errors import disk_error
from passhat.records._format import LOCK, SUPERSEDED, TRANSCRIPTS, TRIALS, decode_record, read_manifest
from passhat.records._lines import Lines
from passhat.records._lock import FileLock
from passhat.records._pairs import PairSet
from passhat.records._tally import Tally
from passhat.records._write_points import Hook
from passhat.records._writer import RunWriter, utc_now

ON_RESUME = frozenset(status for status, rule in RULES.items() if rule.again == "on resume")
GRADING_ONLY = frozenset(status for status, rule in RULES.items() if rule.again == "grading only")
"""Only the grading of such a trial can be repeated: what its agent did stands."""


class _Found:
    """What a pass over the lines of a run found."""

    def __init__(self) -> None:
        self.completed = PairSet()
        self.retried: dict[TrialKey, tuple[Attempt, ...]] = {}
        self.tally = Tally()
        self.problems: list[str] = []
        self.frames_end = 0
        self.lines_end = 0


def open_for_resume(
    path: Path | str,
    *,
    retry: Collection[Status] = (),
    redact: Iterable[str] = (),
    hook: Hook | None = None,
    clock: Callable[[], float] = time.monotonic,
    now: Callable[[], datetime.datetime] = utc_now,
) -> RunWriter:
    """Take the lock of a run, cut what a killed writer left half-written, and return the writer that continues.

    ``writer.completed`` holds the (arm, task, trial) that need no run. Trials that ended with a status in ``retry``,
    or that were interrupted, are moved to ``superseded.jsonl`` and stand in ``writer.retried`` with their attempts.
    A trial whose grading failed keeps its line until `RunWriter.grade_again` gives it another one.
    What others wrote to a *damaged* run is cut off; `RunChanged` when it can't be told from what is the run's own.
    Whether the suite is still the same is the caller's question: see `resume_refusal`. Raises `RunLocked` while another
    writer lives, `BadRecord` for a damaged line, `RecordError` when it can't be written.
    """
    run = Path(path)
    manifest = read_manifest(run)
    lock = FileLock.take(run / LOCK, of="this run")
    try:
        sweep_temporaries(run)
        manifest = cut_to_own(run, manifest)
        take_over(run)
        found = _look_through(run, (frozenset(retry) - GRADING_ONLY) | ON_RESUME)
        _cut(run, found)
        if found.retried:
            _supersede(run, found)
        writer = RunWriter(run, manifest, lock, encoder=SafeEncoder(redact), hook=hook, clock=clock, now=now)
    except OSError as error:
        lock.release()
        raise disk_error(error, run, "Nothing that was recorded is lost") from error
    except BaseException:
        lock.release()
        raise
    writer.completed, writer.tally = found.completed, found.tally
    writer.retried, writer.problems = found.retried, tuple(found.problems)
    try:
        writer.update_manifest(state="running", ended=None, stop_reason=None, resumed=manifest.resumed + 1)
    except BaseException:
        writer.close()
        raise
    return writer


def _look_through(run: Path, again: frozenset[Status]) -> _Found:
    """Read every line once, in bounded memory."""
    found = _Found()
    lines = Lines(run / TRIALS)
    for number, record in lines.parsed(decode_record):
        pair = record.key
        found.frames_end = max(found.frames_end, _frame_end(record))
        if pair in found.completed or pair in found.retried:
            found.problems.append(duplicate(lines.path, number, record))
        elif record.status in again:
            last = Attempt(record.status, record.error, record.seconds, record.usage)
            found.retried[pair] = (*record.attempts, last)
        else:
            found.completed.add(pair)
            found.tally.add(record)
    for _, record in Lines(run / SUPERSEDED).parsed(decode_record):
        found.frames_end = max(found.frames_end, _frame_end(record))
    found.lines_end = lines.end
    return found


def duplicate(path: Path, number: int, record: TrialRecord) -> str:
    """The words for a second line of the same trial."""
    return f"{path.name} line {number}: trial {record.trial} of task {record.task!r} again; the first line is used"


def _frame_end(record: TrialRecord) -> int:
    return sum(record.transcript) if record.transcript else 0


def _cut(run: Path, found: _Found) -> None:
    """Cut a torn line and frames without a line. Frames lost in a crash of the machine leave a hole, never a mix-up."""
    for name, end in ((TRIALS, found.lines_end), (TRANSCRIPTS, found.frames_end)):
        descriptor = open_private(run / name, os.O_RDWR | os.O_CREAT)
        try:
            if os.fstat(descriptor).st_size != end:
                os.ftruncate(descriptor, end)
                os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _supersede(run: Path, found: _Found) -> None:
    """Move the lines of trials that shall run again to ``superseded.jsonl``; the rest keep their order.

    The moved lines are durable before the others are rewritten: a crash between the two only leaves them in both.
    """

    def moved(line: bytes) -> bool:
        record = decode_record(line)
        return record.key in found.retried

    earlier = Lines(run / SUPERSEDED)
    for _ in earlier:
        pass
    write_durably(run / SUPERSEDED, earlier.end, (line for _, line in Lines(run / TRIALS) if moved(line)))
    replace_durably(run / TRIALS, (line for _, line in Lines(run / TRIALS) if not moved(line)))
    sync_folder(run)


_SAME = {
    "suite": "the suite",
    "asked": "what is asked",
    "model_source": "who answers",
    "trials": "the number of trials a task",
    "seed": "the seed",
    "model_requested": "the model",
    "judge_models": "who judges",
    "judge_source": "who answers for the judges",
    "isolation": "the isolation",
}


def resume_refusal(
    old: Manifest, new: Manifest, *, forced: bool = False, written: Mapping[str, str] | None = None
) -> list[str]:
    """Why a run can't be continued by the suite as it is now; empty when it can, or when forced.

    ``old`` is the manifest of the run, ``new`` the one that the suite would get today. Project files are compared where
    both name them: which files an agent imports is known only once it ran. ``written`` has the files that trials
    would import now and that aren't as the run had them, with the time of the last change: an agent may have left them
    there. Limits of the whole run may differ: they start afresh, and no trial depends on them.

    >>> resume_refusal(Manifest(run_id="a", suite="s", trials=5), Manifest(run_id="", suite="s", trials=8))
    ['the number of trials a task was 5 and is 8']
    """
    if forced:
        return []
    reasons = [
        f"{words} was {getattr(old, name)!r} and is {getattr(new, name)!r}"
        for name, words in _SAME.items()
        if getattr(old, name) != getattr(new, name)
    ]
    for name in Limits.__struct_fields__:
        before, after = getattr(old.limits, name), getattr(new.limits, name)
        if before != after and name not in RUN_LIMITS:
            reasons.append(f"the limit {name} was {before} and is {after}")
    if old.arms != new.arms:
        reasons.append(f"the arms were {named(map(repr, old.arms))} and are {named(map(repr, new.arms))}")
    if old.tasks_hash != new.tasks_hash or old.task_ids != new.task_ids:
        reasons.append(_tasks_changed(old, new))
    reasons.extend(_graders(old.graders, new.graders))
    reasons.extend(_files(old, new, written or {}))
    return reasons


def _tasks_changed(old: Manifest, new: Manifest) -> str:
    gone = [task for task in old.task_ids if task not in set(new.task_ids)]
    added = [task for task in new.task_ids if task not in set(old.task_ids)]
    if gone or added:
        parts = [f"{word} {named(tasks)}" for word, tasks in (("gone:", gone), ("new:", added)) if tasks]
        return f"the tasks changed ({'; '.join(parts)})"
    return "the content or the order of the tasks changed"


def _graders(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    reasons = [f"grader {name} changed" for name in sorted(old.keys() & new.keys()) if old[name] != new[name]]
    reasons += [f"grader {name} is gone" for name in sorted(old.keys() - new.keys())]
    return reasons + [f"grader {name} is new" for name in sorted(new.keys() - old.keys())]


def _files(old: Manifest, new: Manifest, written: Mapping[str, str]) -> list[str]:
    changed = {name for name in old.files.keys() & new.files.keys() if old.files[name] != new.files[name]}
    return [
        f"file {name} {'changed' if name in changed else 'is new to the run'}"
        + (f" (last written {written[name]})" if name in written else "")
        for name in sorted(changed | written.keys())
    ]
