"""Numbers and names in sentences."""

from __future__ import annotations

from collections.abc import Iterable


def count(number: int, word: str, plural: str | None = None) -> str:
    """A number with its noun.

    >>> count(1, "task"), count(1200, "trial"), count(3, "try", "tries")
    ('1 task', '1,200 trials', '3 tries')
    """
    return f"{number:,} {word if number == 1 else plural or word + 's'}"


def named(names: Iterable[str], most: int = 5) -> str:
    """The first names, and how many more there are.

    >>> named(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    names = list(names)
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"
