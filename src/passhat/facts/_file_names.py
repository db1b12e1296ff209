"""Names of files as text: on most systems a name is bytes, which need not be UTF-8, and JSON holds text only."""

from __future__ import annotations

import os


def name_in_text(path: str | os.PathLike[str]) -> str:
    r"""The path as text that any file and message can hold, a different one for each path.

    A byte that isn't UTF-8 is written ``\xNN`` and a backslash ``\\``, as in a Python string; all else is as it is.
    (Where a backslash separates folders it stays one.)

    >>> name_in_text(os.fsdecode(b"caf\xe9.txt")), name_in_text("café.txt"), name_in_text("a\\b")
    ('caf\\xe9.txt', 'café.txt', 'a\\\\b')
    """
    name = os.fspath(path)
    try:
        data = name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # no name of a file, but what somebody wrote for one
        return name.encode("utf-8", "backslashreplace").decode("utf-8")
    return (data if os.sep == "\\" else data.replace(b"\\", b"\\\\")).decode("utf-8", "backslashreplace")
