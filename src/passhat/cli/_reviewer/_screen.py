"""A screen that is drawn whole, with a handful of control sequences and no others."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

from passhat.cli._reviewer._keys import NoTerminal
from passhat.reporting import Look

# the other screen, no cursor, lines cut at the edge rather than continued on the next; and back
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l\x1b[?7l", "\x1b[?7h\x1b[?25h\x1b[?1049l"
_TOP, _REST_OF_LINE, _BELOW, _PLAIN = "\x1b[H", "\x1b[K", "\x1b[J", "\x1b[0m"
_BAR = "\x1b[7m"


@dataclass(frozen=True)
class Size:
    """Columns and rows."""

    columns: int
    rows: int

    @property
    def body(self) -> int:
        """Rows between the bar at the top and the two lines at the bottom."""
        return max(1, self.rows - 3)


class Screen:
    """Standard output as a screen. A context manager: on leaving, what was there before is there again.

    What is drawn is the caller's to clean; this adds position, erasure and the bar's style only.
    """

    def __init__(self, look: Look) -> None:
        self._look = look
        self._fd = -1

    def __enter__(self) -> Screen:
        if not sys.stdout.isatty():
            raise NoTerminal("standard output is no terminal")
        if os.environ.get("TERM") == "dumb":
            raise NoTerminal("the terminal says that it can't draw (TERM=dumb)")
        sys.stdout.flush()
        self._fd = sys.stdout.fileno()
        self._write(_ENTER)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._write(_PLAIN + _LEAVE)

    @property
    def size(self) -> Size:
        """How large it is now."""
        try:
            columns, rows = os.get_terminal_size(self._fd)
        except OSError:
            columns, rows = shutil.get_terminal_size((80, 24))
        return Size(max(10, columns), max(4, rows))

    def draw(self, bar: str, body: Sequence[str], prompt: str, hints: str) -> None:
        """The whole screen: a bar, the body (cut to what fits), a line of state, a line of keys."""
        size = self.size
        lines = [*body[: size.body], *[""] * (size.body - len(body))]
        top = self._bar(fitted(bar, size.columns))
        whole = [top, *lines, fitted(prompt, size.columns), fitted(hints, size.columns)]
        self._write(_TOP + f"{_REST_OF_LINE}\r\n".join(whole) + _REST_OF_LINE + _BELOW)

    def _bar(self, text: str) -> str:
        return f"{_BAR}{text}{_PLAIN}" if self._look.color else text

    def _write(self, text: str) -> None:
        data = self._look.plain(text).encode(sys.stdout.encoding or "utf-8", "backslashreplace")
        while data:
            try:
                data = data[os.write(self._fd, data) :]
            except BlockingIOError:
                continue
            except OSError:  # the terminal was closed; the next key says so
                return


def fitted(text: str, columns: int) -> str:
    """A text cut to a number of columns, wide characters counted as two.

    >>> fitted("abcdef", 4), fitted("日本語", 5)
    ('abc…', '日本…')
    """
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= columns:
        return text
    return set_cell_size(text, columns - 1).rstrip() + "…"
