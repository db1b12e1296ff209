"""The reference's reply with one of several wanted things left out, and whether that is missed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

_LETTERS = 2  # a shorter text stands in too many words


@dataclass(frozen=True)
class Omission:
    """A reply without one element of a list in `expected`, another element of which is still in it.

    ``path`` is the place of the list: its keys, and ``*`` for any element of an outer list.
    """

    path: str
    left_out: tuple[str, ...]
    reply: str

    @property
    def words(self) -> str:
        """What was left out, quoted."""
        return ", ".join(repr(each) for each in self.left_out)


def omissions(expected: Any, reply: Any) -> Iterator[Omission]:
    """Each way to leave one wanted thing out of a reply that has several; none where the words stand for more.

    Whether a list wants all of its elements or any of them can't be seen in it: the caller finds out by playing.

    >>> say = {"say": [["red", "crimson"], ["blue"]]}
    >>> [(each.path, each.words, each.reply) for each in omissions(say, "A red one or a blue one?")]
    [('say', "'red'", 'A one or a blue one?'), ('say', "'blue'", 'A red one or a one?')]
    """
    if not isinstance(reply, str):
        return
    for path, elements, outside in _lists(expected, "", []):
        leaves = [list(_leaves(element)) for element in elements]
        for place, mine in enumerate(leaves):
            said = tuple(dict.fromkeys(leaf for leaf in mine if _says(reply, leaf)))
            others = [leaf for number, each in enumerate(leaves) if number != place for leaf in each]
            rest = _without(reply, mine)
            takes_more = any(_says(reply, leaf) and not _says(rest, leaf) for leaf in (*others, *outside))
            if said and not takes_more and any(_says(rest, leaf) for leaf in others):
                yield Omission(path, said, rest)


def demanded(played: Iterable[tuple[Omission, bool]]) -> set[str]:
    """The lists that want all of their elements, from omissions and whether each failed.

    At least a quarter failed: a single one may have failed for something that `expected` says nowhere.
    """
    failed: dict[str, list[bool]] = defaultdict(list)
    for omission, fails in played:
        failed[omission.path].append(fails)
    return {path for path, each in failed.items() if 0 < len(each) <= 4 * sum(each)}


def _lists(value: Any, path: str, outside: list[str]) -> Iterator[tuple[str, list[Any], list[str]]]:
    """Lists of two elements or more, where they are, and the texts of what isn't in them."""
    if isinstance(value, dict):
        for key, each in value.items():
            around = [leaf for other in value if other != key for leaf in _leaves(value[other])]
            yield from _lists(each, f"{path}.{key}" if path else str(key), [*outside, *around])
    elif isinstance(value, list):
        if len(value) > 1:
            yield path, value, outside
        for place, each in enumerate(value):
            around = [leaf for number, other in enumerate(value) if number != place for leaf in _leaves(other)]
            yield from _lists(each, f"{path}.*" if path else "*", [*outside, *around])


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str) and len(value.strip()) >= _LETTERS:
        yield value.strip()
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _leaves(each)


def _says(text: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}", text, re.IGNORECASE) is not None


def _without(text: str, leaves: list[str]) -> str:
    """The text without any word that one of the leaves is in, however a grader looks for it."""
    for leaf in sorted(leaves, key=len, reverse=True):
        text = re.sub(rf"\w*{re.escape(leaf)}\w*", " ", text, flags=re.IGNORECASE)
    return " ".join(text.split())
