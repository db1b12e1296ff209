"""The words and phrases of a text, and the usual words for one thing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

_WORD = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"[^.?!\n]+(?:[.?!](?=\w)[^.?!\n]*)*[.?!\n]*")
UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")  # scripts that put no blanks between words
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_ALIKE = tuple(
    frozenset(group.split("|"))
    for group in (
        "email|mail",
        "phone|telephone|mobile|cell|tel|call you|reach you on",
        "birth|birthday|birthdate|dob|born|how old|age",
        "amount|price|cost|paid|pay|payment|total|sum|charged|charge|how much",
        "booking|booked|reservation|reserved|pnr",
        "order|purchase|ordered",
        "address|street|live|ship to|residence",
        "zip|postcode|postal|postalcode",
        "city|town",
        "quantity|count|how many",
        "name|call you|who are you|speaking with|speaking to",
        "date|when|day",
        "time|when|what time",
    )
)


def words(text: str) -> list[str]:
    """The words of a text, without regard to capitals, accents and widths of letters."""
    plain = re.sub(r"[\u0300-\u036f]", "", unicodedata.normalize("NFKD", text))
    return _WORD.findall(unicodedata.normalize("NFKC", plain).casefold())


def sentences(text: str) -> list[str]:
    """The sentences of a text; a point inside a word, as in an address, ends none."""
    return [part.strip() for part in _SENTENCE.findall(text) if _WORD.search(part)]


def joined(found: Sequence[str], wanted: str) -> bool:
    """Whether a run of whole words, joined, is the value."""
    for first in range(len(found)):
        run = ""
        for place in range(first, len(found)):
            run += found[place]
            if run == wanted:
                return True
            if not wanted.startswith(run):
                break
    return False


def words_of_name(name: str) -> list[str]:
    """The words of a thing's name, without those that say little.

    >>> words_of_name("date_of_birth"), words_of_name("bookingCode"), words_of_name("e-mail")
    (['date', 'birth'], ['booking', 'code'], ['email'])
    """
    parts = words(_CAMEL.sub(" ", name).replace("_", " "))
    together = "".join(parts)
    if together in {word for group in _ALIKE for word in group}:  # e-mail, post code
        return [together]
    return [part for part in parts if len(part) > 2 or part == "id"] or parts


def has(found: Sequence[str], phrase: str) -> bool:
    """Whether words hold a phrase, without regard to hyphens, blanks and plurals: e-mails, email."""
    wanted = [word.removesuffix("s") for word in words(phrase)]
    if any(UNSPACED.search(word) for word in wanted):
        return "".join(wanted) in "".join(found)
    return joined([word.removesuffix("s") for word in found], "".join(wanted))


def mentions(found: Sequence[str], named: Iterable[str]) -> bool:
    """Whether words hold one of the words of a name, or a usual word for the same thing.

    >>> mentions(words("How much was it?"), ["amount"]), mentions(words("How much was it?"), ["order"])
    (True, False)
    """
    return any(has(found, phrase) for word in named for phrase in (word, *_alike(word)))


def _alike(word: str) -> list[str]:
    """Usual words for the same thing."""
    return [other for group in _ALIKE if word.removesuffix("s") in group or word in group for other in sorted(group)]
