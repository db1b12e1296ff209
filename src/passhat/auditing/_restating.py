"""The same answer with a number written in another usual way: a grader that refuses it is rigid."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from passhat.auditing._numbers import Written, numbers_in, spelled, values_in

_MOST = 12  # other answers of one task


@dataclass(frozen=True)
class Restated:
    """Other ways to write an output, each with the words for what was done; ``untried`` numbers have none that we know.

    Only numbers that ``expected`` names, and that the agent isn't given as they are, are told as untried.
    """

    ways: list[tuple[str, Any]] = field(default_factory=list)
    untried: tuple[str, ...] = ()


def restatements(output: Any, expected: Any = None, known: str = "") -> Restated:
    """Other ways to write an output's numbers.

    Money, percentages, lengths and times are always written anew; a bare number only where ``expected`` has it, since
    any other may be a label. Digits that stand so in ``known``, what the agent was told, may be an id, and get no marks
    between thousands.

    >>> restatements(25).ways
    [('25 as 25.0', 25.0)]
    >>> restatements("I refunded $64.00.").ways
    [('$64.00 as $64', 'I refunded $64.'), ('$64.00 as 64.00 dollars', 'I refunded 64.00 dollars.')]
    >>> restatements("Call 12 on 2026-12-30.", expected=["12", "2026-12-30"])
    Restated(ways=[('12 as twelve', 'Call twelve on 2026-12-30.')], untried=('2026-12-30',))
    """
    if isinstance(output, bool) or output is None:
        return Restated()
    if isinstance(output, int):
        return Restated([(f"{output} as {float(output)}", float(output))])
    if isinstance(output, float):
        return Restated(list(_of_float(output)))
    return _of_text(output, expected, known) if isinstance(output, str) else Restated()


def _of_float(value: float) -> Iterator[tuple[str, Any]]:
    rounded = round(value, 2)
    if rounded != value and abs(rounded - value) <= 0.005 and abs(value) >= 1:
        yield f"{value} rounded to {rounded}", rounded


def _of_text(text: str, expected: Any, known: str) -> Restated:
    if re.fullmatch(r"[+-]?\d+(\.\d+)?", text):
        return Restated(list(_of_a_number(text)))
    if not any(number.digits for number in numbers_in(text)) and len(text.split()) == 1:
        return Restated()  # one word, such as "three": a label
    wanted = values_in(expected)
    ways: dict[str, str] = {}  # the new text, and what was done
    tried: list[Written] = []
    for number in numbers_in(text):
        may_be_id = number.digits in re.findall(r"\d+", known) or f"{number.value:f}" in re.findall(r"\d+", known)
        for other in spelled(number, wanted=number.value in wanted, marks=not may_be_id):
            ways.setdefault(_replaced(text, number.text, other), f"{number.text} as {other}")
            tried.append(number)
    untried = tuple(number for number in dict.fromkeys(_untried(text, tried, expected)) if number not in known)
    return Restated([(what, new) for new, what in ways.items() if new != text][:_MOST], untried)


def _of_a_number(text: str) -> Iterator[tuple[str, Any]]:
    number = float(text)
    other = f"{text}0" if "." in text else f"{text}.0"
    yield f"'{text}' as '{other}'", other
    if "." in text and len(text.partition(".")[2]) > 3:
        yield f"'{text}' rounded to '{number:.2f}'", f"{number:.2f}"


def _replaced(text: str, old: str, new: str) -> str:
    """With each occurrence written anew: a grader may look at any of them."""
    pieces, end = [], 0
    for number in numbers_in(text):
        if number.text == old and number.span[0] >= end:
            pieces += [text[end : number.span[0]], new]
            end = number.span[1]
    return "".join([*pieces, text[end:]])


def _untried(text: str, tried: list[Written], expected: Any) -> Iterator[str]:
    """Numbers, dates and times that are expected, stand in the reply, and were not written otherwise."""
    done = {span for number in tried for span in range(*number.span)}
    wanted = values_in(expected)
    texts = [each for each in _strings(expected) if re.search(r"\d", each)]
    for found in re.finditer(r"(?<![\w@.-])[-+]?\d[\d.,:/-]*(?:[ ]\d+)*\b(?![\w@-])", text):
        number = found[0].rstrip(".,:/-")
        plain = re.fullmatch(r"[\d.,]+", number) and any(each.value in wanted for each in numbers_in(number))
        if not done & set(range(*found.span())) and (plain or any(number in each for each in texts)):
            yield number


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)
