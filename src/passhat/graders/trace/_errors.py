"""Whether a tool's call failed, also on wires that have no mark for it: the one place for that rule."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Any

from passhat.facts import ToolUse
from passhat.graders._compare import is_list

_ERROR = re.compile(  # the word alone or with a mark after it, or a phrase: not a word that begins a sentence
    r"\s*+(?:(?:\w*error|\w*exception|traceback|failed|failure|blocked|denied|refused)\s*(?:[:!]|$|\.\s*$)"
    r"|\w*(?:error|exception) (?:occurred|executing|calling|invoking|running|while|during|code\b|\d)"
    r"|traceback \(most recent|failed (?:to|with|because|due)\b|(?:blocked|denied|refused) (?:by|because|due)\b"
    r"|(?:tool|function|mcp)(?: call| execution| use)?(?: [\w.\-'\"`]+)?"
    r" (?:(?:failed|errored)\b(?!\s*[:=]\s*(?:0|none)\b)|raised\b|was blocked\b|not found\b)"
    r"|(?:tool|mcp)[ _]error(?: -?\d+)?\s*[:!]|validation failed\b(?!\s*:\s*0\b))",
    re.IGNORECASE,
)
_NONE = re.compile(
    r"\s*+(?:error|exception|failed|blocked|denied|refused)(?: \w+)?\s*[:=]"
    r"\s*(?:0|none|null|\[\s*\]|\{\s*\})\s*(?:[,;.\n]|$)",
    re.IGNORECASE,
)
_TAG = re.compile(
    r"\s*+(?:<\?xml[^>]*>\s*)?<(?:\w+[_:])?(?:errors?|exception)\b[^>/]*>"
    r"(?!\s*(?:</|0\s*<|none\s*<|null\s*<))",
    re.I,
)
_EMPTY = ("", "0", "none", "null", "false", "nan", "n/a", "no error", "no errors")  # what stands for no error, as text
_FAILED = ("error", "failed", "failure")
_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\[^\\'\"abfnrtvxuUN0-7]")
_QUOTED = re.compile(  # to the end where a quote isn't closed: looking for another start behind it takes quadratic time
    r"'[^'\\]*+(?:\\.[^'\\]*+)*+(?:'|\\?\Z)|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+(?:\"|\\?\Z)", re.DOTALL
)
_RUN_ON = re.compile(r"\d(?!e[+-]?\d)[A-Za-z_]")
_LONGEST = 100_000  # characters of a result that are read as Python's repr


def reads_as_error(result: Any) -> bool:
    """Whether a tool's result, as text or as a value, reads as an error.

    Text that starts with "Error:", "ValueError:", "Failed!", "Failed to", "Blocked by", "Tool call failed", "MCP error
    -1:" or the like, or with an element ``<error>`` that isn't empty; "Error rate: 2%" is none. An object, as JSON or
    as Python's repr: a field ``error`` or ``errors`` that is neither empty nor a number nor has ``code`` 0, an
    ``is_error`` or ``isError`` that isn't empty; ``success`` or ``ok`` that is false; a ``status`` of error, failed or
    failure. Only the object's own fields count, not those of objects in it. A list that starts with a text part, as MCP
    sends it, is what that text is; a list of one object is an error where that has such an ``error``.

    >>> reads_as_error("ValueError: over the limit"), reads_as_error('{"error": null, "id": 3}')
    (True, False)
    >>> reads_as_error({"success": False}), reads_as_error('{"status": "failed_over"}')
    (True, False)
    """
    if isinstance(result, str):
        value = _parsed(result)
        if value is not None:  # text again where it was quoted once more
            return reads_as_error(value)
        return _TAG.match(result) is not None or (_ERROR.match(result) is not None and not _NONE.match(result))
    if is_list(result) and result and isinstance(result[0], Mapping):
        if result[0].get("type") == "text" and isinstance(result[0].get("text"), str):
            return reads_as_error(result[0]["text"])
        return len(result) == 1 and _has_error(result[0])
    if not isinstance(result, Mapping):
        return False
    if _has_error(result):
        return True
    if any(result.get(key) is False or _word(result.get(key)) == "false" for key in ("success", "ok")):
        return True
    return _word(result.get("status")) in _FAILED


def ended_in_error(use: ToolUse) -> bool:
    """Whether a call failed: by the mark of the wire or of the agent's record, or because its result reads so."""
    if use.error or (use.returned is not None and use.returned.error) or reads_as_error(result_text(use)):
        return True
    return use.run is not None and reads_as_error(use.run.result)


def result_text(use: ToolUse) -> str:
    """What came back: the result sent to the model, else what the agent recorded."""
    if use.returned is not None and use.returned.text:
        return use.returned.text
    if use.run is not None and use.run.error is not None:
        return use.run.error
    return "" if use.run is None or use.run.result is None else str(use.run.result)


def _parsed(text: str) -> Any:
    """What the text is as JSON, or as the repr of a dict or of a list of them; None for other text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if not text.lstrip().startswith(("{", "[{")) or len(text) > _LONGEST or _strange(text):
        return None
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _strange(text: str) -> bool:
    """Whether Python would warn of the text: of an escape that isn't one, or of a number that runs into a word."""
    return _ESCAPE.search(text) is not None or _RUN_ON.search(_QUOTED.sub("''", text)) is not None


def _has_error(fields: Mapping[Any, Any]) -> bool:
    told = [fields.get(key) for key in ("error", "errors")]
    counts = [isinstance(value, int | float) and not isinstance(value, bool) for value in told]
    fine = [isinstance(value, Mapping) and str(value.get("code")) == "0" for value in told]
    if not all(count or ok or _empty(value) for value, count, ok in zip(told, counts, fine, strict=True)):
        return True
    return not all(_empty(fields.get(key)) for key in ("is_error", "isError"))


def _empty(value: Any) -> bool:
    """Whether a field for errors holds none, however deep its parts go."""
    left = [value]
    while left:
        part = left.pop()
        if isinstance(part, Mapping):
            left += part.values()
        elif is_list(part):
            left += part
        elif part and _word(part) not in _EMPTY:
            return False
    return True


def _word(value: Any) -> str:
    return value.strip().lower() if isinstance(value, str) else "?"
