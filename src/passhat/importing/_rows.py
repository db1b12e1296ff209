"""Rows of a CSV or JSONL file, each with the line where it begins."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from passhat.importing._errors import TableError
from passhat.isolation import read_named

_CSV = (".csv", ".tsv", ".txt")
_JSONL = (".jsonl", ".ndjson")
_DELIMITERS = ",;\t|"
_LONGEST_FIELD = 1 << 30


class Row(NamedTuple):
    """One row: the line of the file where it begins, and its values by column."""

    line: int
    values: dict[str, Any]


class Rows(NamedTuple):
    """The rows of a table, the names of its columns, and whether a comma may be a decimal point."""

    columns: tuple[str, ...]
    rows: list[Row]
    decimal_comma: bool = False


def read_rows(path: Path) -> Rows:
    """Read a file by its ending. Raises `TableError`."""
    kind = path.suffix.lower()
    if kind not in (*_CSV, *_JSONL):
        raise TableError(path, f"unknown kind of file {path.suffix!r}; use {', '.join((*_CSV, *_JSONL))}")
    try:
        text = read_named(path).decode("utf-8-sig")
    except FileNotFoundError:
        raise TableError(path, "there is no such file") from None
    except OSError as error:
        raise TableError(path, f"can't be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise TableError(path, f"isn't UTF-8 (byte {error.object[error.start]:#04x}); save it so", line=line) from None
    rows = _csv_rows(path, text) if kind in _CSV else _jsonl_rows(path, text)
    if not rows.rows:
        raise TableError(path, "holds no rows")
    return rows


def _csv_rows(path: Path, text: str) -> Rows:
    lines = _records(path, text)
    start, header = next(lines, (1, []))
    if not header:
        raise TableError(path, "is empty; its first line should name the columns")
    delimiter = max(_DELIMITERS, key=_without_quotes(text.lstrip("\r\n").split("\n", 1)[0]).count)
    lines = _records(path, text, delimiter)
    start, header = next(lines)
    columns = tuple(name.strip() for name in header)
    twice = sorted({name for name in columns if name and columns.count(name) > 1})
    if twice:
        raise TableError(path, f"two columns are called {twice[0]!r}", line=start)
    rows = []
    for line, values in lines:
        if len(values) != len(columns):
            raise TableError(
                path, f"has {len(values)} values where line {start} names {len(columns)} columns", line=line
            )
        rows.append(Row(line, dict(zip(columns, values, strict=True))))
    return Rows(columns, rows, delimiter == ";")


def _records(path: Path, text: str, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """(first line, values) of each record that isn't blank."""
    longest = csv.field_size_limit(_LONGEST_FIELD)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    begins = 1
    try:
        for values in reader:
            if any(value.strip() for value in values):
                yield begins, values
            begins = reader.line_num + 1
    except csv.Error as error:
        raise TableError(path, f"isn't CSV: {error}", line=begins) from None
    finally:
        csv.field_size_limit(longest)


def _without_quotes(line: str) -> str:
    """A header without what stands between quotes."""
    return "".join(line.split('"')[::2])


def _jsonl_rows(path: Path, text: str) -> Rows:
    columns: dict[str, None] = {}
    rows = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue

        def refuse(word: str) -> NoReturn:
            raise ValueError(f"{word} isn't JSON")

        try:
            values = json.loads(line, parse_constant=refuse, object_pairs_hook=_once)
        except json.JSONDecodeError as error:
            raise TableError(path, f"isn't JSON: {error.msg} at character {error.colno}", line=number) from None
        except (ValueError, RecursionError) as error:
            raise TableError(path, f"isn't JSON: {error}", line=number) from None
        if not isinstance(values, dict):
            raise TableError(path, f"a row is an object with named values, got {line.strip()[:60]}", line=number)
        columns.update(dict.fromkeys(values))
        rows.append(Row(number, values))
    return Rows(tuple(columns), rows)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{name!r} is given twice")
        found[name] = value
    return found
