"""An exception as text, also where its own text can't be made."""

from __future__ import annotations

import traceback

_MESSAGE = 2000
_TRACEBACK = 4000


def message_of(error: BaseException) -> str:
    """The exception's text, bounded; in words where the interpreter has none.

    >>> message_of(ValueError("no such order")), message_of(SystemExit(0)), message_of(GeneratorExit())
    ('no such order', 'sys.exit(0) was called', 'GeneratorExit was raised')
    >>> message_of(MemoryError())
    'memory ran out, or code is nested too deeply for Python to compile it'
    """
    try:
        if isinstance(error, SystemExit):
            code = "" if error.code is None else repr(error.code)
            return f"sys.exit({code}) was called"[:_MESSAGE]
        if isinstance(error, KeyboardInterrupt) and not str(error):
            return "raised as if Ctrl-C had been pressed"
        if isinstance(error, MemoryError) and not str(error):
            return "memory ran out, or code is nested too deeply for Python to compile it"
        if not isinstance(error, Exception) and not str(error):
            return f"{type(error).__name__} was raised"
        return str(error)[:_MESSAGE]
    except Exception:
        return f"<{type(error).__name__} whose text can't be made>"


def traceback_of(error: BaseException) -> str:
    """The last frames, in the words of the interpreter; empty where even that fails."""
    try:
        return "".join(traceback.format_exception(error, limit=-8))[-_TRACEBACK:]
    except Exception:
        return ""
