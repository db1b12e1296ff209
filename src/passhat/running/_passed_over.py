"""Files beside a suite that nobody gets who imports them: the standard library has their names."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection

from passhat.isolation import read_regular, text_of


def passed_over(suite: str, imported: Collection[str]) -> list[str]:
    """Modules in the folder of a suite's file, named like one of the standard library's, that aren't among the files
    that were ``imported``, although the suite or one of these files has an import of that name."""
    folder = os.path.dirname(os.path.abspath(suite))
    try:
        entries = sorted(os.listdir(folder))
    except OSError:
        return []
    named = []
    for entry in entries:
        name, ending = os.path.splitext(entry)
        file = os.path.join(folder, entry) if ending else os.path.join(folder, name, "__init__.py")
        if ending in ("", ".py") and name in sys.stdlib_module_names and file not in imported and os.path.isfile(file):
            named.append((name, file))
    if not named:
        return []
    sources = [_text(file) for file in {os.path.abspath(suite), *imported}]
    return [file for name, file in named if any(_imports(name).search(source) for source in sources)]


def _imports(name: str) -> re.Pattern[str]:
    return re.compile(rf"^\s*(?:from\s+{name}[\s.]|import\s+(?:[\w.]+(?:\s+as\s+\w+)?\s*,\s*)*{name}\b)", re.MULTILINE)


def _text(file: str) -> str:
    try:
        return text_of(read_regular(file), errors="replace")
    except OSError:
        return ""
