"""What the rules look at, and the words that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from passhat.facts import Manifest
from passhat.suite import Gate
from passhat.summary._report import Report
from passhat.summary._tally import Tally
from passhat.summary._worlds import Headline

if TYPE_CHECKING:
    from passhat.summary._rates import Population, Table


@dataclass(frozen=True)
class Evidence:
    """A report without its findings, and the counts that it was made from."""

    report: Report
    tally: Tally
    headline: Headline
    population: Population
    table: Table
    gates: Sequence[Gate]
    now: datetime

    @property
    def manifest(self) -> Manifest:
        """What was measured."""
        return self.report.run

    @property
    def evaluates(self) -> bool:
        """Whether the run asks how often an agent works, whoever answered."""
        return self.report.asked == "evaluation"

    @property
    def real(self) -> bool:
        """Whether a real model answered, as far as is known."""
        return self.report.model_source in ("live", "unseen", "mixed")


def percent(share: float) -> str:
    """A share in words of a hundred, never rounded to 0 or 100 when it isn't.

    >>> percent(0.52), percent(0.9996), percent(1.0)
    ('52 %', '99.96 %', '100 %')
    """
    text = f"{share * 100:.0f}"
    return f"{share * 100:.4g} %" if text in ("0", "100") and 0 < share < 1 else f"{text} %"
