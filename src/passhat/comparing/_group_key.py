"""The key that puts the observations of one input together, across tools that write JSON as JavaScript does.

A key is ``[id, repetition]`` where the input is an object with an id, else ``[SHA-256 of its canonical JSON,
repetition]``. Canonical JSON here is what a JavaScript engine prints: numbers as it prints them, keys by UTF-16 code
unit with integer-like keys first in numeric order, and no ASCII escapes. `passhat.facts.digest` is another, simpler
hash, for our own records; this one is for keys that others computed too.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from passhat.comparing._errors import CompareError

_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_ESCAPED = re.compile('["\\\\\x00-\x1f\ud800-\udfff]')
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_INDEX = re.compile(r"0|[1-9][0-9]*")
_LAST_INDEX = 2**32 - 2


def group_key(value: Any, repetition: int) -> str:
    """The key of an input in its ``repetition``-th round (from 1), as JSON text.

    A non-blank text ``value["id"]`` is the key, trimmed; without one it is the hash of the whole input. Raises
    `CompareError` for what plain JSON can't hold: numbers that aren't finite, cycles, other kinds of object.

    >>> group_key({"id": " input-1 "}, 2)
    '["input-1",2]'
    >>> group_key({"b": 1, "a": 2.0}, 1) == group_key({"a": 2, "b": 1}, 1)
    True
    """
    if isinstance(repetition, bool) or not isinstance(repetition, int) or repetition < 1:
        raise CompareError(f"repetition={repetition!r}: must be a whole number, 1 or more")
    canonical = javascript_json(value)
    name = value.get("id") if isinstance(value, Mapping) else None
    key = name.strip() if isinstance(name, str) else ""
    if not key:
        key = hashlib.sha256(canonical.encode()).hexdigest()
    return f"[{_text(key)},{repetition}]"


def duplicate_keys(keys: Iterable[tuple[str, str, str]]) -> tuple[tuple[str, str, str], ...]:
    """The (file, name of the test, group key) that occur more than once: two inputs with one id are never merged.

    >>> duplicate_keys([("a.py", "t", '["x",1]'), ("b.py", "t", '["x",1]'), ("a.py", "t", '["x",1]')])
    (('a.py', 't', '["x",1]'),)
    """
    seen: set[tuple[str, str, str]] = set()
    twice: dict[tuple[str, str, str], None] = {}
    for key in keys:
        if key in seen:
            twice[key] = None
        seen.add(key)
    return tuple(sorted(twice))


def javascript_json(value: Any) -> str:
    """Canonical JSON as a JavaScript engine prints it. Raises `CompareError` naming the place.

    >>> javascript_json({"9": -0.0, "10": 1e21, "a": [1e-7, True]})
    '{"9":0,"10":1e+21,"a":[1e-7,true]}'
    """
    return _print(value, "input", ())


def _print(value: Any, path: str, ancestors: tuple[int, ...]) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int | float):
        return _number(value, path)
    if not isinstance(value, dict | list | tuple):
        raise CompareError(f"{path} is a {type(value).__name__}; a group key is made of plain JSON only")
    if id(value) in ancestors:
        raise CompareError(f"{path} contains itself; a group key is made of plain JSON only")
    inside = (*ancestors, id(value))
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise CompareError(f"{path} has the key {key!r}; keys must be text")
        parts = (f"{_text(key)}:{_print(value[key], f'{path}[{key!r}]', inside)}" for key in sorted(value, key=_order))
        return "{" + ",".join(parts) + "}"
    return "[" + ",".join(_print(each, f"{path}[{place}]", inside) for place, each in enumerate(value)) + "]"


def _order(key: str) -> tuple[int, int, bytes]:
    """Keys that look like an index first, as numbers; then by UTF-16 code unit."""
    if _INDEX.fullmatch(key) and len(key) <= 10 and int(key) <= _LAST_INDEX:
        return 0, int(key), b""
    return 1, 0, key.encode("utf-16-be", "surrogatepass")


def _text(text: str) -> str:
    whole = _PAIR.sub(lambda pair: pair[0].encode("utf-16-be", "surrogatepass").decode("utf-16-be"), text)
    return '"' + _ESCAPED.sub(lambda found: _SHORT.get(found[0]) or "\\u" + format(ord(found[0]), "04x"), whole) + '"'


def _number(value: float, path: str) -> str:
    """A number as JavaScript prints it: the shortest digits, plain up to 1e21, then with an exponent."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise CompareError(f"{path} is {value}; a group key is made of finite numbers only")
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    mantissa, _, exponent = f"{abs(number)!r}".partition("e")
    whole, _, part = mantissa.partition(".")
    part = "" if part == "0" else part
    point = len(whole) + int(exponent or 0)
    digits = (whole + part).lstrip("0")
    point -= len(whole + part) - len(digits)
    digits = digits.rstrip("0")
    return sign + _placed(digits, point)


def _placed(digits: str, point: int) -> str:
    """Digits with their decimal point after the first ``point`` of them."""
    size = len(digits)
    if size <= point <= 21:
        return digits + "0" * (point - size)
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    power = point - 1
    shown = digits[0] + (f".{digits[1:]}" if size > 1 else "")
    return f"{shown}e{'+' if power > 0 else '-'}{abs(power)}"
