"""Text as it looks: what has no width is left out, and letters in another guise are the plain ones."""

from __future__ import annotations

import unicodedata


class _Shown(dict[int, str]):
    """What each code point looks like, found when it is first asked for."""

    def __missing__(self, point: int) -> str:
        char = chr(point)
        self[point] = "" if unicodedata.category(char) == "Cf" else unicodedata.normalize("NFKC", char)
        return self[point]


_SHOWN = _Shown()


def as_shown(text: str) -> str:
    """The text without characters of no width (category Cf), and the others one by one in compatibility form (NFKC).

    One by one, as a run of combining marks that is put in order as a whole takes the square of its length.

    >>> as_shown("a\\u200bb\\u00a0\\uff11\\u00ad-")
    'ab 1-'
    """
    return text if text.isascii() else text.translate(_SHOWN)
