"""Making text comparable, as far as was asked."""

from __future__ import annotations

import unicodedata
from typing import Any

from passhat.graders._names import GraderSetup

NORMAL = ("strip", "case", "spaces", "unicode", "punctuation")


def levels(normalise: Any) -> tuple[str, ...]:
    """What to level, from True, False or words."""
    if normalise is True:
        return ("strip", "case", "spaces", "unicode")
    words = (normalise,) if isinstance(normalise, str) else tuple(normalise or ())
    for word in words:
        if word not in NORMAL:
            raise GraderSetup(f"normalise: {word!r} is unknown; use True, or some of {', '.join(NORMAL)}")
    return words


def normal(value: Any, what: tuple[str, ...]) -> Any:
    """The value with all its text levelled.

    >>> normal([" Ａ  b! "], ("strip", "case", "spaces", "unicode", "punctuation"))
    ['a b']
    """
    if not what:
        return value
    if isinstance(value, list | tuple):
        return [normal(item, what) for item in value]
    if isinstance(value, dict):
        return {key: normal(item, what) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    text = unicodedata.normalize("NFKC", value) if "unicode" in what else value
    if "punctuation" in what:
        text = "".join(c for c in text if not unicodedata.category(c).startswith("P"))
    if "case" in what:
        text = text.casefold()
    if "spaces" in what:
        leading, trailing = text[:1].isspace(), text[-1:].isspace()
        words = " ".join(text.split())
        text = f"{' ' if leading and words else ''}{words}{' ' if trailing and words else ''}"
    return text.strip() if "strip" in what else text
