"""A suite's life: tasks that are proved move from capability to regression, and those that fell move back."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from passhat.history._collect import Found
from passhat.history._errors import HistoryError
from passhat.history._evidence import LeftOut
from passhat.history._points import counts_of
from passhat.isolation import read_regular, text_of
from passhat.stats import clopper_pearson, smallest_all_pass

BAR = 0.8


class TaskRecord(msgspec.Struct, frozen=True):
    """A task's trials over the runs that count, and the one-sided bound that they prove (below, or above)."""

    task: str
    n: int
    c: int
    bound: float
    verdict: Literal["proved", "fell", "open"]


class Graduation(msgspec.Struct, frozen=True, kw_only=True):
    """What should move: ``proved`` tasks of the capability suite, ``fell`` tasks of the regression suite.

    ``needed`` is the number of trials, all passing, that prove a task. ``saturated``: every task is proved, so the
    capability suite has nothing left to show. ``left_out`` names runs that didn't count, and why.
    """

    bar: float
    level: float
    needed: int
    proved: tuple[TaskRecord, ...]
    fell: tuple[TaskRecord, ...]
    open: tuple[TaskRecord, ...]
    saturated: bool
    runs: tuple[str, ...]
    left_out: tuple[LeftOut, ...] = ()


def task_records(
    runs: Sequence[Found], hashes: Mapping[str, str], *, bar: float = BAR, level: float = 0.95
) -> tuple[TaskRecord, ...]:
    """Each task's trials over ``runs`` (see `evidence`) that measured it as it is now, and its verdict.

    *proved*: the one-sided lower bound of its pass rate reaches ``bar``. *fell*: the upper one is below it.
    """
    if not 0 < bar < 1:
        raise HistoryError(f"bar={bar!r}: must be above 0 and below 1, such as 0.8")
    tally = {task: [0, 0] for task in hashes}
    for each in runs:
        arm = each.manifest.main_arm
        for count in counts_of(each):
            same = each.manifest.task_hashes.get(count.task) == hashes.get(count.task)
            if count.arm == arm and count.task in tally and same:
                tally[count.task][0] += count.n
                tally[count.task][1] += count.c
    return tuple(_verdict(task, n, c, bar, level) for task, (n, c) in tally.items())


def _verdict(task: str, n: int, c: int, bar: float, level: float) -> TaskRecord:
    if not n:
        return TaskRecord(task, 0, 0, 0.0, "open")
    low = clopper_pearson(c, n, level=level, side="lower").low
    high = clopper_pearson(c, n, level=level, side="upper").high
    if low >= bar - 1e-12:
        return TaskRecord(task, n, c, low, "proved")
    return TaskRecord(task, n, c, high, "fell") if high < bar - 1e-12 else TaskRecord(task, n, c, low, "open")


def graduation(
    capability: Sequence[TaskRecord],
    regression: Sequence[TaskRecord] = (),
    *,
    bar: float = BAR,
    level: float = 0.95,
    runs: Sequence[str] = (),
    left_out: Sequence[LeftOut] = (),
) -> Graduation:
    """What should move between the two suites.

    >>> records = [TaskRecord("a", 20, 20, 0.86, "proved"), TaskRecord("b", 20, 9, 0.3, "open")]
    >>> found = graduation(records)
    >>> [each.task for each in found.proved], found.needed, found.saturated
    (['a'], 14, False)
    """
    proved = tuple(each for each in capability if each.verdict == "proved")
    return Graduation(
        bar=bar,
        level=level,
        needed=smallest_all_pass(bar, level),
        proved=proved,
        fell=tuple(each for each in regression if each.verdict == "fell"),
        open=tuple(each for each in capability if each.verdict != "proved"),
        saturated=bool(capability) and len(proved) == len(capability),
        runs=tuple(runs),
        left_out=tuple(left_out),
    )


def move_lines(ids: Collection[str], source: Path, target: Path) -> int:
    """Move the lines of some tasks from one JSONL file to the end of another; returns how many moved.

    Each file is replaced whole, the target first: a crash in between leaves the lines in both, never in none. Raises
    `HistoryError` when a file isn't JSONL, or the target has such a task already.
    """
    for path in (source, target):
        if path.suffix not in (".jsonl", ".ndjson"):
            raise HistoryError(f"{path}: only lines of a JSONL file can be moved; move these tasks by hand")
    kept, moved = _parted(ids, source)
    there, twice = _parted(ids, target) if target.exists() else ([], [])
    if twice:
        raise HistoryError(f"{target}: has a task {_id(twice[0])!r} already")
    if not moved:
        return 0
    if not any(line.strip() for line in kept):
        raise HistoryError(f"{source}: would be left without a task; a suite needs at least one")
    _replace(target, [*there, *moved])
    _replace(source, kept)
    return len(moved)


def _parted(ids: Collection[str], path: Path) -> tuple[list[str], list[str]]:
    try:
        lines = text_of(read_regular(path), "utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise HistoryError(f"{path}: can't be read: {error}") from None
    moved = [line for line in lines if line.strip() and _id(line) in ids]
    kept = [line for line in lines if not line.strip() or _id(line) not in ids]
    while kept and not kept[-1].strip():
        kept.pop()
    return kept, moved


def _id(line: str) -> object:
    try:
        found = msgspec.json.decode(line)
    except msgspec.MsgspecError:
        return None
    return found.get("id") if isinstance(found, dict) else None


def _replace(path: Path, lines: Sequence[str]) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write("".join(f"{line}\n" for line in lines))
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, path.stat().st_mode & 0o777 if path.exists() else 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
