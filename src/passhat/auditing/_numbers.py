"""Numbers in prose with their currency or unit, and other usual ways to write each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from passhat.facts import CURRENCY_CODES, CURRENCY_SIGNS

_NAME_OF = {"$": "dollars", "€": "euros", "£": "pounds", "¥": "yen"}
_SIGN_OF = {code: sign for sign, code in CURRENCY_SIGNS.items()}
_NAMES = {word: sign for sign, name in _NAME_OF.items() for word in (name, name.removesuffix("s"))}
_CURRENCIES = frozenset((*CURRENCY_SIGNS, *CURRENCY_CODES, *_NAMES))
_SHORT = (
    "km",
    "kg",
    "g",
    "mg",
    "m",
    "cm",
    "mm",
    "l",
    "ml",
    "s",
    "ms",
    "h",
    "min",
    "GB",
    "MB",
    "kB",
    "TB",
    "kWh",
    "W",
    "V",
)
_TIMES = ("second", "minute", "hour", "day", "week", "month", "year")
_LARGE = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "bn": 10**9, "trillion": 10**12}
_PERCENT = ("%", "percent", "per cent")
_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
_TENS = "thirty forty fifty sixty seventy eighty ninety"
_WORDS = {
    **{word: number for number, word in enumerate(_UNITS.split())},
    **{word: number for number, word in zip(range(30, 100, 10), _TENS.split(), strict=True)},
}
_SPELLED_OUT = 12  # larger counts of things are usually written in digits
_AS_WORD = {number: word for word, number in _WORDS.items()}

_PLAIN = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+,\d+|\d+(?:[.,]\d+)?"
_BEFORE = "|".join([*map(re.escape, CURRENCY_SIGNS), *CURRENCY_CODES])
_AFTER = "|".join(
    [_BEFORE, *_NAMES, *_SHORT, *(f"{time}s?" for time in _TIMES), rf"(?i:{'|'.join(_LARGE)})", *_PERCENT]
)
_NUMBER = re.compile(
    rf"(?<![\w.,:/+#@-])(?<!\d )(?P<minus>[-\u2212])?(?:(?P<before>{_BEFORE})(?P<gap>\s?))?(?P<digits>{_PLAIN})"
    rf"(?:(?P<space>[ \u00a0-]?)(?P<after>{_AFTER})(?![\w%]))?(?![\w@]|[-:/.,]\d| \d)"
)
_WORD = re.compile(rf"(?<![\w-])(?P<word>{'|'.join(_WORDS)})(?![\w-])", re.IGNORECASE)
_NOUN = re.compile(
    r"\s?(?!(?:in|on|at|to|of|for|and|or|is|as|was|if|by|from|with|per|a|the|each|but|so|not|all|are)\b)[a-z\u00b0]"
)


@dataclass(frozen=True)
class Written:
    """A number as it stands in a text: all of it, its digits, what it is, and what stands before and after them."""

    text: str
    digits: str
    value: Decimal
    span: tuple[int, int]
    before: str = ""
    after: str = ""
    space: str = ""
    noun: bool = False  # a word that isn't known as a unit follows, and may be one


def numbers_in(text: str) -> Iterator[Written]:
    """The numbers of a text that stand alone: not those in codes, dates, times and fractions.

    >>> [each.text for each in numbers_in("A1001 costs €1,250.00 or USD 12, 5 km away on 2026-12-30.")]
    ['€1,250.00', 'USD 12', '5 km']
    """
    for found in sorted((*_NUMBER.finditer(text), *_WORD.finditer(text)), key=lambda each: each.start()):
        if "word" in found.groupdict():
            yield Written(found[0], "", Decimal(_WORDS[found[0].lower()]), found.span())
            continue
        sign = "-" if found["minus"] else ""
        value = Decimal(sign + _plain(found["digits"])) * _LARGE.get((found["after"] or "").lower(), 1)
        place = found["before"] or "", found["after"] or "", found["space"] or ""
        noun = _NOUN.match(text, found.end()) is not None
        yield Written(found[0], found["digits"], value, found.span(), *place, noun=noun)


def values_in(value: Any) -> set[Decimal]:
    """The numbers of a JSON-like value, those in its texts too."""
    if isinstance(value, bool):
        return set()
    if isinstance(value, int | float | Decimal):
        return {Decimal(str(value))}
    if isinstance(value, str):
        return {each.value for each in numbers_in(value)}
    if isinstance(value, dict | list | tuple):
        each = value.values() if isinstance(value, dict) else value
        return {number for part in each for number in values_in(part)}
    return set()


def spelled(number: Written, *, wanted: bool, marks: bool) -> Iterator[str]:
    """Other usual ways to write a number; ``marks``: with marks between thousands where it has none.

    >>> [*spelled(next(numbers_in("€1,250.00")), wanted=True, marks=True)]
    ['€1250.00', '€1,250', '1,250.00 euros']
    >>> [*spelled(next(numbers_in("25%")), wanted=True, marks=True)]
    ['25 %', '25 percent']
    >>> [*spelled(next(numbers_in("$5 million")), wanted=True, marks=True)]
    []
    """
    if not number.digits:
        if wanted:
            yield f"{number.value}"
        return
    if number.before and number.after and number.after not in _CURRENCIES:
        return  # $5 million, $12 per cent, $5 m: more than the sign and the digits, or not one number
    minus = number.text[0] if number.text[0] in "-\u2212" else ""
    if (number.before or number.after) in _CURRENCIES:
        yield from _money(number, minus, marks=marks)
    elif number.after in _PERCENT:
        yield from _percent(number, minus)
    elif number.after.lower() in _LARGE:
        yield f"{number.value:,.0f}" if number.value == number.value.to_integral_value() else f"{number.value:,f}"
    elif number.after:
        yield from _measure(number, minus, marks=marks)
    elif wanted:
        yield from _bare(number, minus, marks=marks)


def _money(number: Written, minus: str, *, marks: bool) -> Iterator[str]:
    for digits in (*_marked(number.digits, marks=marks), *_cents(number.digits)):
        yield number.text.replace(number.digits, digits)
    mark = number.before or number.after
    sign = _SIGN_OF.get(mark) or _NAMES.get(mark, mark)
    if mark in CURRENCY_SIGNS and number.before:
        yield f"{minus}{number.digits} {_NAME_OF[mark]}"
        return
    if mark in CURRENCY_CODES and number.before:
        yield f"{minus}{number.digits} {mark}"
    if sign in CURRENCY_SIGNS:
        yield f"{minus}{sign}{number.digits}"
    elif number.after:
        yield f"{sign} {minus}{number.digits}"


def _percent(number: Written, minus: str) -> Iterator[str]:
    if number.after == "%":
        yield f"{minus}{number.digits}{'' if number.space else ' '}%"
        yield f"{minus}{number.digits} percent"
    else:
        yield f"{minus}{number.digits}%"


def _measure(number: Written, minus: str, *, marks: bool) -> Iterator[str]:
    """A length, weight or time: days in words, kilometres with and without a blank."""
    yield from (number.text.replace(number.digits, digits) for digits in _marked(number.digits, marks=marks))
    if number.after in _SHORT:
        yield f"{minus}{number.digits}{'' if number.space else ' '}{number.after}"
    elif not minus and number.digits.isdigit() and int(number.digits) in _AS_WORD:
        yield f"{_AS_WORD[int(number.digits)]}{number.space}{number.after}"


def _bare(number: Written, minus: str, *, marks: bool) -> Iterator[str]:
    yield from (minus + digits for digits in _marked(number.digits, marks=marks))
    point = _point(number.digits)
    whole, _, rest = number.digits.rpartition(point) if point else (number.digits, "", "")
    if point and not rest.strip("0"):
        yield minus + whole
    elif point and rest.endswith("0"):
        yield f"{minus}{whole}{point}{rest.rstrip('0')}"
    elif len(rest) == 1:
        yield f"{minus}{number.digits}0"
    elif not minus and number.digits.isdigit() and int(number.digits) <= _SPELLED_OUT:
        yield _AS_WORD[int(number.digits)]
    elif not point and not number.noun and number.digits.isdigit() and len(number.digits) < 4:
        yield f"{minus}{number.digits}.0"
    if minus:
        yield f"{'-' if minus != '-' else chr(0x2212)}{number.digits}"


def _marked(digits: str, *, marks: bool) -> Iterator[str]:
    """Without the marks between thousands, or with some."""
    point = _point(digits)
    whole, mark, rest = digits.rpartition(point) if point else (digits, "", "")
    bare = re.sub(r"[.,]", "", whole)
    if bare != whole:
        yield bare + mark + rest
    elif marks and len(whole) > 3 and not (len(whole) == 4 and not point and whole[:2] in ("19", "20")):
        yield f"{int(whole):,}".replace(",", "." if point == "," else ",") + mark + rest


def _cents(digits: str) -> Iterator[str]:
    """Without cents that are none, or with them."""
    point = _point(digits)
    if not point:
        yield f"{digits}.00"
    elif not digits.rpartition(point)[2].strip("0"):
        yield digits.rpartition(point)[0]


def _point(digits: str) -> str:
    """The mark before the decimals, empty for a whole number."""
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+|\d+", digits):
        return ""
    return max(".,", key=digits.rfind)


def _plain(digits: str) -> str:
    point = _point(digits)
    whole, _, rest = digits.rpartition(point) if point else (digits, "", "")
    return re.sub(r"[.,]", "", whole) + (f".{rest}" if rest else "")
