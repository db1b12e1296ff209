"""Choosing some of the tasks: by id, by an expression over ids, by tag."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from passhat.facts import Task
from passhat.suite._errors import SuiteError, suggestion

Test = Callable[[str], bool]


def select(
    tasks: Iterable[Task], *, ids: Sequence[str] = (), k: str | None = None, tags: Sequence[str] = ()
) -> tuple[Task, ...]:
    """The tasks that satisfy every condition given, in their own order.

    ``ids`` are exact. ``k`` is an expression over parts of the id, without regard to case, with ``and``, ``or``,
    ``not`` and parentheses. ``tags``: a task needs at least one of them. Raises `SuiteError` for an unknown id or tag,
    an expression that can't be read, or when no task is left.

    >>> tasks = [Task("refund-1"), Task("refund-angry"), Task("exchange-1", tags=["vip"])]
    >>> [task.id for task in select(tasks, k="refund and not angry")]
    ['refund-1']
    """
    tasks = tuple(tasks)
    known_tags = {tag for task in tasks for tag in task.tags}
    _known("task", ids, {task.id for task in tasks})
    _known("tag", tags, known_tags)
    matches = (lambda _: True) if k is None else expression(k)
    chosen = tuple(
        task
        for task in tasks
        if (not ids or task.id in ids) and matches(task.id) and (not tags or set(tags) & set(task.tags))
    )
    if not chosen and tasks:
        asked = [f"-k {k!r}"] if k is not None else []
        asked += [f"--task {id}" for id in ids] + [f"--tag {tag}" for tag in tags]
        raise SuiteError(f"no task matches {' '.join(asked)}; there are {len(tasks)}, the first is {tasks[0].id!r}")
    return chosen


def _known(what: str, asked: Sequence[str], known: set[str]) -> None:
    if isinstance(asked, str):
        raise SuiteError(f"{what}s must be a list, got the text {asked!r}")
    for word in asked:
        if word not in known:
            raise SuiteError(f"there is no {what} {word!r}{suggestion(word, known)}")


def expression(text: str) -> Test:
    """A test of a name from words joined by ``and``, ``or``, ``not`` and parentheses.

    >>> expression("a or (b and not c)")("xb")
    True
    """
    words = re.findall(r"[()]|[^\s()]+", text)
    test, rest = _either(words, text)
    if rest:
        raise SuiteError(f"-k {text!r}: {rest[0]!r} isn't expected there; join words by 'and' or 'or'")
    return test


def _either(words: list[str], text: str) -> tuple[Test, list[str]]:
    first, words = _both(words, text)
    tests = [first]
    while words and words[0].lower() == "or":
        test, words = _both(words[1:], text)
        tests.append(test)
    return (lambda name: any(test(name) for test in tests)), words


def _both(words: list[str], text: str) -> tuple[Test, list[str]]:
    first, words = _one(words, text)
    tests = [first]
    while words and words[0].lower() == "and":
        test, words = _one(words[1:], text)
        tests.append(test)
    return (lambda name: all(test(name) for test in tests)), words


def _one(words: list[str], text: str) -> tuple[Test, list[str]]:
    if not words or words[0] == ")" or words[0].lower() in ("and", "or"):
        got = "the end" if not words else repr(words[0])
        raise SuiteError(f"-k {text!r}: a word is missing before {got}")
    word, words = words[0], words[1:]
    if word.lower() == "not":
        inner, words = _one(words, text)
        return (lambda name: not inner(name)), words
    if word == "(":
        inner, words = _either(words, text)
        if not words or words[0] != ")":
            raise SuiteError(f"-k {text!r}: a ')' is missing")
        return inner, words[1:]
    part = word.lower()
    return (lambda name: part in name.lower()), words
