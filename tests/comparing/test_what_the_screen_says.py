"""What the screen of a comparison says of numbers that seem to contradict each other, or say nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from passhat.comparing import compare
from passhat.reporting import render_comparison
from passhat.summary import Report

MakeReport = Callable[..., Report]
SEEM = "p asks whether anything changed at all, the interval by how much"


def screen(before: Report, after: Report, width: int = 80) -> str:
    return " ".join(render_comparison(compare(before, after), width=width).split())


@pytest.mark.parametrize("width", [60, 80])
def test_a_small_p_beside_an_interval_that_holds_0_is_explained_and_the_rates_are_named(
    report: MakeReport, width: int
) -> None:
    text = screen(report({"a": "+++++"}), report({"a": "-----"}, "after"), width)
    assert "−100.0 to +37.9 .008" in text
    assert f"pass@5, pass^5: {SEEM} this rate did" in text


def test_nothing_is_explained_where_they_agree(report: MakeReport) -> None:
    tasks = [f"t{number}" for number in range(12)]
    always, never = report(dict.fromkeys(tasks, "+")), report(dict.fromkeys(tasks, "-"), "after")
    assert SEEM not in screen(always, never)
    assert SEEM not in screen(always, report(dict.fromkeys(tasks, "+"), "after"))


def test_a_cost_that_reads_as_nothing_has_no_share(report: MakeReport) -> None:
    tasks, more = dict.fromkeys("ab", "+"), {"tokens": dict.fromkeys("ab", 100)}
    before = report(tasks, seconds=dict.fromkeys("ab", 0.0001), **more)
    text = screen(before, report(tasks, "after", seconds=dict.fromkeys("ab", 0.0003), tokens=dict.fromkeys("ab", 150)))
    assert "seconds 0 ms 0 ms +0 ms" in text
    assert text.count(" %") == 1
    assert "+50 %" in text
