"""Things grouped by a key, and taken from the groups in turn."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """The items by their key, both in the order of their first appearance.

    >>> grouped(["pear", "fig", "plum"], len)
    {4: ['pear', 'plum'], 3: ['fig']}
    """
    found: dict[K, list[T]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def interleaved(groups: Iterable[Sequence[T]]) -> list[T]:
    """One item of each group, then the second of each, and so on.

    >>> interleaved([[1, 2, 3], [9]])
    [1, 9, 2, 3]
    """
    rows = list(groups)
    longest = max(map(len, rows), default=0)
    return [row[place] for place in range(longest) for row in rows if place < len(row)]
