"""What a check expects: a value, a key of the task's expected answer, or a function of the task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from passhat.graders._names import GraderSetup


class _Whole:
    def __repr__(self) -> str:
        return "task.expected"


WHOLE = _Whole()


class value(NamedTuple):
    """A literal expectation: needed for text, which otherwise names a key of ``task.expected``, and for functions.

    >>> from passhat.facts import Task
    >>> expected_of(value("cancelled"), Task("t"))
    'cancelled'
    """

    value: Any


def expected_of(expect: Any, task: Any) -> Any:
    """What ``expect`` means for a task.

    Nothing given: the whole of ``task.expected``. Text: that key of ``task.expected`` (``"refund.amount"`` looks
    inside). ``value(x)``: x itself. A function: what it returns for the task. Anything else: itself. Raises
    `LookupError` naming the task when ``task.expected`` doesn't hold what is asked.

    >>> from passhat.facts import Task
    >>> task = Task("t", expected={"refund": {"amount": 20}})
    >>> expected_of("refund.amount", task), expected_of(7, task), expected_of(lambda task: task.id, task)
    (20, 7, 't')
    """
    if isinstance(expect, value):
        return expect.value
    if expect is WHOLE:
        if task.expected is None:
            raise LookupError(f"task {task.id!r} has no expected answer; give it one, or give the grader expect=…")
        return task.expected
    if isinstance(expect, str):
        return _part(task, expect)
    return expect(task) if callable(expect) else expect


def _part(task: Any, key: str) -> Any:
    found = task.expected
    if isinstance(found, Mapping) and key in found:
        return found[key]
    for word in key.split("."):
        if isinstance(found, Mapping) and word in found:
            found = found[word]
        elif isinstance(found, list) and word.isdecimal() and int(word) < len(found):
            found = found[int(word)]
        else:
            has = f"has {', '.join(map(repr, found))}" if isinstance(found, Mapping) else f"is {_short(found)}"
            raise LookupError(
                f"expect={key!r} names a key of task.expected, which {has} in task {task.id!r}; "
                f"for the text itself write expect=value({key!r})"
            )
    return found


def checked(expect: Any, where: str) -> Any:
    """Refuse what can't be an expectation."""
    if isinstance(expect, str) and not expect:
        raise GraderSetup(f"{where}: expect='' names no key; for the empty text write expect=value('')")
    return expect


def _short(thing: Any) -> str:
    text = repr(thing)
    return text if len(text) <= 60 else f"{text[:57]}..."
