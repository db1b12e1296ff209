"""Records as JSON bytes that are always readable, and never hold a secret.

A value that can't be UTF-8 (a lone surrogate) is written as its escape, such as ``\\udc80``; a number that isn't
finite is written as null. Secrets become ``[redacted]`` in every text, also where they are escaped in JSON or a URL.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable
from enum import Enum
from typing import Any
from urllib.parse import quote

import msgspec

REDACTED = "[redacted]"
SHORTEST_SECRET = 8
_ENCODER = msgspec.json.Encoder()
# What a trial or a run is called is never changed: resume finds trials by it.
_NAMES = {
    "task",
    "arm",
    "arms",
    "run_id",
    "suite",
    "task_ids",
    "task_tags",
    "task_splits",
    "task_families",
    "task_hashes",
    "input_hashes",
    "duplicate_inputs",
    "transcript",
}
# Words of our own in fields that take no others.
_OUR_WORDS = {
    *("scripted", "structural", "evaluation", "simulated", "replayed", "capability", "regression"),
    *("finished", "interrupted", "shuffled", "environment", "simulator", "responses", "messages"),
}


class SafeEncoder:
    """Encodes records to JSON without the given secrets.

    Secrets shorter than 8 characters are left alone: placeholders such as "test" are no secrets, and taking them out
    would spoil ordinary words.
    """

    def __init__(self, redact: Iterable[str] = ()) -> None:
        secrets = [redact] if isinstance(redact, str) else list(redact)
        forms = {form for secret in secrets if len(secret) >= SHORTEST_SECRET for form in _forms(secret)}
        self._pattern = re.compile("|".join(map(re.escape, sorted(forms, key=len, reverse=True)))) if forms else None
        self._marks = tuple({_ENCODER.encode(_utf8(form))[1:-1] for form in forms})

    def encode(self, value: Any) -> bytes:
        """The value as JSON. Raises ValueError for what JSON can't hold."""
        try:
            data = _ENCODER.encode(value)
            if not any(mark in data for mark in self._marks):
                return data
        except UnicodeEncodeError:
            pass
        except (TypeError, RecursionError) as error:
            raise ValueError(str(error)) from None
        return _ENCODER.encode(self._clean(value))

    def _clean(self, value: Any) -> Any:
        if isinstance(value, Enum | bool):
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int):
            digits = self._text(str(value))
            return digits if REDACTED in digits else value
        if isinstance(value, msgspec.Struct):
            return self._struct(value)
        if isinstance(value, dict):
            return {self._clean(key): self._clean(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._clean(item) for item in value]
        return value

    def _struct(self, value: msgspec.Struct) -> msgspec.Struct:
        changes = {}
        for name in value.__struct_fields__:
            item = getattr(value, name)
            ours = isinstance(item, int) or (isinstance(item, str) and item in _OUR_WORDS)
            if item is not None and not ours and name not in _NAMES:
                cleaned = self._clean(item)
                changes[name] = tuple(cleaned) if isinstance(item, tuple) else cleaned
        return msgspec.structs.replace(value, **changes)

    def _text(self, text: str) -> str:
        return _utf8(self._pattern.sub(REDACTED, text) if self._pattern else text)


def _utf8(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _forms(secret: str) -> set[str]:
    """How a secret may be spelled in a text: plain, in a URL, and as JSON inside up to two levels of JSON text."""
    forms = {secret, quote(_utf8(secret), safe="")}
    for _ in range(2):
        escaped = {
            json.dumps(form, ensure_ascii=ascii)[1:-1] for form, ascii in itertools.product(forms, (True, False))
        }
        forms |= escaped | {form.replace("/", "\\/") for form in escaped}
    return forms
