"""Checks over a whole set of tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from passhat.facts import Task, TaskError
from passhat.suite._errors import suggestion

FIELDS = Task.__struct_fields__


def make_task(fields: Mapping[str, Any]) -> Task:
    """A task from named fields, as they stand in a file. Raises `TaskError` naming the field.

    >>> make_task({"id": "t1", "expcted": 4})
    Traceback (most recent call last):
    ...
    passhat.facts._tasks.TaskError: unknown field 'expcted'; did you mean 'expected'?
    """
    for name in fields:
        if name not in FIELDS:
            raise TaskError(f"unknown field {name!r}{suggestion(str(name), FIELDS)}")
    if "id" not in fields:
        raise TaskError("missing field 'id'")
    if not isinstance(fields["id"], str):
        raise TaskError(f"id must be text, got {fields['id']!r}; put it in quotes")
    tags = fields.get("tags", ())
    if not isinstance(tags, list | tuple):
        raise TaskError(f"task {fields['id']!r}: tags must be a list of words, got {tags!r}")
    family = fields.get("family")
    if family is not None and not isinstance(family, str):
        raise TaskError(f"task {fields['id']!r}: family must be text, got {family!r}")
    return Task(**dict(fields))


def check_tasks(tasks: Iterable[Task]) -> tuple[tuple[str, ...], ...]:
    """Refuse an empty set and ids that are used twice; return the groups of ids that ask the same thing.

    Raises `TaskError`.
    """
    tasks = tuple(tasks)
    _check_ids(tasks)
    return duplicate_inputs(tasks)


def _check_ids(tasks: Sequence[Task]) -> None:
    if not tasks:
        raise TaskError("there are no tasks")
    first: dict[str, int] = {}
    for index, task in enumerate(tasks):
        if task.id in first:
            raise TaskError(f"task id {task.id!r} is used twice: by task {first[task.id] + 1} and task {index + 1}")
        first[task.id] = index


def duplicate_inputs(tasks: Iterable[Task]) -> tuple[tuple[str, ...], ...]:
    """Groups of two or more task ids whose input and data are equal, in the order of the tasks.

    They are one question asked several times: they don't add what the same number of different tasks would.

    >>> duplicate_inputs([Task("a", input=1), Task("b", input=2), Task("c", input=1)])
    (('a', 'c'),)
    """
    groups: dict[str, list[str]] = {}
    for task in tasks:
        groups.setdefault(task.input_hash, []).append(task.id)
    return tuple(tuple(ids) for ids in groups.values() if len(ids) > 1)


def as_tasks(items: Any) -> tuple[Task, ...]:
    """Tasks from a list of tasks or of objects with a task's fields, checked. Raises `TaskError` naming the place."""
    if isinstance(items, str | bytes | Mapping | Task) or not isinstance(items, Iterable):
        raise TaskError(f"tasks must be a list of Task, got {_short(items)}")
    tasks: list[Task] = []
    for index, item in enumerate(items):
        if isinstance(item, Task):
            tasks.append(item)
        elif isinstance(item, Mapping):
            try:
                tasks.append(make_task(item))
            except (TaskError, msgspec.MsgspecError) as error:
                raise TaskError(f"tasks[{index}]: {error}") from None
        else:
            raise TaskError(f"tasks[{index}] must be a Task, got {_short(item)}")
    _check_ids(tasks)
    return tuple(tasks)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
