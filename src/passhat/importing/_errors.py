"""A table that can't be read as outcomes."""

from __future__ import annotations

from pathlib import Path

from passhat.facts import PasshatError


class TableError(PasshatError, ValueError):
    """What is wrong with a table of outcomes: the file, and the line (from 1), column and value."""

    def __init__(self, path: Path, problem: str, *, line: int | None = None, column: str | None = None) -> None:
        where = f"{path}" + (f":{line}" if line else "") + (f", column {column!r}" if column else "")
        super().__init__(f"{where}: {problem}")
        self.path = path
        self.line = line
        self.column = column
        self.problem = problem
