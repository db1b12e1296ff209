"""A traceback as its reader needs it: from the user's own code on."""

from __future__ import annotations

import re

_FRAME = re.compile(r'  File "(?P<file>[^"\n]*)", line \d+, in .*')
_OURS = re.compile(r"[/\\]passhat[/\\](running|isolation|trial|agents|graders)[/\\](\w+[/\\])*_\w+\.py")
_BEGIN = "Traceback (most recent call last):"


def from_their_code(text: str) -> str:
    """The traceback without passhat's own frames before the first of others; whole where there are no others.

    >>> print(from_their_code('''Traceback (most recent call last):
    ...   File "/lib/passhat/running/_calling.py", line 9, in call
    ...     return agent(trial)
    ...   File "/home/ann/shop.py", line 3, in agent
    ...     raise KeyError("A1")
    ... KeyError: 'A1\\''''))
    Traceback (most recent call last):
      File "/home/ann/shop.py", line 3, in agent
        raise KeyError("A1")
    KeyError: 'A1'
    """
    shown: list[str] = []
    held: list[str] | None = None  # our frames since the traceback began; None once it is somebody else's
    for line in text.split("\n"):
        if line == _BEGIN:
            shown += held or []
            shown.append(line)
            held = []
            continue
        frame = _FRAME.fullmatch(line)
        if held is not None and frame is not None and not _OURS.search(frame["file"]):
            held = None
        elif held is not None and frame is None and not line.startswith("    "):  # the exception: no other frame came
            shown += held
            held = None
        (shown if held is None else held).append(line)
    return "\n".join(shown + (held or []))
