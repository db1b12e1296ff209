"""Whether a tool's call failed, also on wires that have no mark for it."""

from __future__ import annotations

import json
import re

from passhat.facts import ToolUse

_ERROR = re.compile(r"\s*(\w*error|exception|traceback|failed|blocked|denied|refused)\b", re.IGNORECASE)


def looks_like_error(text: str) -> bool:
    """Whether a tool's result reads as an error.

    >>> looks_like_error("ValueError: over the limit"), looks_like_error('{"error": null, "id": 3}')
    (True, False)
    """
    if _ERROR.match(text):
        return True
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and bool(value.get("error") or value.get("is_error"))


def ended_in_error(use: ToolUse) -> bool:
    """Whether a call failed: by the mark of the wire or of the agent's record, or because its result reads so."""
    return bool(use.error) or looks_like_error(result_text(use))


def result_text(use: ToolUse) -> str:
    """What came back: the result sent to the model, else what the agent recorded."""
    if use.returned is not None and use.returned.text:
        return use.returned.text
    if use.run is not None and use.run.error is not None:
        return use.run.error
    return "" if use.run is None or use.run.result is None else str(use.run.result)
