"""Path patterns, as in .gitignore."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from passhat.graders._names import GraderSetup


def path_test(patterns: Sequence[str], where: str) -> Callable[[str], bool]:
    """A test whether a path (relative, with ``/``) fits one of the patterns.

    A pattern without a slash fits a file or directory of that name anywhere; with one it starts at the workspace.
    ``*`` and ``?`` stay within a name, ``**`` crosses directories; a directory stands for all that is in it.

    >>> fits = path_test(["*.py", "data/", "docs/*.md"], "check")
    >>> [fits(path) for path in ("a/b.py", "data/x/y.csv", "docs/a.md", "docs/a/b.md", "data.txt")]
    [True, True, True, False, False]
    """
    if not patterns:
        raise GraderSetup(f"{where} needs at least one pattern, for example '*.py' or 'src/**'")
    tests = [_compiled(pattern, where) for pattern in patterns]
    return lambda path: any(test.fullmatch(path) for test in tests)


def _compiled(pattern: str, where: str) -> re.Pattern[str]:
    if not isinstance(pattern, str) or not pattern.strip("/ ") or ".." in pattern.split("/") or pattern.startswith("/"):
        raise GraderSetup(f"{where}: {pattern!r} is no pattern of paths in the workspace")
    body = pattern.removeprefix("./").rstrip("/")
    start = "" if "/" in body else "(?:.*/)?"
    text = ""
    for part in re.split(r"(\*\*/?|\*|\?)", body):
        if part == "**/":
            text += "(?:.*/)?"
        elif part == "**":
            text += ".*"
        elif part in ("*", "?"):
            text += "[^/]*" if part == "*" else "[^/]"
        else:
            text += re.escape(part)
    inside = "/.*" if pattern.endswith("/") else "(?:/.*)?"
    return re.compile(f"{start}{text}{inside}", re.DOTALL)
