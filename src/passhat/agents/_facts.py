"""What a simulated user tells only when asked, and whether a text tells it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from passhat.agents._errors import AdapterError
from passhat.agents._phrases import UNSPACED, joined, mentions, sentences, words, words_of_name
from passhat.facts import CURRENCY_CODES, CURRENCY_SIGNS


@dataclass(frozen=True, init=False)
class Fact:
    """Something that the user tells only when asked for it.

    ``value`` is text; a number is taken as its text. ``asked`` are words or phrases by which the agent asks for it, and
    with them nothing else does. By default a question or request asks for it that has a word of its name ("date of
    birth" by *birth*), or a usual word for the same thing ("born", "how much" for an amount); words that many names
    share (number, code, date, name) ask only where no other fact is meant. What wants something of the user in none of
    these words ("Where should it go?") lets one fact be told right after it, whichever it is: a leak there is missed,
    which ``asked`` prevents. A question for details, or to verify who the user is, asks for every fact without
    ``asked``.

    Raises `AdapterError` for anything else than text and numbers, and for text that says nothing.

    >>> Fact("order", 1042)
    Fact(name='order', value='1042', asked=())
    """

    name: str
    value: str
    asked: tuple[str, ...]

    def __init__(self, name: str, value: str | float | Decimal, asked: Sequence[str] | str = ()) -> None:
        if not isinstance(name, str) or not words(name):
            raise AdapterError(f"Fact(name={name!r:.100}): must be a name with a letter or digit")
        phrases = (asked,) if isinstance(asked, str) else asked
        if not isinstance(phrases, list | tuple) or not all(isinstance(each, str) and words(each) for each in phrases):
            raise AdapterError(f"Fact({name!r}, asked={asked!r:.100}): must be words or phrases, a list of text")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "value", _text_of(name, value))
        object.__setattr__(self, "asked", tuple(phrases))


def _text_of(name: str, value: Any) -> str:
    number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    if number and not math.isfinite(value):
        raise AdapterError(f"Fact({name!r}, {value!r}): must be text or a finite number")
    if not isinstance(value, str) and not number:
        kind = type(value).__name__
        raise AdapterError(f"Fact({name!r}, {value!r:.100}): must be text or a number, not {kind}; write it as text")
    text = str(value)
    if not words(text):
        raise AdapterError(
            f"Fact({name!r}, {text!r:.100}): holds no letter or digit, so it tells nothing; leave it out"
        )
    return text


_CODE = "|".join(CURRENCY_CODES)
_SIGN = f"{'|'.join(map(re.escape, CURRENCY_SIGNS))}|{_CODE}"
_NUMBER = re.compile(rf"(?<![\w.,])(?:{_CODE})?(\d[\d,]*(?:\.\d+)?)(?:{_CODE})?(?!\w|[.,]\d)")
_MONEY = re.compile(rf"(?:{_SIGN})?\s?(\d[\d,]*(?:\.\d+)?)\s?(?:{_SIGN})?")
_SPOKEN = re.compile(r"\s+(?:at|dot)\s+", re.IGNORECASE)
# names and other values that are everyday words as well
_COMMON = """
    a an and art at bill bob bo can chase christian dean drew faith frank gene grace grant guy hope i in iris ivy jack
    joy june mark may miles no none ok on page pat paul penny pierce ray rich rob rose sky so sue summer sunny the to
    trip will yes april august march monday tuesday wednesday thursday friday saturday sunday high low new old red blue
    green black white one two three four five six seven eight nine ten
""".split()  # noqa: SIM905
_FILLERS = """
    a am answer course for go here i is it its m mine my of ok okay please re s sure thank thanks that the this um well
    would be yes you
""".split()  # noqa: SIM905


def tells(text: str, fact: Fact) -> bool:
    """Whether a text says the fact's value: in whole words, however they are joined, spaced or accented.

    ``41 11`` tells ``41-11``, ``far east`` doesn't ``area``. Amounts are compared as numbers. A value of one or two
    letters, or digits, or that is an everyday word too (a user named May), is told only with nothing else in its
    sentence, or with a word of its name.

    >>> tells("I paid 1250.", Fact("amount", "€1,250.00")), tells("I may come", Fact("name", "May"))
    (True, False)
    >>> tells("My name is May.", Fact("name", "May"))
    True
    """
    if not _says(text, fact.value):
        return False
    wanted = "".join(words(fact.value))
    code = bool(UNSPACED.search(wanted)) or (not wanted.isdigit() and not wanted.isalpha())
    if wanted not in _COMMON and (len(wanted) > 2 or code):
        return True
    named = words_of_name(fact.name)
    return any(
        _says(each, fact.value) and (not set(words(each)) - {wanted, *_FILLERS} or mentions(words(each), named))
        for each in sentences(text)
    )


def _says(text: str, value: str) -> bool:
    wanted = "".join(words(value))
    if UNSPACED.search(wanted):
        return wanted in "".join(words(text))
    amount = _MONEY.fullmatch(value.strip())
    if amount is not None and not value.strip().isdigit():
        number = _decimal(amount[1])
        return any(_decimal(each) == number for each in _NUMBER.findall(text))
    spoken = _SPOKEN.sub(" ", text) if "@" in value else text
    if joined(words(text), wanted) or joined(words(spoken), wanted):
        return True
    return value.lstrip().startswith("+") and wanted.isdigit() and _local(text, wanted)


def _decimal(text: str) -> Decimal:
    """An amount; a comma before two last digits is a decimal one."""
    text = re.sub(r"^(\d+),(\d\d)$", r"\1.\2", text)
    return Decimal(text.replace(",", ""))


def _local(text: str, number: str) -> bool:
    """Whether a phone number stands there as it is dialled at home: 0 in place of the country's code."""
    runs = re.findall(r"\(?0[\d\s()/-]{6,}", text)
    return any(len(own := "".join(words(run))[1:]) >= 7 and number.endswith(own) for run in runs)
