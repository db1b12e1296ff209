"""When two values are the same, and the difference in a few lines when they aren't."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from passhat.graders._names import GraderSetup

_MARKS = 64  # combining marks in a row; a run of twice as many surely covers one aligned stretch of so many
ULPS = 16  # units in the last place: what adding up some hundred floats leaves


def is_number(value: Any) -> bool:
    """An int, float or Decimal; no bool."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def close(a: Any, b: Any, tolerance: float = 0.0) -> bool:
    """Whether two numbers differ by no more than ``tolerance`` (absolute), or by the rounding of floats only.

    Differences are exact, by the decimals that a float is written with; reaching the bound is enough. Whole numbers
    are close only when they are equal, or within the tolerance. NaN is close to nothing.

    >>> close(25, 25.0), close(0.1 + 0.2, 0.3), close(10**17, 10**17 + 1), close(96.12, 96.125, 0.005)
    (True, True, False, True)
    >>> close(1e9, 1000000001), close(1e9, 1e9 + 1e-6)
    (False, True)
    """
    x, y = exactly(a), exactly(b)
    if not (x.is_finite() and y.is_finite()):
        return not (x.is_nan() or y.is_nan()) and x == y
    return a == b or abs(x - y) <= exactly(tolerance) + rounding(x, y)


def exactly(number: Any) -> Decimal:
    """An int, float or Decimal as the decimal that it is written as: 0.1 is one tenth."""
    return (
        number if isinstance(number, Decimal) else Decimal(repr(float(number)) if isinstance(number, float) else number)
    )


def rounding(a: Decimal, b: Decimal) -> Decimal:
    """By how much two finite numbers may differ because floats are rounded: nothing where both are whole."""
    if a == a.to_integral_value() and b == b.to_integral_value():
        return Decimal(0)
    largest = float(max(abs(a), abs(b)))
    return ULPS * Decimal(math.ulp(largest)) if math.isfinite(largest) else Decimal(0)


def same(expected: Any, found: Any, tolerance: float = 0.0) -> bool:
    """Whether two JSON-like values are equal. Numbers compare as numbers, lists in order, True is not 1."""
    return next(differences(expected, found, tolerance), None) is None


def differences(expected: Any, found: Any, tolerance: float = 0.0, path: str = "") -> Iterator[str]:
    """The differences between two JSON-like values, one line each, with the place.

    >>> list(differences({"a": [1, 2], "b": 3}, {"a": [1, 4], "c": 3}))
    ['a[1]: expected 2, found 4', 'b: missing (expected 3)', 'c: unexpected 3']
    """
    if is_number(expected) and is_number(found):
        if not close(expected, found, tolerance):
            yield f"{_at(path)}expected {short(expected)}, found {short(found)}"
    elif isinstance(expected, Mapping) and isinstance(found, Mapping):
        for key, value in expected.items():
            place = f"{path}.{key}" if path else str(key)
            if key in found:
                yield from differences(value, found[key], tolerance, place)
            else:
                yield f"{place}: missing (expected {short(value)})"
        for key in found:
            if key not in expected:
                yield f"{path}.{key}: unexpected {short(found[key])}".removeprefix(".")
    elif is_list(expected) and is_list(found):
        for index, (a, b) in enumerate(zip(expected, found, strict=False)):
            yield from differences(a, b, tolerance, f"{path}[{index}]")
        for index in range(len(found), len(expected)):
            yield f"{path}[{index}]: missing (expected {short(expected[index])})"
        for index in range(len(expected), len(found)):
            yield f"{path}[{index}]: unexpected {short(found[index])}"
    elif isinstance(expected, str) and isinstance(found, str) and (unlike := look_alike(expected, found)):
        yield f"{_at(path)}expected {short(expected)}, found {short(found)}; {unlike}"
    elif isinstance(expected, str) and isinstance(found, str) and expected != found and len(expected) > 80:
        index = next((i for i, (a, b) in enumerate(zip(expected, found, strict=False)) if a != b), len(expected))
        start = max(0, min(index, len(found)) - 20)
        parts = f"expected …{expected[start : start + 60]!r}…, found …{found[start : start + 60]!r}…"
        yield f"{_at(path)}from character {index}: {parts} ({len(expected)} and {len(found)} characters)"
    elif isinstance(expected, bool) != isinstance(found, bool) or expected != found:
        yield f"{_at(path)}expected {short(expected)}, found {short(found)}"


def look_alike(expected: Any, found: Any) -> str:
    """What tells two texts apart that look the same, by code points; empty for others.

    >>> look_alike("\u00e9", "e\u0301"), look_alike("a", "b")
    ('they look alike: expected U+00E9, found U+0065 U+0301', '')
    """
    if not (isinstance(expected, str) and isinstance(found, str)) or expected == found:
        return ""
    if _seen(expected) != _seen(found):
        return ""
    at = next(
        (i for i, (a, b) in enumerate(zip(expected, found, strict=False)) if a != b), min(len(expected), len(found))
    )
    return f"they look alike: expected {_points(expected[at:])}, found {_points(found[at:])}"


def _seen(text: str) -> str:
    """A text as it looks: composed, without what has no width, and with plain blanks.

    It isn't composed where more marks follow each other than any script has: to order them takes the square of their
    number.
    """
    if text.isascii():
        return text
    if not any(all(map(unicodedata.combining, text[at : at + _MARKS])) for at in range(0, len(text), _MARKS)):
        text = unicodedata.normalize("NFC", text)
    return "".join(" " if unicodedata.category(c) == "Zs" else c for c in text if unicodedata.category(c) != "Cf")


def _points(text: str, most: int = 3) -> str:
    """The first code points; a text that ends says so."""
    return " ".join(f"U+{ord(each):04X}" for each in text[:most]) or "the end"


def is_list(value: Any) -> bool:
    """A list or tuple."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def _at(path: str) -> str:
    return f"{path}: " if path else ""


def short(value: Any, limit: int = 120) -> str:
    """The value's repr in at most ``limit`` characters, with its length when it is cut."""
    if isinstance(value, str | bytes) and len(value) > 4 * limit:
        return f"{value[: limit - 30]!r}… ({len(value)} {'bytes' if isinstance(value, bytes) else 'characters'})"
    if is_list(value) and len(value) > limit:
        return f"{short(list(value[:10]), limit - 30)}… ({len(value)} items)"
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def few(lines: Sequence[str] | Iterator[str], limit: int = 6) -> str:
    """The first lines, and how many more there are."""
    shown: list[str] = []
    more = 0
    for line in lines:
        if len(shown) < limit:
            shown.append(line)
        else:
            more += 1
        if more >= 1000:
            break
    rest = f"\n… and {more}{' or' if more >= 1000 else ''} more" if more else ""
    return "\n".join(shown) + rest


def checked_tolerance(tolerance: Any) -> float:
    """A finite number, 0 or more."""
    good = isinstance(tolerance, int | float) and not isinstance(tolerance, bool)
    if not good or not (math.isfinite(tolerance) and tolerance >= 0):
        raise GraderSetup(f"tolerance={tolerance!r}: must be a finite number, 0 or more")
    return float(tolerance)
