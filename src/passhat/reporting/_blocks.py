"""A page of text: headings, wrapped lines and aligned columns, written into memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from rich.cells import cell_len
from rich.text import Text

from passhat.reporting._console import Look

if TYPE_CHECKING:
    from rich.console import RenderableType

Cell = Text | str

_P_VALUE = re.compile(r"(?<=\bp) ([<=]) (?=[\d.])")
_TIE = "\ue000"  # a space that no line is broken at: the wrapping takes a no-break space for a space

GOOD, WARN, BAD, DIM, STRONG = "green", "yellow", "red", "bright_black", "bold"


@dataclass(frozen=True)
class Column:
    """A column: its heading, how it is aligned, and whether it gives way when the page is narrow.

    ``shrinks``: it may be cut to ``least``; with ``wraps`` it is broken into lines instead. ``most``: its greatest
    width. ``drops``: above 0 it may be left out, the highest first.
    """

    title: str
    align: Literal["left", "right"] = "left"
    shrinks: bool = False
    wraps: bool = False
    most: int | None = None
    drops: int = 0
    least: int = 12


class Page:
    """Collects the parts of a report. Everything that is given to it as text is already clean."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self.width = look.width
        self._console = look.console()
        self._begun = False

    def gap(self) -> None:
        """An empty line, except at the top."""
        if self._begun:
            self._print(Text(""))

    def heading(self, title: str, aside: str = "") -> None:
        """The heading of a section, after an empty line; what is too long goes on indented, as the section is."""
        self.gap()
        line = Text(title, STRONG)
        if aside:
            line.append(f"  {aside}", DIM)
        whole = line.cell_len <= self.width
        for number, each in enumerate([line] if whole else self._wrapped(line, 2)):
            self._print(Text("  " if number else "").append_text(each))

    def line(self, *parts: tuple[str, str] | str, indent: int = 0, hang: int | None = None) -> None:
        """A line of styled parts; what is too long wraps under the indent, or under ``hang``."""
        from rich.padding import Padding

        text = Text()
        for part in parts:
            text.append(*part) if isinstance(part, tuple) else text.append(part)
        hang = indent if hang is None else hang
        for number, each in enumerate(self._wrapped(text, hang)):
            self._print(Padding(each, (0, 0, 0, indent if number == 0 else hang), expand=False))

    def bullet(self, sign: str, style: str, *parts: tuple[str, str] | str, indent: int = 2) -> None:
        """A sign or a label, and text that wraps beside it."""
        text = Text()
        for part in parts:
            text.append(*part) if isinstance(part, tuple) else text.append(part)
        hang = indent + len(sign) + 1
        for number, each in enumerate(self._wrapped(text, hang)):
            start = Text(" " * hang)
            if number == 0:
                start = Text.assemble(" " * indent, (sign, style), " ")
            self._print(start.append_text(each))

    def _wrapped(self, text: Text, hang: int) -> Iterable[Text]:
        """The text's lines; "p < .001" stands on one of them."""
        text.plain = _P_VALUE.sub(f"{_TIE}\\1{_TIE}", text.plain)
        for line in text.wrap(self._console, max(20, self.width - hang)):
            line.plain = line.plain.replace(_TIE, " ")
            line.rstrip()
            yield line

    def whole(self, text: str, indent: int = 0) -> None:
        """A line that is never broken, so that it can be copied."""
        self._console.print(Text(" " * indent + text), soft_wrap=True)

    def fits(self, text: str, indent: int = 0) -> bool:
        """Whether a text takes one line."""
        return indent + cell_len(text) <= self.width

    def columns(self, columns: Sequence[Column], rows: Iterable[Sequence[Cell]], *, indent: int = 2) -> None:
        """Aligned columns under their headings.

        On a narrow page columns that ``drops`` are left out, the highest first; those that shrink are cut with "…", or
        wrap.
        """
        from rich.padding import Padding
        from rich.table import Table

        cells = [list(row) for row in rows]
        widths = [
            min(max(cell_len(str(text)) for text in (*(row[place] for row in cells), *column.title.split("\n"))), most)
            for place, column in enumerate(columns)
            for most in (column.most or self.width,)
        ]
        kept, widths = self._fitted(columns, widths, self.width - indent)
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=DIM, show_edge=False)
        for place in kept:
            column, width = columns[place], widths[place]
            table.add_column(
                column.title,
                justify=column.align,
                no_wrap=not column.wraps,
                overflow="fold" if column.wraps else "ellipsis",
                min_width=width,
                max_width=width,
            )
        for row in cells:
            table.add_row(*(row[place] for place in kept))
        self._print(Padding(table, (0, 0, 0, indent), expand=False))

    @staticmethod
    def _fitted(columns: Sequence[Column], widths: list[int], room: int) -> tuple[list[int], list[int]]:
        """Which columns to keep, and how wide each may be."""
        kept, widths = list(range(len(columns))), list(widths)

        def excess() -> int:
            return sum(widths[place] for place in kept) + 2 * (len(kept) - 1) - room

        def give() -> int:
            return sum(max(0, widths[place] - columns[place].least) for place in kept if columns[place].shrinks)

        while excess() > give() and (out := max(kept, key=lambda place: columns[place].drops)) is not None:
            if not columns[out].drops:
                break
            kept.remove(out)
        for place in reversed(kept):
            if columns[place].shrinks:
                widths[place] = max(min(widths[place], columns[place].least), widths[place] - max(0, excess()))
        return kept, widths

    def mark(self) -> int:
        """How many characters were written so far, styles included: a place in `raw`."""
        return int(self._console.file.tell())

    def raw(self) -> str:
        """What was written, before `text` trims it; it has the same lines."""
        file: Any = self._console.file
        return str(file.getvalue())

    def text(self) -> str:
        """The whole page."""
        return self.look.finish(self._console)

    def _print(self, part: RenderableType) -> None:
        self._begun = True
        self._console.print(part, soft_wrap=False)
