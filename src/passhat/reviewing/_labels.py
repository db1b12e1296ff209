"""Labels that were not given key by key: from the command line, or from a file."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from passhat.facts import Fault, Label, is_about
from passhat.reviewing._errors import ReviewError
from passhat.reviewing._list import ReadingItem
from passhat.summary import TrialKey

_LONGEST_NOTE = 10_000
_NOTHING = "None of the file's labels was added"


def now_utc() -> str:
    """The time, as labels have it.

    >>> now_utc()[-1]
    'Z'
    """
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def new_label(
    item: ReadingItem,
    verdict: Literal["pass", "fail", "unclear"],
    rater: str,
    *,
    fault: Fault | None = None,
    note: str = "",
    grader: str = "",
    blind: bool = False,
) -> Label:
    """A label of now on a trial of a reading list, which says how the trial was chosen."""
    return Label(
        item.task,
        item.trial,
        verdict,
        rater,
        now_utc(),
        arm=item.arm,
        fault=fault,
        note=note[:_LONGEST_NOTE],
        grader=grader,
        blind=blind,
        sample=item.sample,
        probability=item.probability,
    )


class _Given(msgspec.Struct, forbid_unknown_fields=True):
    """A label in a file of labels; what is left out is filled in."""

    task: str
    trial: int
    verdict: Literal["pass", "fail", "unclear"]
    rater: str = ""
    at: str = ""
    arm: str = ""
    fault: Fault | None = None
    note: str = ""
    grader: str = ""
    blind: bool = False
    sample: str = "picked"
    probability: float | None = None
    withdrawn: bool = False


def read_labels(path: Path, trials: Mapping[TrialKey, str], *, rater: str = "", grader: str = "") -> list[Label]:
    """Labels from a JSONL file, an object a line with at least ``task``, ``trial`` and ``verdict``.

    ``trials`` are the run's, each with the time at which it began. ``rater`` and ``grader`` stand in where a line has
    none; ``sample`` is *picked* and ``at`` is now unless a line says otherwise. Raises `ReviewError` that names the
    line: for what isn't a label, a trial that isn't among ``trials`` or began after the label was given, a label
    without a rater. Then none is returned.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise ReviewError(f"{path}: can't be read: {error.strerror or error}") from None
    labels = [
        _label(line, f"{path}, line {number}", trials, {"rater": rater, "grader": grader, "at": now_utc()})
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]
    if not labels:
        raise ReviewError(f"{path}: holds no label")
    return labels


def _label(line: bytes, where: str, trials: Mapping[TrialKey, str], defaults: dict[str, str]) -> Label:
    try:
        given = msgspec.json.decode(line, type=_Given)
    except (msgspec.MsgspecError, ValueError) as error:
        raise ReviewError(f"{where}: isn't a label: {error}. {_NOTHING}") from None
    fields: dict[str, Any] = msgspec.structs.asdict(given)
    fields |= {name: value for name, value in defaults.items() if not fields[name]}
    if not fields["rater"].strip():
        raise ReviewError(f"{where}: says no rater; name one with --rater. {_NOTHING}")
    if (given.arm, given.task, given.trial) not in trials:
        arm = f" of arm {given.arm!r}" if given.arm else ""
        raise ReviewError(f"{where}: the run has no trial {given.trial} of task {given.task!r}{arm}. {_NOTHING}")
    label = Label(**fields)
    began = trials[given.arm, given.task, given.trial]
    if not is_about(label, began):
        raise ReviewError(f"{where}: was given at {label.at}, before this trial began ({began}). {_NOTHING}")
    return label
