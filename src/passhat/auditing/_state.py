"""The final state of a trial as comparable parts: a column of a table, a member of a JSON object, or a file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from passhat.facts import digest
from passhat.running import snapshot

State = Mapping[str, str]
_MAGIC = b"SQLite format 3\0"
_JOURNALS = ("-wal", "-shm", "-journal")


def state_of(folder: Path | None) -> State:
    """A mark for each part of what is in ``folder``; equal marks mean equal content.

    An SQLite file has a part for each column of each table (its bytes differ even after a change that was undone), a
    JSON object one for each member; any other file is one part.
    """
    if folder is None:
        return {}
    parts: dict[str, str] = {}
    for name, mark in snapshot(folder).items():
        path = folder / name
        if name.endswith(_JOURNALS):
            continue
        inside = None if path.is_symlink() or not path.is_file() else _inside(path)
        if inside is None:
            parts[name] = mark
        else:
            parts.update({f"{name}/{inner}": value for inner, value in inside.items()})
    return parts


def changed(before: State, after: State) -> frozenset[str]:
    """The parts that differ.

    >>> sorted(changed({"a": "1", "b": "1"}, {"b": "2", "c": "1"}))
    ['a', 'b', 'c']
    """
    return frozenset(part for part in {*before, *after} if before.get(part) != after.get(part))


def table_of(part: str) -> str:
    """What a part belongs to: the table of a column, or the file itself.

    >>> table_of("shop.db/refunds.amount"), table_of("notes.v2.txt")
    ('shop.db/refunds', 'notes.v2.txt')
    """
    head, slash, tail = part.rpartition("/")
    return f"{head}/{tail.partition('.')[0]}" if slash and head.endswith((".db", ".sqlite", ".sqlite3")) else part


def _inside(path: Path) -> dict[str, str] | None:
    """The parts of a file, None for one that has none."""
    if _is_sqlite(path):
        return _columns(path)
    if path.suffix == ".json":
        try:
            data = json.loads(path.read_bytes())
        except ValueError:
            return None
        return {name: digest(value) for name, value in data.items()} if isinstance(data, dict) else None
    return None


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _columns(path: Path) -> dict[str, str] | None:
    parts = {}
    try:
        with closing(sqlite3.connect(path)) as database:
            names = database.execute("select name from sqlite_master where type = 'table'").fetchall()
            for (table,) in names:
                found = database.execute(f'select * from "{table}"')  # noqa: S608  # a table's own name
                heads = [each[0] for each in found.description]
                rows = [[repr(value) for value in row] for row in found.fetchall()]
                for place, head in enumerate(heads):
                    parts[f"{table}.{head}"] = digest(sorted(row[place] for row in rows))
    except sqlite3.Error:
        return None
    return parts
