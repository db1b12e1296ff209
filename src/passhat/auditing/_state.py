"""The final state of a trial as comparable parts: a column of a database table, or a file."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from passhat.facts import digest
from passhat.running._workspaces import snapshot

State = Mapping[str, str]
_MAGIC = b"SQLite format 3\0"
_JOURNALS = ("-wal", "-shm", "-journal")


def state_of(folder: Path | None) -> State:
    """A mark for each part of what is in ``folder``; equal marks mean equal content.

    A file is one part, an SQLite file one part for each column of each table: its bytes differ after a change that was
    undone.
    """
    if folder is None:
        return {}
    parts: dict[str, str] = {}
    for name, mark in snapshot(folder).items():
        path = folder / name
        if name.endswith(_JOURNALS):
            continue
        columns = _columns(path) if path.is_file() and not path.is_symlink() and _is_sqlite(path) else None
        if columns is None:
            parts[name] = mark
        else:
            parts.update({f"{name}/{column}": value for column, value in columns.items()})
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
