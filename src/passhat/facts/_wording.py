"""Numbers and names in sentences, and texts that are too long for one."""

from __future__ import annotations

import datetime
import unicodedata
from collections.abc import Iterable


def count(number: int, word: str, several: str | None = None) -> str:
    """A number with its noun, or with more that agrees with it.

    >>> count(1, "task"), count(1200, "trial"), count(1, "try is", "tries are")
    ('1 task', '1,200 trials', '1 try is')
    """
    return f"{number:,} {plural(number, word, several or word + 's')}"


def plural(number: int, one: str, several: str) -> str:
    """The word that agrees with a number which stands elsewhere in the sentence.

    >>> plural(1, "is", "are"), plural(0, "is", "are")
    ('is', 'are')
    """
    return one if number == 1 else several


def named(names: Iterable[str], most: int = 5) -> str:
    """The first names, and how many more there are.

    >>> named(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    names = list(names)
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def hidden(text: str) -> str:
    """Which character of a text can't be printed, or is a space at an end, and where; empty without one.

    >>> hidden("a\u202eb"), hidden("a\x07"), hidden(" a"), hidden("a b")
    (': character 2 is U+202E RIGHT-TO-LEFT OVERRIDE', ': character 2 is U+0007', ': character 1 is a space', '')
    """
    for place, each in enumerate(text, 1):
        if not each.isprintable():
            return f": character {place} is U+{ord(each):04X} {unicodedata.name(each, '')}".rstrip()
        if each == " " and place in (1, len(text)):
            return f": character {place} is a space"
    return ""


def shortened(text: str, longest: int) -> str:
    """A text of at most ``longest`` characters, one of them the sign that there was more.

    >>> shortened("refund", 4)
    'ref…'
    """
    return text if len(text) <= longest else text[: longest - 1] + "…"


def moment(nanoseconds: int) -> str:
    """A time, given in nanoseconds since the epoch, for people: in UTC, to the second.

    >>> moment(1_500_000_000)
    '1970-01-01 00:00:01Z'
    """
    return f"{datetime.datetime.fromtimestamp(nanoseconds // 10**9, datetime.UTC):%Y-%m-%d %H:%M:%SZ}"
