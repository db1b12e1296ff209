"""What a command line, an environment and a path mean for one trial."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from passhat.agents._errors import AdapterError
from passhat.facts import canonical_json
from passhat.isolation._environ import trial_environ
from passhat.suite._where import calling_file
from passhat.trial import CLEARED, Trial

_LONG = 6  # letters, from which two wrong ones are still a slip of the same name


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
    if not isinstance(value, Collection) or not all(isinstance(item, str) for item in value):
        raise AdapterError(f"{field}={value!r:.100}: must be a list of text")
    return tuple(value)


def is_number(value: Any) -> bool:
    """An int or float; no bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def checked_text(value: Any, field: str) -> str:
    """A text that isn't blank."""
    if not isinstance(value, str) or not value.strip():
        raise AdapterError(f"{field}={value!r:.100}: must be a text that isn't blank")
    return value


def callable_or_none(value: Any, field: str) -> None:
    """Refuse what is neither a function nor None."""
    if value is not None and not callable(value):
        raise AdapterError(f"{field}={value!r:.100}: must be a function, or None")


def most(value: Any) -> int:
    """A checked bound of bytes."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise AdapterError(f"most_bytes={value!r}: must be a whole number, 1 or more")
    return value


def variables(value: Mapping[str, str] | None, field: str) -> dict[str, str]:
    """Checked names and values of environment variables or headers."""
    if value is not None and not isinstance(value, Mapping):
        raise AdapterError(f"{field}={value!r:.100}: must be a mapping of names to text")
    for name, text in (value or {}).items():
        if not isinstance(name, str) or not name or "=" in name or not isinstance(text, str):
            raise AdapterError(f"{field}: {name!r}: {text!r} must be a name and a text; write numbers as text")
    return dict(value or {})


def arguments(value: Sequence[str | os.PathLike[str]], field: str, places: Sequence[str]) -> tuple[str, ...]:
    """A checked command line, in which none of the places is misspelt."""
    if isinstance(value, str | bytes):
        raise AdapterError(f"{field}={value!r}: must be a list of arguments; for a shell: ['sh', '-c', {value!r}]")
    given = list(value) if isinstance(value, Sequence) else [value]
    found = tuple(os.fspath(each) if isinstance(each, os.PathLike) else each for each in given)
    if not found or not all(isinstance(argument, str) for argument in found) or not found[0]:
        raise AdapterError(f"{field}={value!r:.100}: must be a list of text, the program first; write numbers as text")
    for argument in found:
        no_other_places(argument, field, places)
    return found


def no_other_places(text: str, field: str, places: Sequence[str]) -> None:
    """Refuse a place that is most likely misspelt: one letter off, or two where the name is long.

    Whatever else stands in braces may be meant for the program (awk, jq) and stays.

    >>> no_other_places("{name}", "args", ["here"]); no_other_places("${HOME}", "args", ["here"])
    >>> no_other_places("{heer}/agent.sh", "args", ["here"])
    Traceback (most recent call last):
        ...
    passhat.agents._errors.AdapterError: args: '{heer}/agent.sh': there is no place {heer}; did you mean {here}? For \
braces that are meant, put blanks inside: { heer }
    """
    for name in re.findall(r"(?<![${])\{([A-Za-z_]\w*)\}", text):
        near = [each for each in places if _edits(name.lower(), each) <= (1 if len(each) < _LONG else 2)]
        if near and name not in places:
            raise AdapterError(
                f"{field}: {text!r:.100}: there is no place {{{name}}}; did you mean {{{near[0]}}}? "
                f"For braces that are meant, put blanks inside: {{ {name} }}"
            )


def _edits(one: str, other: str) -> int:
    """How many letters to add, leave out, replace or swap with their neighbour make one word of the other.

    This is the optimal string alignment distance, in which no letter is edited twice.

    >>> _edits("heer", "here"), _edits("wrkspace", "workspace"), _edits("sort", "port"), _edits("name", "here")
    (1, 1, 1, 3)
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, mine in enumerate(one):
        earlier, before, row = before, row, [i + 1]
        for j, theirs in enumerate(other):
            row.append(min(before[j + 1] + 1, row[j] + 1, before[j] + (mine != theirs)))
            if i and j and (mine, one[i - 1]) == (other[j - 1], theirs):
                row[-1] = min(row[-1], earlier[j - 1] + 1)
    return row[-1]


def folder(value: str | os.PathLike[str], places: Sequence[str]) -> str:
    """A checked folder to run in."""
    if not isinstance(value, str | os.PathLike):
        raise AdapterError(f"cwd={value!r:.100}: must be the path of a folder")
    found = os.fspath(value)
    no_other_places(found, "cwd", places)
    return found


def inside(folder: Path, name: str, what: str) -> Path:
    """A file below ``folder``, whose path doesn't leave it by ``..`` or by a link."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise AdapterError(f"{what} {name!r} leads out of {folder}")
    return path
