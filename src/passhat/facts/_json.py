"""One meaning of "this value is JSON", used wherever a value is stored or leaves a process."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

import msgspec

from passhat.facts._errors import PasshatError

_DEPTH = 200


class NotJSON(PasshatError, ValueError):
    """A value that JSON can't hold; ``path`` says where in the value it was found."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path} {problem}")
        self.path = path
        self.problem = problem


def as_json(value: Any, *, name: str = "value") -> Any:
    """Return ``value`` as plain JSON data: dict, list, str, int, float, bool, None.

    Dataclasses, msgspec and attrs objects, pydantic models, dates, UUIDs, enums, tuples and sets are converted.
    Raises `NotJSON`, naming the place, for what JSON can't hold: NaN and infinities, bytes, cycles,
    lone surrogates, keys that aren't text, and objects of other kinds.

    >>> as_json({"a": (1, 2)})
    {'a': [1, 2]}
    >>> as_json([1.0, float("nan")], name="output")
    Traceback (most recent call last):
    ...
    passhat.facts._json.NotJSON: output[1] is nan, which JSON can't hold
    """
    return _convert(value, name, ())


def _convert(value: Any, path: str, ancestors: tuple[int, ...]) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(str(value), path)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotJSON(path, f"is {value}, which JSON can't hold")
        return float(value)
    if isinstance(value, bytes | bytearray | memoryview):
        raise NotJSON(path, "is bytes; decode it, or write it to a file in the workspace")
    if id(value) in ancestors:
        raise NotJSON(path, "contains itself")
    if len(ancestors) >= _DEPTH:
        raise NotJSON(path, f"is nested more than {_DEPTH} levels deep")
    inside = (*ancestors, id(value))
    if isinstance(value, Mapping):
        return {_key(k, path): _convert(v, f"{path}[{k!r}]", inside) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_convert(v, f"{path}[{i}]", inside) for i, v in enumerate(value)]
    if isinstance(value, set | frozenset):
        items = [_convert(v, f"{path}{{…}}", inside) for v in value]
        return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))
    return _convert(_opened(value, path), path, inside)


def _opened(value: Any, path: str) -> Any:
    """One level of an object as plain data."""
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json")
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return value.tolist()
    fields = getattr(value, "__dataclass_fields__", None) or getattr(value, "__struct_fields__", None)
    if fields is not None and not isinstance(value, type):
        return {name: getattr(value, name) for name in fields}
    try:
        return msgspec.to_builtins(value)
    except (TypeError, ValueError, msgspec.MsgspecError):
        raise NotJSON(path, f"is a {type(value).__name__}, which JSON can't hold") from None


def _key(key: Any, path: str) -> str:
    if isinstance(key, bool) or not isinstance(key, str | int):
        raise NotJSON(path, f"has the key {key!r}; keys must be text")
    return _text(str(key), path)


def _text(text: str, path: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        bad = text[error.start]
        raise NotJSON(path, f"holds the lone surrogate {bad!a}, which UTF-8 can't hold") from None
    return text


def canonical_json(value: Any) -> str:
    """JSON text that is equal for equal data: sorted keys, no spaces, no ASCII escapes."""
    return json.dumps(as_json(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """SHA-256, in hex, of the canonical JSON of ``value``."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()
