"""Words of their own, planted in what tasks ask: where one turns up in another task's trial, something leaked."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from passhat.facts import Task


def marker_of(task: Task) -> str:
    """A word that stands nowhere else: twelve hexadecimal digits, made of the task's id and content.

    >>> marker_of(Task("t1", input="refund A1"))
    '48be30e4a3ea'
    """
    return hashlib.sha256(f"marker {task.id} {task.hash}".encode()).hexdigest()[:12]


def marked(tasks: Sequence[Task]) -> list[Task]:
    """The tasks with their markers at the end of the first text in their input; one without text stays as it is.

    >>> marked([Task("t1", input={"to": 3, "ask": "refund A1"})])[0].input["ask"]
    'refund A1 (ref 2d6099ac7f57)'
    """
    return [msgspec.structs.replace(task, input=_planted(task.input, f" (ref {marker_of(task)})")) for task in tasks]


def _planted(value: Any, mark: str) -> Any:
    """The value with the mark in its first text; the very same value where it has none."""
    if isinstance(value, str):
        return value + mark
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        new = _planted(part, mark)
        if new is not part:
            copy = dict(value) if isinstance(value, dict) else list(value)
            copy[key] = new
            return copy
    return value
