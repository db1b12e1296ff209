"""The same answer written in another usual way: a grader that refuses it is rigid."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_MONEY = re.compile(r"(?<![\d.,])(?P<sign>[$€£])(?P<whole>\d{1,9})\.(?P<cents>\d\d)(?![\d.,]?\d)")

_WORDS = {"2": "two", "3": "three", "5": "five", "7": "seven", "10": "ten", "14": "fourteen", "30": "thirty"}
_DAYS = re.compile(r"(?<![\w.,$€£-])(" + "|".join(_WORDS) + r") (days|weeks|months)\b")


def restatements(output: Any) -> Iterator[tuple[str, Any]]:
    """Other ways to write an output's numbers, each with the words for what was done.

    >>> list(restatements(25))
    [('25 as 25.0', 25.0)]
    >>> list(restatements("I refunded $64.00."))
    [('$64.00 as $64', 'I refunded $64.'), ('$64.00 as 64.00 dollars', 'I refunded 64.00 dollars.')]
    >>> list(restatements("25.5"))
    [("'25.5' as '25.50'", '25.50')]
    >>> list(restatements("Within 30 days."))
    [('30 days as thirty days', 'Within thirty days.')]
    """
    if isinstance(output, bool) or output is None:
        return
    if isinstance(output, int):
        yield f"{output} as {float(output)}", float(output)
    elif isinstance(output, float):
        yield from _of_float(output)
    elif isinstance(output, str):
        yield from _of_text(output)


def _of_float(value: float) -> Iterator[tuple[str, Any]]:
    rounded = round(value, 2)
    if rounded != value and abs(rounded - value) <= 0.005 and abs(value) >= 1:
        yield f"{value} rounded to {rounded}", rounded


def _of_text(text: str) -> Iterator[tuple[str, Any]]:
    if re.fullmatch(r"[+-]?\d+(\.\d+)?", text):
        number = float(text)
        other = f"{text}0" if "." in text else f"{text}.0"
        yield f"'{text}' as '{other}'", other
        if "." in text and len(text.partition(".")[2]) > 3:
            yield f"'{text}' rounded to '{number:.2f}'", f"{number:.2f}"
        return
    days = _DAYS.search(text)
    if days is not None:
        words = f"{_WORDS[days[1]]} {days[2]}"
        yield f"{days[0]} as {words}", _DAYS.sub(words, text, count=1)
    found = _MONEY.search(text)
    if found is None:
        return
    if all(each["cents"] == "00" for each in _MONEY.finditer(text)):
        short = f"{found['sign']}{found['whole']}"
        yield f"{found[0]} as {short}", _MONEY.sub(lambda each: f"{each['sign']}{each['whole']}", text)
    word = {"$": "dollars", "€": "euros", "£": "pounds"}[found["sign"]]
    long = _MONEY.sub(lambda each: f"{each['whole']}.{each['cents']} {word}", text)
    yield f"{found[0]} as {found['whole']}.{found['cents']} {word}", long
