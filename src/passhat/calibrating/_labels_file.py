"""Labels kept in a file of their own: lines of JSON as in ``labels.jsonl``, or a CSV table with the same columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from passhat.calibrating._errors import CalibrationError
from passhat.facts import Label

_NEEDED = ("task", "trial", "verdict")


def read_labels(path: Path | str) -> list[Label]:
    """The labels of a CSV or JSONL file.

    Needed are ``task``, ``trial`` (from 0) and ``verdict`` (pass, fail or unclear); the rest of a label's fields may be
    there, and empty cells count as absent. Without a ``rater`` all are one person's; without a ``sample`` they count as
    picked. Raises `CalibrationError` naming file, line and value.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CalibrationError(f"{file}: can't be read: {error}") from None
    rows = _csv(file, text) if file.suffix.lower() in (".csv", ".tsv") else _json(file, text)
    return [_label(file, line, row) for line, row in rows]


def _json(file: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield number, msgspec.json.decode(line, type=dict[str, Any])
            except msgspec.MsgspecError as error:
                raise CalibrationError(f"{file}, line {number}: isn't a JSON object: {error}") from None


def _csv(file: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), dialect=_dialect(text), strict=True)
    try:
        for row in reader:
            yield reader.line_num, {name: cell for name, cell in row.items() if name and cell not in (None, "")}
    except csv.Error as error:
        raise CalibrationError(f"{file}, line {reader.line_num}: isn't CSV: {error}") from None


def _dialect(text: str) -> type[csv.Dialect]:
    head = text.partition("\n")[0]
    return type("_Dialect", (csv.excel,), {"delimiter": max(",;\t", key=head.count)})


def _label(file: Path, line: int, row: dict[str, Any]) -> Label:
    absent = [name for name in _NEEDED if name not in row]
    if absent:
        raise CalibrationError(f"{file}, line {line}: has no {absent[0]!r}; needed are {', '.join(_NEEDED)}")
    unknown = [name for name in row if name not in Label.__struct_fields__]
    if unknown:
        known = ", ".join(Label.__struct_fields__)
        raise CalibrationError(f"{file}, line {line}: {unknown[0]!r} is no field of a label; there are: {known}")
    try:
        return msgspec.convert({"rater": "", "at": "", **row}, Label, strict=False)
    except msgspec.ValidationError as error:
        raise CalibrationError(f"{file}, line {line}: {error}") from None
