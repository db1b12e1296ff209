"""The file of a cassette: JSON lines or YAML, written whole and atomically."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from passhat.gateway._errors import CassetteError
from passhat.isolation import read_regular, text_of

_HEAD = "passhat_cassette"
_VERSION = 1
_COUNT = "count"  # stands last in YAML: a file that was cut short lacks it
_WAY_OUT = "mend it, or delete the file to record anew"
Stamp = tuple[int, int] | None


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One recorded answer: a whole ``body``, or the ``events`` of a stream."""

    task: str
    trial: int
    position: int
    ordinal: int = 0
    key: str
    request: Any
    status: int = 200
    body: Any = None
    events: list[Any] | None = None

    @property
    def place(self) -> tuple[str, int, str, int]:
        """What it is found by."""
        return self.task, self.trial, self.key, self.ordinal


def read_entries(path: Path) -> tuple[list[Entry], Stamp]:
    """All entries of a file, and a stamp to notice that someone else has changed it."""
    try:
        stamp = stamp_of(path)
        text = text_of(read_regular(path))
    except (OSError, UnicodeError) as error:
        raise CassetteError(f"{path} can't be read: {error}") from error
    if _is_yaml(path):
        return _from_yaml(path, text), stamp
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise CassetteError(f"{path} is empty, not a cassette; delete it to record a new one")
    values = [_json(path, number, line) for number, line in lines]
    _check_head(path, values[0])
    numbered = zip(lines[1:], values[1:], strict=True)
    return [_entry(path, f"line {number}", value) for (number, _), value in numbered], stamp


def write_entries(path: Path, entries: Sequence[Entry]) -> Stamp:
    """Write a file whole, and give its stamp."""
    _replace(path, _to_yaml(entries) if _is_yaml(path) else _to_lines(entries))
    return stamp_of(path)


def stamp_of(path: Path) -> Stamp:
    """What changes when someone writes the file; None when there is none."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_size


def _replace(path: Path, text: str) -> None:
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False, newline="\n") as file:
            temporary = file.name
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except (OSError, UnicodeError) as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise CassetteError(f"{path} can't be written: {error}") from error


def _is_yaml(path: Path) -> bool:
    if path.suffix not in (".yaml", ".yml", ".jsonl"):
        raise CassetteError(f"{path}: a cassette's name ends in .yaml or .jsonl")
    return path.suffix != ".jsonl"


def _json(path: Path, number: int, line: str) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise CassetteError(f"{path}, line {number}: not JSON ({error}); {_WAY_OUT}") from error


def _from_yaml(path: Path, text: str) -> list[Entry]:
    try:
        data = yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise CassetteError(f"{path}: not YAML ({error}); {_WAY_OUT}") from error
    _check_head(path, data)
    entries = data.get("answers", [])
    if not isinstance(entries, list):
        raise CassetteError(f"{path}: 'answers' must be a list")
    if entries and data.get(_COUNT) != len(entries):
        said = data.get(_COUNT, "nothing")
        raise CassetteError(
            f"{path}: it holds {len(entries)} answers and its last line, '{_COUNT}', says {said}: "
            f"the file was cut short or edited; {_WAY_OUT}"
        )
    return [_entry(path, f"answer {number}", value) for number, value in enumerate(entries, 1)]


def _check_head(path: Path, head: Any) -> None:
    version = head.get(_HEAD) if isinstance(head, dict) else None
    if version != _VERSION:
        raise CassetteError(f"{path} doesn't begin with {_HEAD}: {_VERSION}: not a cassette, or one of another version")


def _entry(path: Path, where: str, value: Any) -> Entry:
    try:
        return msgspec.convert(value, Entry)
    except msgspec.ValidationError as error:
        raise CassetteError(f"{path}, {where}: {error}; {_WAY_OUT}") from error


def _to_lines(entries: Iterable[Entry]) -> str:
    rows: list[Any] = [{_HEAD: _VERSION}, *entries]
    return "".join(msgspec.json.encode(row).decode() + "\n" for row in rows)


def _to_yaml(entries: Iterable[Entry]) -> str:
    answers = [msgspec.to_builtins(entry) for entry in entries]
    data = {_HEAD: _VERSION, "answers": answers, _COUNT: len(answers)}
    return str(yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120))


_SAFE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_SAFE):  # type: ignore[misc]
    """Refuses a name that is given twice, as a merge of two files may leave it."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping, each of its names once."""
        seen: set[str] = set()
        for name, _ in node.value:
            if str(name.value) in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{name.value!r} is given twice", node.start_mark)
            seen.add(str(name.value))
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_DUMPER):  # type: ignore[misc]
    """Writes texts of several lines as blocks, and repeated values in full."""

    def ignore_aliases(self, data: Any) -> bool:
        """Never refer to another place in the file."""
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)
