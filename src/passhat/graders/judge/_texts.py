"""Answers as text."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from passhat.facts import as_json


def storable(text: str) -> str:
    """The text as a file can hold it: half a character becomes a question mark.

    >>> storable("half \\ud800 a pair")
    'half ? a pair'
    """
    return text.encode("utf-8", "replace").decode("utf-8")


def as_text(value: Any) -> str:
    """An answer, a task or a reference as text: JSON for what isn't text already."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    with contextlib.suppress(ValueError):
        return json.dumps(as_json(value), ensure_ascii=False, indent=1)
    return repr(value)
