"""The one shape that every test of this package returns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TestResult:
    """A p value, the name of the test, its statistic where it has one, and a sentence where one is due.

    >>> TestResult(0.03125, "sign-flip, exact").p
    0.03125
    """

    __test__ = False  # pytest: not a test class

    p: float
    test: str
    statistic: float | None = None
    note: str = ""
