"""Text from users and models, made safe to show, and numbers as people read them."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence

from passhat.facts import duration

_JOINERS = "\u200c\u200d"  # needed by some scripts and by emoji, where they stand between two of their signs
_HIDDEN = "\u034f\u115f\u1160\u3164\uffa0"  # letters and marks that show nothing
_MOST_MARKS = 8  # on one letter: no script needs more, and a heap of them covers other lines
_BREAK = re.compile(r"[ \t]*[\r\n]\s*")
_HARMLESS = re.compile(r"[ -~]*")
_ALIGNED = re.compile(r"^(\S+) {2,}")


def clean(text: str, limit: int | None = None) -> str:
    """One line that can't touch a terminal: control characters, escapes and bidi marks are shown, not sent.

    Line ends (with the indent that follows) and tabs become a space. ``limit`` is the greatest length in characters;
    what is cut ends in "…".

    >>> clean("red \\x1b[31m text\\n\\u202eabc")
    'red \\\\x1b[31m text \\\\u202eabc'
    >>> clean("a very long id", limit=8)
    'a very …'
    """
    if limit is not None and len(text) > limit:
        text = text[: max(0, limit - 1)] + "…"
    if _HARMLESS.fullmatch(text):
        return text
    text = _BREAK.sub(" ", text)
    return "".join(_safe(text))


def clean_block(text: str, limit: int | None = None) -> str:
    """The same for text of several lines, which stay; a cut says how much is missing."""
    cut = "" if limit is None or len(text) <= limit else f"\n… {len(text) - limit:,} more characters"
    text = text if limit is None else text[:limit]
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")
    return "\n".join(clean(line).rstrip() for line in text.split("\n")) + cut


def in_a_line(text: str, limit: int | None = None) -> str:
    """What a grader said in several lines, for one line: parts stand apart by semicolons.

    >>> in_a_line("expected 1 row, found 0\\n  missing    ('A1',)")
    "expected 1 row, found 0; missing ('A1',)"
    """
    lines = [line for each in text.splitlines() if (line := each.strip())]
    parts = [line if place == 0 else _ALIGNED.sub(r"\1 ", line) for place, line in enumerate(lines)]
    joined = "".join(part + (" " if part[-1] in ":,;" else "; ") for part in parts[:-1]) + "".join(parts[-1:])
    return clean(joined, limit)


def _safe(text: str) -> Iterator[str]:
    """Each character, or what is shown in its place."""
    marks = 0
    for place, each in enumerate(text):
        category = unicodedata.category(each)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        before, after = text[place - 1] if place else "", text[place + 1 : place + 2]
        if each == "\t":
            yield " "
        elif each in _JOINERS:
            yield each if _joins(before) and _joins(after) else _escape(each)
        elif "\ufe00" <= each <= "\ufe0f":  # how the sign before is drawn: one each, and none on plain letters
            yield each if _joins(before) or before in tuple("0123456789#*") else _escape(each)
        elif marks > _MOST_MARKS or each in _HIDDEN or "\U000e0100" <= each <= "\U000e01ef":
            yield _escape(each)
        else:
            yield _escape(each) if category in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") else each


def _joins(character: str) -> bool:
    """Whether a joiner may stand beside it: not beside plain letters, where it would only hide."""
    return character >= "\u0300" and character not in _JOINERS


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def rate(value: float | None, digits: int = 3) -> str:
    """A rate in 0..1; what isn't 0 or 1 never looks like it.

    >>> rate(0.42), rate(1.0), rate(0.99996), rate(0.00001), rate(None)
    ('0.420', '1.000', '>0.999', '<0.001', '–')
    """
    if value is None:
        return "–"
    text = f"{value:.{digits}f}"
    if value < 1 and float(text) >= 1:
        return f">{1 - 10**-digits:.{digits}f}"
    if value > 0 and float(text) <= 0:
        return f"<{10**-digits:.{digits}f}"
    return text


def span(ends: Sequence[float] | None, digits: int = 3) -> str:
    """An interval of rates, or of kappa, rounded outwards so that it never looks narrower than it is.

    >>> span((0.35074, 0.49166)), span(None), span((0.69, 1.0), digits=2), span((-0.2345, 0.5), digits=2)
    ('0.350–0.492', '–', '0.69–1.00', '-0.24 to 0.50')
    """
    if ends is None:
        return "–"
    scale = 10**digits
    low, high = ends
    down, up = math.floor(low * scale + 1e-9) / scale, min(1.0, math.ceil(high * scale - 1e-9) / scale)
    between = " to " if down < 0 else "–"
    return f"{down:.{digits}f}{between}{up:.{digits}f}"


def seconds(value: float | None) -> str:
    """A duration.

    >>> seconds(0.034), seconds(12.34), seconds(125), seconds(7325), seconds(None)
    ('34 ms', '12.3 s', '2 min 05 s', '2 h 02 min', '–')
    """
    return "–" if value is None else duration(value)


def tokens(value: float | None) -> str:
    """A number of tokens.

    >>> tokens(870), tokens(12_340), tokens(3_400_000), tokens(None)
    ('870', '12.3k', '3.4M', '–')
    """
    if value is None:
        return "–"
    if value < 999.5:
        return f"{value:.0f}"
    if value < 999_950:
        return f"{value / 1000:.1f}k"
    return f"{value / 1_000_000:.1f}M"


def dollars(value: float | None) -> str:
    """Money, with enough digits to tell cheap calls apart.

    >>> dollars(12.5), dollars(0.0123), dollars(0.0), dollars(0.00002), dollars(None)
    ('$12.50', '$0.0123', '$0.00', '$0.00002', '–')
    """
    if value is None:
        return "–"
    if value == 0 or value >= 1:
        return f"${value:,.2f}"
    return f"${value:.4f}" if value >= 0.0001 else f"${value:.5f}"
