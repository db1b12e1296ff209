"""Labels that people kept in a file of their own: lines of JSON as in ``labels.jsonl``, or a table of such columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from passhat.facts import LONGEST_RATER, Label, can_be_a_rater, can_be_drawn_with, contradicts_itself, is_about
from passhat.isolation import read_named, text_of
from passhat.records._errors import BadRecord, RecordError, disk_error

_NEEDED = ("task", "trial", "verdict")
_NONE_TAKEN = "None of the file's labels was taken"
_TABLES = (".csv", ".tsv")


def read_labels(
    path: Path | str,
    trials: Mapping[tuple[str, str, int], str],
    *,
    graders: Collection[str] | None = None,
    rater: str | None = None,
    grader: str = "",
    at: str = "",
) -> list[Label]:
    """The labels of a JSONL file, or of a table (.csv or .tsv, parted by comma, semicolon or tab).

    Needed are ``task``, ``trial`` (from 0) and ``verdict`` (pass, fail or unclear); the other fields of a label may be
    there, and empty ones count as absent. ``trials`` are the run's (arm, task, number), each with the time at which it
    began. ``rater``, ``grader`` and ``at`` stand in where a label has none; with ``rater`` None each has to name its
    own, while "" takes those without for one person's. Without a ``sample`` a label counts as *picked*.

    Raises `BadRecord` that names the line: for what isn't a label, one without a rater or with a name that can't be
    one, one on a trial that isn't among ``trials`` or began after it was given, one that names a grader which isn't
    among ``graders`` (None: any may be named), one whose probability can't be one, a pass that blames the agent, and a
    rater's second verdict on a trial at the same time; `RecordError` for a file that can't be read or holds no label.
    Then none is returned.
    """
    file = Path(path)
    table = file.suffix.lower() in _TABLES
    text = _text(file)
    defaults = {"grader": grader, "at": at, "sample": "picked"} | ({} if rater is None else {"rater": rater})
    labels = []
    said: dict[tuple[object, ...], tuple[int, Label]] = {}
    for line, row in _rows(file, text) if table else _lines(file, text):
        label = _label(file, line, defaults | row, lenient=table)
        _check(file, line, label, trials)
        if label.grader and graders is not None and label.grader not in graders:
            known = ", ".join(map(repr, graders)) or "none"
            raise _bad(file, line, f"no trial has a grade of {label.grader!r}; the graders are: {known}")
        _once(file, line, label, said)
        labels.append(label)
    if not labels:
        raise RecordError(file, "holds no label")
    return labels


def _text(file: Path) -> str:
    try:
        return text_of(read_named(file), "utf-8-sig")
    except UnicodeDecodeError as error:
        raise RecordError(file, f"can't be read: isn't UTF-8 text ({error.reason} at byte {error.start})") from None
    except OSError as error:
        raise disk_error(error, file) from None


def _lines(file: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                row = msgspec.json.decode(line, type=dict[str, Any])
            except (ValueError, RecursionError) as error:
                raise _bad(file, number, f"isn't a JSON object: {error}") from None
            yield number, _filled(row)


def _rows(file: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    head = text.partition("\n")[0]
    reader: csv.DictReader[Any] = csv.DictReader(
        io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count), strict=True
    )
    try:
        for row in reader:
            if any(cell.strip() for cell in row.pop(None, ())):
                raise _bad(file, reader.line_num, "has more cells than the table has columns")
            yield reader.line_num, _filled({name: cell for name, cell in row.items() if name})
    except csv.Error as error:
        raise _bad(file, reader.line_num, f"isn't CSV: {error}") from None


def _filled(row: dict[str, Any]) -> dict[str, Any]:
    """Without what is empty, and without space around a rater's name."""
    kept = {name: value for name, value in row.items() if value is not None and str(value).strip()}
    if isinstance(kept.get("rater"), str):
        kept["rater"] = kept["rater"].strip()
    return kept


def _label(file: Path, line: int, row: dict[str, Any], *, lenient: bool) -> Label:
    if absent := [name for name in _NEEDED if name not in row]:
        raise _bad(file, line, f"has no {absent[0]!r}; needed are {', '.join(_NEEDED)}")
    if "rater" not in row:
        raise _bad(file, line, "says no rater; name one with --rater")
    if unknown := [name for name in row if name not in Label.__struct_fields__]:
        known = ", ".join(Label.__struct_fields__)
        raise _bad(file, line, f"{unknown[0]!r} is no field of a label; there are: {known}")
    try:
        return msgspec.convert(row, Label, strict=not lenient)
    except msgspec.ValidationError as error:
        raise _bad(file, line, f"isn't a label: {error}") from None


def _check(file: Path, line: int, label: Label, trials: Mapping[tuple[str, str, int], str]) -> None:
    """Whether the label is about a trial of the run as it is, and can have been drawn as it says."""
    if not can_be_drawn_with(label.probability):
        raise _bad(file, line, f"probability must be above 0 and at most 1, got {label.probability!r}")
    if label.rater and not can_be_a_rater(label.rater):
        shown = label.rater if len(label.rater) <= LONGEST_RATER else f"{label.rater[:30]}…"
        raise _bad(
            file, line, f"rater {shown!r}: a name is up to {LONGEST_RATER} printable characters, without a comma"
        )
    if contradicts_itself(label):
        raise _bad(file, line, "a pass is nobody's failure: it can't be the agent's fault")
    began = trials.get(label.key)
    if began is None:
        arm = f" of arm {label.arm!r}" if label.arm else ""
        count = sum(known[:2] == (label.arm, label.task) for known in trials)
        hint = f" (it has {count}, counted from 0)" if count else ""
        raise _bad(file, line, f"the run has no trial {label.trial} of task {label.task!r}{arm}{hint}")
    if not is_about(label, began):
        raise _bad(file, line, f"was given at {label.at}, before this trial began ({began})")


def _once(file: Path, line: int, label: Label, said: dict[tuple[object, ...], tuple[int, Label]]) -> None:
    """One person says one thing of a trial at a time; what was said later replaces it."""
    key = (label.key, label.grader, label.rater)
    before, other = said.get(key, (0, label))
    if other.verdict != label.verdict and other.at == label.at and not (other.withdrawn or label.withdrawn):
        whose = f"{label.rater} says" if label.rater else "one rater (none is named) says"
        raise _bad(
            file,
            line,
            f"{whose} {label.verdict} of {label.task} #{label.trial}, and {other.verdict} in line {before}: keep one, "
            "or give the second reader a name of their own (rater)",
        )
    said[key] = line, label


def _bad(file: Path, line: int, problem: str) -> BadRecord:
    return BadRecord(file, problem, _NONE_TAKEN, line=line)
