"""An exception as text, also where its own text can't be made."""

from __future__ import annotations

import traceback

_MESSAGE = 2000
_TRACEBACK = 4000


def message_of(error: BaseException) -> str:
    """The exception's text, bounded."""
    try:
        return str(error)[:_MESSAGE]
    except Exception:
        return f"<{type(error).__name__} whose text can't be made>"


def traceback_of(error: BaseException) -> str:
    """The last frames, in the words of the interpreter; empty where even that fails."""
    try:
        return "".join(traceback.format_exception(error, limit=-8))[-_TRACEBACK:]
    except Exception:
        return ""
