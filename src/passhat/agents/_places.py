"""What a command line, an environment and a path mean for one trial."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from passhat.agents._errors import AdapterError
from passhat.facts import canonical_json
from passhat.isolation._environ import trial_environ
from passhat.suite._where import calling_file
from passhat.trial import CLEARED, Trial


def folder_here(here: str | os.PathLike[str] | None) -> Path:
    """The folder that ``{here}`` stands for: the one given, that of the calling file, or the current one."""
    if here is not None:
        return Path(here).resolve()
    file = calling_file()
    return Path.cwd() if file is None else file.parent


def as_text(value: Any) -> str:
    """Text as it is, anything else as JSON."""
    return value if isinstance(value, str) else canonical_json(value)


def filled(text: str, places: Mapping[str, str]) -> str:
    """``text`` with ``{name}`` replaced, once, for the names in ``places``; other braces stay.

    >>> filled('{here}/agent.sh {"a": 1}', {"here": "/suite"})
    '/suite/agent.sh {"a": 1}'
    """
    pieces, rest = [], text
    while rest:
        found = min(
            ((at, name) for name in places if (at := rest.find("{" + name + "}")) >= 0),
            default=None,
        )
        if found is None:
            break
        at, name = found
        pieces += [rest[:at], places[name]]
        rest = rest[at + len(name) + 2 :]
    return "".join([*pieces, rest])


def environment_of(trial: Trial, env: Mapping[str, str], pass_env: Sequence[str]) -> dict[str, str]:
    """The variables of a trial's process: harmless ones of the host, the trial's own, then ``env``."""
    host = trial_environ(pass_env=pass_env)
    found = {**host, **trial.env, **env}
    return {name: value for name, value in found.items() if name not in CLEARED or name in env}


def several(value: Sequence[str], field: str) -> tuple[str, ...]:
    """A list of text, not one text."""
    if isinstance(value, str):
        raise AdapterError(f"{field}={value!r}: must be a list; write {field}=[{value!r}]")
    return tuple(value)


def variables(value: Mapping[str, str] | None, field: str) -> dict[str, str]:
    """Checked names and values of environment variables or headers."""
    for name, text in (value or {}).items():
        if not isinstance(name, str) or not name or "=" in name or not isinstance(text, str):
            raise AdapterError(f"{field}: {name!r}: {text!r} must be a name and a text; write numbers as text")
    return dict(value or {})


def arguments(value: Sequence[str | os.PathLike[str]], field: str) -> tuple[str, ...]:
    """A checked command line."""
    if isinstance(value, str | bytes):
        raise AdapterError(f"{field}={value!r}: must be a list of arguments; for a shell: ['sh', '-c', {value!r}]")
    found = tuple(os.fspath(argument) for argument in value)
    if not found or not all(isinstance(argument, str) for argument in found) or not found[0]:
        raise AdapterError(f"{field}={list(value)!r}: must be a list of text, the program first")
    return found


def inside(folder: Path, name: str, what: str) -> Path:
    """A file below ``folder``, whose path doesn't leave it by ``..`` or by a link."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise AdapterError(f"{what} {name!r} leads out of {folder}")
    return path
