"""Single values of a table: what a cell means, or why it means nothing."""

from __future__ import annotations

import math
from typing import Any

from passhat.facts import hidden

WITHIN = 1e-6  # a reward this near to 1 is a success; less than that is partial credit
_YES = {"true", "yes", "y", "t", "pass", "passed", "success", "correct", "resolved"}
_NO = {"false", "no", "n", "f", "fail", "failed", "failure", "incorrect", "wrong", "unresolved"}
_NOTHING = {"", "nan", "na", "n/a", "null", "none"}


def is_nothing(value: Any) -> bool:
    """Whether a cell is empty, or a word for *not there*.

    >>> [is_nothing(value) for value in (None, " ", "NaN", 0, "0")]
    [True, True, True, False, False]
    """
    return value is None or (isinstance(value, str) and value.strip().lower() in _NOTHING)


def number(value: Any, *, decimal_comma: bool = False) -> float:
    """A finite number. Raises ValueError with the reason."""
    if isinstance(value, str):
        text = value.strip()
        if decimal_comma and text.count(",") == 1 and "." not in text:
            text = text.replace(",", ".")
        try:
            value = float(text) if "_" not in text else None
        except ValueError:
            value = None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise ValueError("must be a finite number")
    return found


def amount(value: Any, *, decimal_comma: bool = False) -> float:
    """A finite number, 0 or more. Raises ValueError."""
    found = number(value, decimal_comma=decimal_comma)
    if found < 0:
        raise ValueError("must be 0 or more")
    return found


def whole(value: Any) -> int:
    """A whole number, 0 or more; ``3.0`` is one. Raises ValueError."""
    found = amount(value)
    if found != int(found):
        raise ValueError("must be a whole number")
    return int(found)


def score(value: Any, *, decimal_comma: bool = False) -> float:
    """A score in 0..1 from a number, a truth value or a word for one; off by rounding is fine. Raises ValueError.

    >>> score("true"), score(0.5), score("1.0000001")
    (1.0, 0.5, 1.0)
    """
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and value.strip().lower() in _YES | _NO:
        return float(value.strip().lower() in _YES)
    try:
        found = number(value, decimal_comma=decimal_comma)
    except ValueError:
        raise ValueError("must be 0 or 1, true or false, or a number between 0 and 1") from None
    if not -WITHIN <= found <= 1 + WITHIN:
        raise ValueError("must be between 0 and 1; divide by the highest reward there can be")
    return min(max(found, 0.0), 1.0)


def succeeded(found: float) -> bool:
    """Whether a score is a full one.

    >>> succeeded(1 - 1e-7), succeeded(0.99)
    (True, False)
    """
    return abs(found - 1) <= WITHIN


def name(value: Any) -> str:
    """A name from text or a whole number. Raises ValueError."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError("must be text or a whole number")
    text = str(value).strip()
    if not text or not text.isprintable():
        text = " ".join(text.split())
    if not text or not text.isprintable():
        raise ValueError(f"must be a name without characters that can't be seen{hidden(text)}")
    return text


def words(value: Any) -> tuple[str, ...]:
    """Tags from a list, or from text with ``;``, ``|`` or ``,`` between them. Raises ValueError."""
    if isinstance(value, str):
        mark = next((mark for mark in ";|," if mark in value), None)
        value = value.split(mark) if mark else [value]
    if not isinstance(value, list):
        raise ValueError("must be a list of words")
    return tuple(dict.fromkeys(name(word) for word in value if not is_nothing(word)))
