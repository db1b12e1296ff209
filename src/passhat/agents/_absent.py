"""Whether a program can't be started, seen from outside a trial: what a trial's process says of that is its word."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from passhat.agents._places import as_text, filled

_LONGEST = 131_071  # bytes of one argument that Linux takes


def program_absent(args: Sequence[str], *, here: Path, cwd: str | None, path: str | None) -> bool:
    """Whether there is no such program, or no such folder to start it in.

    False for what only a trial knows: a program or a folder in its workspace. ``path``: where programs are looked for.

    >>> program_absent(["no-such-program-here"], here=Path("/"), cwd=None, path="/bin:/usr/bin")
    True
    >>> program_absent(["sh", "agent.sh"], here=Path("/"), cwd=None, path="/bin:/usr/bin")
    False
    """
    places = {"here": str(here)}
    program, folder = filled(args[0], places), None if cwd is None else filled(cwd, places)
    if folder is not None and os.path.isabs(folder) and not os.path.isdir(folder):
        return True
    if os.path.isabs(program):
        return not (os.path.isfile(program) and os.access(program, os.X_OK))
    return os.sep not in program and "{" not in program and shutil.which(program, path=path) is None


def input_untellable(args: Sequence[str], task_input: Any) -> bool:
    """Whether what is asked can't stand in the command line that asks for it."""
    text = as_text(task_input)
    return any("{input}" in each for each in args) and ("\0" in text or len(text.encode()) >= _LONGEST)


def search_path(variables: Mapping[str, str], env: Mapping[str, str]) -> str | None:
    """Where a process with these variables, and ``env`` over them, looks for programs."""
    return env.get("PATH", variables.get("PATH"))
