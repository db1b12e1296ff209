"""What a simulated user tells only when asked: whether it told it, and whether it was asked for it."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from passhat.agents._errors import AdapterError
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


_WORD = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"[^.?!\n]+(?:[.?!](?=\w)[^.?!\n]*)*[.?!\n]*")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")  # scripts that put no blanks between words
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
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

_ANY_FACT = ("details", "information", "info", "verify", "identify", "identity")
_GENERIC = "code date id name no nr number ref reference value user customer client".split()  # noqa: SIM905
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
_REQUESTS = frozenset(
    ("please", "provide", "need", "require", "tell", "give", "share", "confirm", "send", "enter", "state", "specify")
)
_WANTS = re.compile(
    r"\b(please|kindly)( \w+)? (confirm|enter|give|name|provide|read|say|send|share|specify|state|tell|type|write)\b"
    r"|\b(need|require|want|send|give|tell|read|name)( me| us)? (your|the|who|what|which|when|where|how)\b",
    re.IGNORECASE,
)
_OFFERS = re.compile(
    r"\b(shall|should) (i|we)\b"
    r"|\b(may|can|could) (i|we) (go|proceed|start|do|help|assist|cancel|refund|book|continue)\b"
    r"|\b(would|do|did) you (also |still )?(want|like|prefer|mind|agree|need|understand)\b"
    r"|\bis (that|this|it) (ok|okay|all)\b"
    r"|\bwhat('s| is| was| seems? to be)? (happened|going on|wrong|the (problem|matter|issue|trouble|reason))\b"
    r"|\b(what|how) (can|may|could) (i|we) (do|help|assist)\b|\bhow are you\b|\b(any|some)thing else\b|\bwhy\b",
    re.IGNORECASE,
)


def words(text: str) -> list[str]:
    """The words of a text, without regard to capitals, accents and widths of letters."""
    plain = re.sub(r"[\u0300-\u036f]", "", unicodedata.normalize("NFKD", text))
    return _WORD.findall(unicodedata.normalize("NFKC", plain).casefold())


def sentences(text: str) -> list[str]:
    """The sentences of a text; a point inside a word, as in an address, ends none."""
    return [part.strip() for part in _SENTENCE.findall(text) if _WORD.search(part)]


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
    code = bool(_UNSPACED.search(wanted)) or (not wanted.isdigit() and not wanted.isalpha())
    if wanted not in _COMMON and (len(wanted) > 2 or code):
        return True
    names = [phrase for word in _name_words(fact.name) for phrase in (word, *_alike(word))]
    return any(
        _says(each, fact.value)
        and (not set(words(each)) - {wanted, *_FILLERS} or any(_has(words(each), name) for name in names))
        for each in sentences(text)
    )


def _says(text: str, value: str) -> bool:
    wanted = "".join(words(value))
    if _UNSPACED.search(wanted):
        return wanted in "".join(words(text))
    amount = _MONEY.fullmatch(value.strip())
    if amount is not None and not value.strip().isdigit():
        number = _decimal(amount[1])
        return any(_decimal(each) == number for each in _NUMBER.findall(text))
    spoken = _SPOKEN.sub(" ", text) if "@" in value else text
    if _joined(words(text), wanted) or _joined(words(spoken), wanted):
        return True
    return value.lstrip().startswith("+") and wanted.isdigit() and _local(text, wanted)


def _joined(found: Sequence[str], wanted: str) -> bool:
    """Whether a run of whole words, joined, is the value."""
    for first in range(len(found)):
        joined = ""
        for place in range(first, len(found)):
            joined += found[place]
            if joined == wanted:
                return True
            if not wanted.startswith(joined):
                break
    return False


def _decimal(text: str) -> Decimal:
    """An amount; a comma before two last digits is a decimal one."""
    text = re.sub(r"^(\d+),(\d\d)$", r"\1.\2", text)
    return Decimal(text.replace(",", ""))


def _local(text: str, number: str) -> bool:
    """Whether a phone number stands there as it is dialled at home: 0 in place of the country's code."""
    runs = re.findall(r"\(?0[\d\s()/-]{6,}", text)
    return any(len(own := "".join(words(run))[1:]) >= 7 and number.endswith(own) for run in runs)


def asked_by(reply: str, facts: Iterable[Fact]) -> set[str]:
    """The names of the facts that the agent asks for."""
    facts = list(facts)
    return {name for each in sentences(reply) if _requests(each) for name in _meant(each, facts)}


def asks_vaguely(reply: str, facts: Iterable[Fact]) -> bool:
    """Whether the agent wants something of the user, in words that name none of the facts; an offer wants a yes."""
    facts = list(facts)
    return any(
        ("?" in unicodedata.normalize("NFKC", each) or _WANTS.search(each))
        and not _OFFERS.search(each)
        and not _meant(each, facts)
        for each in sentences(reply)
    )


def _requests(sentence: str) -> bool:
    plain = unicodedata.normalize("NFKC", sentence)
    found = words(plain)
    naming = found[:1] == ["name"]  # a verb there only
    return "?" in plain or naming or not _REQUESTS.isdisjoint(found) or bool(_UNSPACED.search(plain))


def _meant(sentence: str, facts: Sequence[Fact]) -> set[str]:
    """The facts that a question is about: those that a word of their own stands for, else those that share a word."""
    found = words(sentence)
    anything = any(_has(found, phrase) for phrase in _ANY_FACT)
    own, shared = set(), set()
    for fact in facts:
        if fact.asked:
            own |= {fact.name} if any(_has(found, phrase) for phrase in fact.asked) else set()
            continue
        if anything:
            own.add(fact.name)
            continue
        named = _name_words(fact.name)
        particular = [word for word in named if word not in _GENERIC] or named
        if any(_has(found, phrase) for word in particular for phrase in (word, *_alike(word))):
            own.add(fact.name)
        elif any(_has(found, phrase) for word in named for phrase in (word, *_alike(word))):
            shared.add(fact.name)
    return own or shared


def _name_words(name: str) -> list[str]:
    parts = words(_CAMEL.sub(" ", name).replace("_", " "))
    joined = "".join(parts)
    if joined in {word for group in _ALIKE for word in group}:  # e-mail, post code
        return [joined]
    return [part for part in parts if len(part) > 2 or part == "id"] or parts


def _alike(word: str) -> list[str]:
    """Usual words for the same thing."""
    return [other for group in _ALIKE if word.removesuffix("s") in group or word in group for other in sorted(group)]


def _has(found: Sequence[str], phrase: str) -> bool:
    """Whether words hold a phrase, without regard to hyphens, blanks and plurals: e-mails, email."""
    wanted = [word.removesuffix("s") for word in words(phrase)]
    if any(_UNSPACED.search(word) for word in wanted):
        return "".join(wanted) in "".join(found)
    return _joined([word.removesuffix("s") for word in found], "".join(wanted))
