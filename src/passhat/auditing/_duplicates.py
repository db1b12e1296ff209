"""Tasks that ask the same thing, or nearly."""

from __future__ import annotations

import difflib
import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from passhat.auditing._rules import AuditFinding, finding
from passhat.facts import Task, canonical_json

_NEARLY = 0.9  # of the words, in order
_FEWEST = 8  # words: in a shorter text each of them matters
_MOST = 2000  # tasks of one goal that are compared with each other
_WORD = re.compile(r"[^\W_]+|[+*/=<>^%#&|~$€£]|-(?=\s?\d)")  # signs that say something, as in C++ and 2*3
_CONTRACTED = (
    (re.compile(r"\bcan(no|')t\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"\bshan't\b"), "shall not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"\bi'm\b"), "i am"),
    (re.compile(r"\blet's\b"), "let us"),
    (re.compile(r"(?<=\w)'re\b"), " are"),
    (re.compile(r"(?<=\w)'ve\b"), " have"),
    (re.compile(r"(?<=\w)'ll\b"), " will"),
    (re.compile(r"\b(it|that|what|who|where|how|there|he|she)'s\b"), r"\1 is"),
)


def duplicate_findings(tasks: Sequence[Task]) -> Iterator[AuditFinding]:
    """Tasks whose data are equal, and whose inputs are but for capitals, punctuation, accents and contractions.

    Those that differ in a few words, in no number, and expect the same are told in a note.
    """
    words = {task.id: words_of(task.input) for task in tasks}
    groups: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        groups[canonical_json([words[task.id] or task.input, task.data])].append(task)
    for group in groups.values():
        if len(group) > 1:
            ids = [task.id for task in group]
            goals = {canonical_json(task.expected) for task in group}
            text = f"{', '.join(ids)} ask the same thing"
            text += " and expect different things" if len(goals) > 1 else "; they count as one task"
            yield finding("duplicate-input", text, tasks=ids)
    yield from _near([group[0] for group in groups.values()], words)


def _near(tasks: Sequence[Task], words: dict[str, list[str]]) -> Iterator[AuditFinding]:
    goals: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        if len(words[task.id]) >= _FEWEST:
            numbers = sorted(word for word in words[task.id] if re.search(r"\d", word))
            goals[canonical_json([task.expected, task.data, numbers])].append(task)
    for group in goals.values():
        for one, other in combinations(group[:_MOST], 2):
            mine, theirs = words[one.id], words[other.id]
            if len(set(mine) ^ set(theirs)) <= 0.3 * len(mine) and _alike(mine, theirs) >= _NEARLY:
                text = f"{one.id}, {other.id} ask nearly the same thing, and expect the same"
                yield finding("nearly-duplicate", text, tasks=[one.id, other.id])


def _alike(one: Sequence[str], other: Sequence[str]) -> float:
    return difflib.SequenceMatcher(None, one, other, autojunk=False).ratio()


def words_of(value: Any) -> list[str]:
    """The words of an input, without regard to how they are written.

    >>> words_of("I don’t WANT a café...") == words_of("i do not want, a cafe")
    True
    """
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = unicodedata.normalize("NFKD", text.replace("\u2019", "'").replace("\u02bc", "'")).casefold()
    text = re.sub(r"[\u0300-\u036f]", "", text)
    for pattern, long in _CONTRACTED:
        text = pattern.sub(long, text)
    return _WORD.findall(text.replace("'", ""))
