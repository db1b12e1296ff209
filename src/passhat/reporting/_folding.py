"""Long texts: how much of each is shown, and where it can be unfolded."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from passhat.reporting._blocks import DIM, Page
from passhat.reporting._text import clean, clean_block

TEXT, VALUE, LINES = 1_500, 600, 40
OPEN_TEXT, OPEN_LINES = 20_000, 1_000  # also an unfolded text ends somewhere: a megabyte is for a file


@dataclass(frozen=True)
class Fold:
    """A text that can be unfolded, or folded again. ``mark`` is the place in the page of the line that says so."""

    number: int
    opened: bool
    mark: int


class Cuts:
    """Cuts long texts, and says so.

    ``full``: nothing is cut. ``opened`` names the folds that are shown at length, up to `OPEN_TEXT` characters; where
    it is given, each cut is a `Fold` of its own, and kept in ``folds``.
    """

    def __init__(self, *, full: bool = False, opened: Collection[int] | None = None) -> None:
        self.full = full
        self.folds: list[Fold] = []
        self._opened = opened

    def block(self, page: Page, text: str, *, style: str = "", indent: int = 2) -> None:
        """A text of several lines."""
        if self._opened is None:
            for line in clean_block(text, None if self.full else TEXT).split("\n"):
                page.line((line, style), indent=indent)
            return
        text = text.replace("\r\n", "\n").replace("\r", "\n")  # else a text of bare returns has lines without end
        shown, lines, folds = self._cut(text, TEXT, LINES)
        for line in clean_block(shown).split("\n"):
            page.line((line, style), indent=indent)
        if folds:
            self._fold(page, len(text) - len(shown), lines, indent)

    def value(self, page: Page, before: tuple[str, str] | str, text: str, *, style: str = "", indent: int = 9) -> None:
        """A text in one line, after a sign or a name."""
        if self._opened is None:
            page.line(before, (clean(text, None if self.full else VALUE), style), indent=indent, hang=indent + 2)
            return
        shown, _, folds = self._cut(text, VALUE, None)
        page.line(before, (clean(shown), style), indent=indent, hang=indent + 2)
        if folds:
            self._fold(page, len(text) - len(shown), 0, indent)

    def _cut(self, text: str, limit: int, most: int | None) -> tuple[str, int, bool]:
        """What is shown, how many lines of the text are not, and whether it is a fold."""
        folds = len(text) > limit or (most is not None and text.count("\n") >= most)
        if not folds:
            return text, 0, False
        if self._is_open:
            limit, most = OPEN_TEXT, None if most is None else OPEN_LINES
        shown = text[:limit]
        if most is not None:
            shown = "\n".join(shown.split("\n", most)[:most])
        return shown, text.count("\n", len(shown)), True

    @property
    def unfolded(self) -> int:
        """How many characters the opened folds may have added to the page."""
        return 3 * OPEN_TEXT * len(self._opened or ())

    @property
    def _is_open(self) -> bool:
        return self._opened is not None and len(self.folds) in self._opened

    def _fold(self, page: Page, characters: int, lines: int, indent: int) -> None:
        opened = self._is_open
        self.folds.append(Fold(len(self.folds), opened, page.mark()))
        more = f"{characters:,} more characters" + (f", {lines:,} lines" if lines > 1 else "")
        if not opened:
            page.line((f"▸ {more} (o unfolds)", DIM), indent=indent)
        elif characters:
            page.line((f"▾ {characters:,} more: passhat show --full (o folds)", DIM), indent=indent)
        else:
            page.line(("▾ that was all (o folds)", DIM), indent=indent)
