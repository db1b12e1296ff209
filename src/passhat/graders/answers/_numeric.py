"""The answer is a number close enough to the expected one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from passhat.facts import Grade
from passhat.graders._compare import checked_tolerance, exactly, is_number, rounding, short
from passhat.graders._expected import WHOLE, checked, expected_of
from passhat.graders._names import GraderSetup
from passhat.graders.answers._answer import AnswerCheck, Part, failed, passed

_SIGN = r"[-+\u2212]?"
_EXPONENT = r"(?:[eE][-+]?\d{1,4})?"
_FIND = ("first", "last", "only")


class Numeric(AnswerCheck):
    """See `numeric`."""

    def __init__(
        self, expect: Any, tolerance: float, relative: float, decimals: int | None, reader: Reader, part: Part
    ):
        if decimals is not None and (isinstance(decimals, bool) or not isinstance(decimals, int) or decimals < 0):
            raise GraderSetup(f"decimals={decimals!r}: must be a whole number, 0 or more")
        if sum(bool(given) for given in (tolerance, relative, decimals is not None)) > 1:
            raise GraderSetup("give one of tolerance, relative and decimals")
        self.name = "numeric"
        self.expect = checked(expect, "answers.numeric")
        self.tolerance = checked_tolerance(tolerance)
        self.relative = checked_tolerance(relative)
        self.decimals = decimals
        self.reader = reader
        self.part = part

    def _judge(self, found: Any, trial: Any) -> Grade:
        expected = self.reader.expected(expected_of(self.expect, trial.task))
        number, problem = self.reader.read(found)
        if number is None:
            return failed(problem)
        allowed = self._allowed(expected)
        gap = abs(number - expected)
        if gap <= allowed + rounding(number, expected):
            return passed()
        within = f" within {_plain(allowed)}" if allowed else ""
        return failed(f"expected {_plain(expected)}{within}, found {_plain(number)}, off by {_plain(gap)}")

    def _allowed(self, expected: Decimal) -> Decimal:
        if self.decimals is not None:
            return Decimal(5).scaleb(-self.decimals - 1)
        if self.relative:
            return abs(expected) * Decimal(repr(self.relative))
        return Decimal(repr(self.tolerance))


def numeric(
    expect: Any = WHOLE,
    *,
    tolerance: float = 0.0,
    relative: float = 0.0,
    decimals: int | None = None,
    separators: str | None = None,
    percent: bool = False,
    unit: str | Sequence[str] = (),
    find: str | None = None,
    part: Part = None,
) -> Numeric:
    """The answer is a number, or text that is one, and close enough to the expected number.

    Close enough is: within ``tolerance`` (absolute), within ``relative`` times the expected value, or right when
    rounded to ``decimals`` places: "96.12" meets 96.124991 with ``decimals=2``. Reaching the bound is enough. The
    difference is exact, but for the last bits of numbers with decimals: 0.1 + 0.2 is 0.3.

    Text is read strictly, and more of it only when told: ``separators=","`` reads "1,234.50" (``"."`` "1.234,50",
    ``" "`` "1 234.50" and "1 234,50"), ``percent=True`` reads "12.5%" as 0.125, ``unit=["$", "USD"]`` allows one of
    these before or after the number, written so.
    ``find`` takes the "first", "last" or "only" number out of a longer text; without it the text must be the number.

    >>> from passhat.facts import Task
    >>> from passhat.trial import FinishedTrial
    >>> numeric(decimals=2)(FinishedTrial(Task("t", expected=96.124991), "96.12")).passed
    True
    >>> numeric(decimals=2)(FinishedTrial(Task("t", expected=96.124991), "96.13")).reason
    'expected 96.124991 within 0.005, found 96.13, off by 0.005009'
    """
    return Numeric(expect, tolerance, relative, decimals, Reader(separators, percent, unit, find), part)


class Reader:
    """Reads a number from what an agent answers."""

    def __init__(
        self, separators: str | None = None, percent: bool = False, unit: Any = (), find: str | None = None
    ) -> None:
        if separators not in (None, ",", ".", " ", "'"):
            raise GraderSetup(f"separators={separators!r}: must be ',' '.' ' ' or \"'\", the mark between thousands")
        if find not in (None, *_FIND):
            raise GraderSetup(f"find={find!r}: must be one of {', '.join(_FIND)}, or None")
        self.units = (unit,) if isinstance(unit, str) else tuple(unit)
        if not all(isinstance(item, str) and item.strip() and not re.search(r"\d", item) for item in self.units):
            raise GraderSetup(f"unit={unit!r}: must be a unit, or a list of units that mean the same")
        self.separators = separators
        self.percent = percent
        self.find = find
        self._points = {".": ",", " ": ".,"}.get(separators or "", ".")  # between blanks a comma can't be another mark
        point = f"[{re.escape(self._points)}]"
        digits = r"\d+"
        if separators is not None:
            mark = r"[ \u00a0\u202f]" if separators == " " else re.escape(separators)
            digits = rf"(?:\d{{1,3}}(?:{mark}\d{{3}})+(?!\d)|\d+)"
        sign = "(?P<percent>\\s?%)?" if percent else "(?P<percent>(?!))?"
        units = "|".join(re.escape(item) for item in sorted(self.units, key=len, reverse=True)) or "(?!)"
        number = rf"(?P<sign>{_SIGN})\s?(?:(?:{units})\s?)?(?P<number>{digits}(?:{point}\d+)?{_EXPONENT}|{point}\d+)"
        before = rf"(?:(?:{units})\s?)?"
        self._whole = re.compile(rf"{before}{number}{sign}(?:\s?(?:{units}))?")
        self._inside = re.compile(rf"(?<![\w.,]){before}{number}{sign}(?:\s?(?:{units})(?!\w))?(?![\w%]|[.,]\d)")

    def expected(self, value: Any) -> Decimal:
        """The expected number; text is read as an answer would be."""
        number, problem = self.read(value)
        if number is None:
            raise GraderSetup(f"answers.numeric: a number is expected, got {short(value)}: {problem}")
        return number

    def read(self, value: Any) -> tuple[Decimal | None, str]:
        """The number, or None and why there is none."""
        if is_number(value):
            number = exactly(value)
            return (number, "") if number.is_finite() else (None, f"{value} is no finite number")
        if not isinstance(value, str):
            return None, f"the answer is no number: {short(value)}"
        text = value.strip()
        if self.find is None:
            hit = self._whole.fullmatch(text)
            if hit is None:
                return None, f"the answer is no number: {short(text)}{self._hint(text)}"
            return self._number(hit)
        hits = list(self._inside.finditer(text))
        if not hits:
            return None, f"there is no number in the answer: {short(text)}"
        if self.find == "only" and len({self._number(hit)[0] for hit in hits}) > 1:
            shown = ", ".join(hit[0].strip() for hit in hits[:8])
            return None, f"there are several numbers in the answer: {shown}"
        return self._number(hits[-1] if self.find == "last" else hits[0])

    def _number(self, hit: re.Match[str]) -> tuple[Decimal | None, str]:
        text = hit["number"]
        if self.separators is not None:
            text = re.sub(r"[ \u00a0\u202f]" if self.separators == " " else re.escape(self.separators), "", text)
        sign = "-" if hit["sign"] in ("-", "\u2212") else ""
        try:
            number = Decimal(sign + re.sub(f"[{re.escape(self._points)}]", ".", text))
        except InvalidOperation:
            return None, f"the answer is no number: {short(text)}"
        return (number / 100 if hit["percent"] else number), ""

    def _hint(self, text: str) -> str:
        if re.search(r"\d[,.' \u00a0]\d{3}", text) and self.separators is None:
            return " (separators= would read marks between thousands)"
        units = [unit for unit in self.units if unit.casefold() in text.casefold() and unit not in text]
        if units:
            return f" (a unit is read as it is written: {units[0]!r}; list other ways in unit=)"
        if "%" in text and not self.percent:
            return " (percent=True would read a percentage)"
        if re.search(r"\d", text):
            return " (unit= allows a unit, find= takes a number out of a text)"
        return ""


def _plain(number: Decimal) -> str:
    short = f"{float(number):.12g}" if abs(number) < Decimal("1e300") else ""
    return short if short and Decimal(short) == number else str(number)
