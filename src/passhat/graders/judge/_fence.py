"""Text that is judged is data: it is fenced, what can't be seen in it is made visible, and it is bounded.

A fence carries a token that is a hash of everything inside all fences of the request. No text can hold its own hash,
so no text can close its fence, whoever wrote it and whatever they know of the rubric; and the same text is fenced alike
each time, so that a cassette and a simulation answer it alike.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import unicodedata
from collections.abc import Mapping

import msgspec

_KEPT = frozenset("\n\t")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")  # letters and marks that show nothing
_PRESENTATION = frozenset("\ufe0e\ufe0f")  # emoji wear one of these; a row of them is a hidden message
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_ROLES = re.compile(
    r"""(?<=<)(?:\| | (?:start_of_turn|end_of_turn|[a-z_]{1,32}\||｜[^\s<>｜]{1,64}｜)(?=>))
    | (?<=\[)(?:\|(?:system|tool|assistant|user|endofturn)\||/?INST|/?SYSTEM_PROMPT|/?AVAILABLE_TOOLS|/?TOOL_RESULTS
        |TOOL_CALLS)(?=\])
    | (?<=\[)e~(?=\[) | (?<=\])(?:~b(?=\])|~!b(?=\[))""",
    re.VERBOSE,
)
"""What stands between the ends of the marks by which models tell roles apart. pydantic-ai breaks the same ones, for
some models, with a character that can't be seen: in a text without their form it finds none."""
_PLAIN = re.compile(r"[\n\t -~]*")


class Fenced(msgspec.Struct, frozen=True):
    """Blocks of data ready for a request. ``notes`` say what isn't as it was; ``shown`` is what the fences hold."""

    text: str
    token: str
    shown: str
    notes: tuple[str, ...]


def fenced(blocks: Mapping[str, str], *, longest: int, salt: str = "") -> Fenced:
    """Each named block between two lines with the request's token; one longer than ``longest`` characters is cut.

    >>> print(fenced({"answer": "Refunded.\\u200b"}, longest=100).text)
    =====BEGIN answer ...=====
    Refunded.⟨U+200B⟩
    =====END answer ...=====
    """
    token = _token(blocks, salt)
    parts, shown, notes = [], [], []
    for name, raw in blocks.items():
        text, hidden = visible(raw)
        if hidden:
            notes.append(f"{name}: {hidden:,} invisible or control characters written out")
        text, left_out = cut(text, longest, token)
        if left_out:
            notes.append(f"{name}: {left_out:,} characters of the middle left out")
        parts.append(f"=====BEGIN {name} {token}=====\n{text}\n=====END {name} {token}=====")
        shown.append(text)
    return Fenced("\n\n".join(parts), token, "\n".join(shown), tuple(notes))


def _token(blocks: Mapping[str, str], salt: str) -> str:
    """24 hex digits (96 bits) that stand in none of the blocks."""
    for number in itertools.count():
        whole = "\x1f".join([salt, str(number), *(f"{name}\x1e{text}" for name, text in blocks.items())])
        token = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:24]
        if not any(token in text for text in blocks.values()):
            return token
    raise AssertionError("unreachable: counting never ends")


def visible(text: str) -> tuple[str, int]:
    """The text with every control, zero-width, bidirectional, private or unassigned character written as its number.

    Lines and tabs stay. A run of one character is written once, with its length. The marks by which models tell roles
    apart (``<|im_start|>``, ``[INST]``) lose their form. Also returns how much was changed.

    >>> visible("a\\u200b\\u200b\\u200bb\\x1b[31m")
    ('a⟨3 × U+200B⟩b⟨U+001B⟩[31m', 4)
    """
    text = text.replace("\r\n", "\n")
    text, count = _ROLES.subn(lambda mark: f"⟨{mark[0]}⟩", text)
    if _PLAIN.fullmatch(text):
        return text, 0
    out: list[str] = []
    before = ""
    for char, run in itertools.groupby(text):
        length = sum(1 for _ in run)
        if _is_hidden(char, length, before):
            count += length
            times = f"{length:,} × " if length > 1 else ""
            out.append(f"⟨{times}U+{ord(char):04X}⟩")
        else:
            out.append(char * length)
        before = char
    return "".join(out), count


def _is_hidden(char: str, length: int, before: str) -> bool:
    if char in _KEPT or " " <= char <= "~":
        return False
    if char in _PRESENTATION and length == 1 and before and not _SELECTORS.match(before):
        return unicodedata.category(before) != "So" and before not in "#*0123456789©®‼⁉™ℹ"
    return char in _BLANK or _SELECTORS.match(char) is not None or unicodedata.category(char) in _HIDDEN


def cut(text: str, longest: int, token: str) -> tuple[str, int]:
    """Head and tail of a text of more than ``longest`` characters, around a line that says what is missing."""
    if len(text) <= longest:
        return text, 0
    head, tail = longest - longest // 2, longest // 2
    left_out = len(text) - head - tail
    gap = f"\n====={left_out:,} characters left out here {token}=====\n"
    return text[:head] + gap + text[len(text) - tail :], left_out


def quoted_in(quote: str, shown: str) -> bool:
    """Whether a passage occurs in what was shown: up to case, spaces and quotation marks, and in order at each "…".

    >>> quoted_in('"the  refund … days"', "The refund takes\\n5 days.")
    True
    >>> quoted_in("no refund", "The refund takes 5 days.")
    False
    """
    place, found = 0, False
    text = squeezed(shown)
    for piece in re.split(r"…|\.\.\.|\[…\]", quote):
        wanted = squeezed(piece).strip(" \"'`.,;:")
        if not wanted:
            continue
        at = text.find(wanted, place)
        if at < 0:
            return False
        place, found = at + len(wanted), True
    return found


def squeezed(text: str) -> str:
    """The text by which quotes are compared."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    for mark, simple in (("’", "'"), ("‘", "'"), ("“", '"'), ("”", '"'), ("–", "-"), ("—", "-")):
        plain = plain.replace(mark, simple)
    return " ".join(plain.split())
