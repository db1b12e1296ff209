"""What can be wrong with a suite before anything runs.

ValueError
└── SuiteError              a suite, gate or selection that can't be used
    ├── TasksFileError      a file of tasks that can't be read: names the file, the line and the field
    └── SuiteFileError      a Python file that can't be loaded or holds no suite: names the file and the line
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

from passhat.facts import PasshatError


class SuiteError(PasshatError, ValueError):
    """A suite, gate or selection that can't be used; the message says which part, its value, and the way out."""


class TasksFileError(SuiteError):
    """A file of tasks that can't be read. ``file``, ``line`` (from 1) and ``field`` say where, as far as known."""

    def __init__(self, file: Path, line: int | None, problem: str, *, field: str | None = None) -> None:
        super().__init__(f"{file}{'' if line is None else f':{line}'}: {problem}")
        self.file = file
        self.line = line
        self.field = field
        self.problem = problem


class SuiteFileError(SuiteError):
    """A Python file that can't be loaded. ``traceback`` is the user's part of it, empty when there is none."""

    def __init__(self, file: Path, line: int | None, problem: str, *, traceback: str = "") -> None:
        super().__init__(f"{file}{'' if line is None else f':{line}'}: {problem}")
        self.file = file
        self.line = line
        self.problem = problem
        self.traceback = traceback


def suggestion(word: str, known: Iterable[str]) -> str:
    """``; did you mean 'expected'?`` for a near miss, else the list of what is known."""
    names = sorted(known)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {near[0]!r}?"
    shown = ", ".join(repr(name) for name in names[:12])
    return f"; known: {shown}{', …' if len(names) > 12 else ''}" if names else ""
