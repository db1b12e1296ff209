"""One problem that an agent is asked to solve."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from passhat.facts._errors import PasshatError
from passhat.facts._json import as_json, digest
from passhat.facts._wording import hidden


class TaskError(PasshatError, ValueError):
    """A task that can't be used; the message says which one, which field, and why."""


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One problem: an id, an input, and what counts as success.

    ``input`` and ``data`` are what the agent may see; ``expected``, ``reference`` and ``alternatives`` never reach it.
    ``tags`` group the report. Tasks of one ``family`` (one template, one repository) count as one for the interval
    over *tasks like these*. ``split="tune"`` marks a task that the agent was tuned on: it is reported apart from the
    headline. ``reference`` is a known solution as JSON, usually a list of tool calls, which the suite's
    ``reference=`` function plays; ``alternatives`` are others that are as good, each in the same form.

    All values must be JSON; `TaskError` names the field that isn't.

    >>> Task("t1", input="refund order A1", expected={"refunds": [["A1", 20]]}).id
    't1'
    >>> Task("  ")
    Traceback (most recent call last):
    ...
    passhat.facts._tasks.TaskError: a task needs a non-empty id, got '  '
    """

    id: str
    input: Any = None
    expected: Any = None
    data: dict[str, Any] = {}
    tags: tuple[str, ...] = ()
    family: str | None = None
    split: Literal["tune", "holdout"] = "holdout"
    reference: Any = None
    alternatives: list[Any] = []

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id.strip():
            raise TaskError(f"a task needs a non-empty id, got {self.id!r}")
        if self.id != self.id.strip() or not self.id.isprintable():
            raise TaskError(
                f"task id {self.id!r}{hidden(self.id)}; ids have printable characters and no space at an end"
            )
        if self.split not in ("tune", "holdout"):
            raise TaskError(f"task {self.id!r}: split must be 'tune' or 'holdout', got {self.split!r}")
        if isinstance(self.tags, str) or not all(isinstance(tag, str) and tag for tag in self.tags):
            raise TaskError(f"task {self.id!r}: tags must be a list of words, got {self.tags!r}")
        if not isinstance(self.data, dict):
            raise TaskError(f"task {self.id!r}: data must be an object of named values, got {self.data!r}")
        msgspec.structs.force_setattr(self, "tags", tuple(self.tags))
        if not isinstance(self.alternatives, list | tuple):
            raise TaskError(f"task {self.id!r}: alternatives must be a list of solutions, got {self.alternatives!r}")
        if self.alternatives and self.reference is None:
            raise TaskError(f"task {self.id!r}: alternatives are solutions beside the reference, and it has none")
        for name in ("input", "expected", "data", "reference", "alternatives"):
            try:
                msgspec.structs.force_setattr(self, name, as_json(getattr(self, name), name=name))
            except ValueError as error:
                raise TaskError(f"task {self.id!r}: {error}") from None

    @property
    def hash(self) -> str:
        """SHA-256 of everything that defines the task."""
        return digest(msgspec.to_builtins(self))

    @property
    def input_hash(self) -> str:
        """SHA-256 of what the agent sees: two tasks with equal ones ask the same thing."""
        return digest([self.input, self.data])
