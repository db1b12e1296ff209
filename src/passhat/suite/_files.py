"""Tasks from JSONL and YAML files, with errors that name file, line and field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from passhat.facts import Task, TaskError
from passhat.isolation import read_regular
from passhat.suite._checks import make_task
from passhat.suite._errors import TasksFileError


def load_tasks(path: str | Path) -> tuple[Task, ...]:
    """Read tasks from ``.jsonl`` (one object a line) or ``.yaml``/``.yml`` (a list of objects).

    The fields are those of `Task`. In YAML only ``true``, ``false``, ``null`` and plain numbers have a meaning of
    their own: ``no``, dates and numbers with a leading zero stay text. Ids must be unique in the file. Raises
    `TasksFileError`, which names the file, the line and the field.
    """
    file = Path(path)
    readers = {".jsonl": _jsonl, ".ndjson": _jsonl, ".yaml": _yaml, ".yml": _yaml}
    reader = readers.get(file.suffix.lower())
    if reader is None:
        raise TasksFileError(file, None, f"unknown kind of file {file.suffix!r}; use .jsonl, .yaml or .yml")
    try:
        text = read_regular(file).decode("utf-8-sig")
    except FileNotFoundError:
        raise TasksFileError(file, None, "there is no such file") from None
    except OSError as error:
        raise TasksFileError(file, None, f"can't be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise TasksFileError(file, line, f"is not UTF-8 (byte {error.object[error.start]:#04x})") from None
    tasks: list[Task] = []
    lines: dict[str, int] = {}
    for line, fields in reader(file, text):
        task = _task(file, line, fields)
        if task.id in lines:
            problem = f"task id {task.id!r} is used twice; first on line {lines[task.id]}"
            raise TasksFileError(file, line, problem, field="id")
        lines[task.id] = line
        tasks.append(task)
    if not tasks:
        raise TasksFileError(file, None, "holds no tasks")
    return tuple(tasks)


def _task(file: Path, line: int, fields: Any) -> Task:
    if not isinstance(fields, dict):
        raise TasksFileError(file, line, f"a task is an object with named fields, got {json.dumps(fields)[:80]}")
    try:
        return make_task(fields)
    except (TaskError, msgspec.MsgspecError) as error:
        named = re.search(rf"field '([^']+)'|: ({'|'.join(Task.__struct_fields__)})\b", str(error))
        raise TasksFileError(file, line, str(error), field=named and (named[1] or named[2])) from None


def _jsonl(file: Path, text: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line, object_pairs_hook=_once, parse_constant=_refused)
        except json.JSONDecodeError as error:
            raise TasksFileError(file, number, f"is no JSON: {error.msg} at column {error.colno}") from None
        except _Bad as error:
            raise TasksFileError(file, number, str(error), field=error.field) from None
        except RecursionError:
            raise TasksFileError(file, number, "is nested too deeply") from None


class _Bad(Exception):
    """Something that is JSON or YAML by the letter and yet a mistake."""

    def __init__(self, problem: str, field: str | None = None) -> None:
        super().__init__(problem)
        self.field = field


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _Bad(f"field {key!r} is given twice", key)
        found[key] = value
    return found


def _refused(word: str) -> Any:
    raise _Bad(f"{word} is not a JSON number")


def _yaml(file: Path, text: str) -> Iterator[tuple[int, Any]]:
    import yaml

    from passhat.suite._yaml import PlainLoader, construct

    try:
        loader = PlainLoader(text)
        root = loader.get_single_node()
        if isinstance(root, yaml.MappingNode) and len(root.value) == 1 and root.value[0][0].value == "tasks":
            root = root.value[0][1]
        if root is None:
            return
        if not isinstance(root, yaml.SequenceNode):
            raise TasksFileError(file, root.start_mark.line + 1, "tasks are a list: start each one with '- id: …'")
        for node in root.value:
            yield node.start_mark.line + 1, construct(loader, node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "can't be read"
        raise TasksFileError(file, None if mark is None else mark.line + 1, f"is no YAML: {problem}") from None
    except yaml.YAMLError as error:
        raise TasksFileError(file, None, f"is no YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise TasksFileError(file, None, "is nested too deeply, or contains itself") from None
