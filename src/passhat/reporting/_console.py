"""Where the text goes: how wide, whether in colour, and with which signs."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console

MIN_WIDTH, MAX_WIDTH = 40, 120

_ASCII = str.maketrans(
    {
        "–": "-",
        "—": "-",
        "−": "-",
        "×": "x",
        "…": "~",
        "●": "#",
        "○": ".",
        "✓": "+",
        "✗": "x",
        "·": "-",
        "│": "|",
        "─": "-",
        "├": "|",
        "┤": "|",
        "→": "->",
        "▸": ">",
        "▾": "v",
        "’": "'",
        "“": '"',
        "”": '"',
        "≥": ">=",
        "≤": "<=",
        "⋮": ":",
        "\u00a0": " ",
    }
)


@dataclass(frozen=True)
class Look:
    """How to write: ``width`` in columns, ``color`` or plain, ``unicode`` or ASCII only."""

    width: int = 80
    color: bool = False
    unicode: bool = True

    def console(self) -> Console:
        """A console that writes into memory."""
        from rich.console import Console

        return Console(
            file=StringIO(),
            width=max(MIN_WIDTH, self.width),
            force_terminal=self.color,
            color_system="standard" if self.color else None,
            no_color=not self.color,
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
        )

    def finish(self, console: Console) -> str:
        """What was written, without blanks at line ends, in the signs that the terminal has."""
        file: Any = console.file
        text = "\n".join(line.rstrip() for line in file.getvalue().split("\n")).rstrip("\n") + "\n"
        return self.plain(text)

    def plain(self, text: str) -> str:
        """A text in the signs that the terminal has."""
        if self.unicode:
            return text
        return re.sub(r"(?m)^(\s*)… ", r"\1... ", text).translate(_ASCII).encode("ascii", "replace").decode("ascii")


def look_of(stream: TextIO, environ: Mapping[str, str] | None = None) -> Look:
    """What suits a stream: colour only on a terminal and without NO_COLOR, ASCII where its encoding has no more.

    >>> look_of(StringIO(), environ={}).color
    False
    """
    environ = os.environ if environ is None else environ
    try:
        terminal = stream.isatty()
    except ValueError:  # closed
        terminal = False
    columns = shutil.get_terminal_size((100, 24)).columns if terminal else _columns(environ)
    color = terminal and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    encoding = (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "")
    return Look(min(MAX_WIDTH, max(MIN_WIDTH, columns)), color, encoding.startswith("utf"))


def _columns(environ: Mapping[str, str]) -> int:
    text = environ.get("COLUMNS", "")
    return int(text) if text.isdecimal() and int(text) > 0 else 80
